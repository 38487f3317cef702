"""How far apart in time the threads of one tick are: two threads that follow the clock in phases
(integration/programs/phase.c) must both be in the same phase. Needs two free CPUs."""
import collections
import itertools
import json
import os
import re
import subprocess
import tempfile

import measure

PHASE_US = 730  # no interval is a multiple of it, so ticks fall everywhere in a phase
PHASES = 16  # as many functions has the program
TICKS_MIN = 100


def run(seconds):
    rows = []
    for engine, rate in itertools.product(("barrier", "stop"), (100, 250, 1000)):
        with tempfile.TemporaryDirectory(dir=measure.BUILD) as folder:
            file = os.path.join(folder, "a.sprof")
            phase = [measure.built("phase"), str(seconds), str(PHASE_US)]
            record = [measure.SPROF, "record", "--engine", engine, "-r", str(rate), "-o", file, "--"]
            subprocess.run(record + phase, check=True, stderr=subprocess.DEVNULL)
            rows.append([engine, rate] + judge(file))
    print("\nMean skew between two threads on CPU\n")
    measure.table(["engine", "Hz", "ticks with both", "one off CPU", "disagree", "mean skew us", "error us",
                   "as sprof says, us"], rows)


def judge(file):
    """The share of ticks in which the two disagree, times the length of a phase, is the mean
    skew; its standard error is that of a share. Two that are more than one phase apart say
    nothing of skew: other work of the machine keeps one of them off the CPU, in its old phase."""
    seen, said = collections.defaultdict(dict), []
    convert = [measure.SPROF, "convert", file, "--to", "jsonl", "-o", "-"]
    with subprocess.Popen(convert, stdout=subprocess.PIPE, text=True) as lines:
        for line in lines.stdout:
            record = json.loads(line)
            if record["type"] == "tick":
                said.append(record["skew_ns"] / 1000)
            if record["type"] != "sample":
                continue
            for frame in record["frames"]:
                found = re.match(r"phase_(\d+)", frame.get("name") or "")
                if found:
                    seen[record["tick"]][record["tid"]] = int(found[1])
                    break
    apart = [abs(one - other) for one, other in
             (phases.values() for phases in seen.values() if len(phases) == 2)]
    judged = [distance != 0 for distance in apart if distance in (0, 1, PHASES - 1)]
    waiting = len(apart) - len(judged)
    if len(judged) < TICKS_MIN:
        return [len(judged), waiting, "-", f"fewer than {TICKS_MIN} ticks show both", "-", "-"]
    share = sum(judged) / len(judged)
    error = (share * (1 - share) / len(judged)) ** 0.5
    return [len(judged), waiting, sum(judged), f"{share * PHASE_US:.1f}",
            f"{error * PHASE_US:.1f}", f"{measure.median(said):.1f}"]
