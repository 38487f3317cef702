"""The same work bare and under each profiler, in turns: what each costs, and what it saw."""
import collections
import os
import random
import shutil
import sys
import tempfile

import measure
import readers

Tool = collections.namedtuple("Tool", "name path record post read clock native")
Tool.__doc__ = """How to use a profiler.
  record  command before the workload's; {tool} {rate} {out} are filled in
  post    command that makes {picture}, where {out} has no names; its time counts
  clock   "wall": samples every thread; "cpu": only what runs
  native  whether it can record native programs"""

Work = collections.namedtuple("Work", "name argv depth_min native note")


def tools(engines=False):
    """All profilers; `engines`: sprof once with each of its engines."""
    perf = ["{tool}", "record", "-q", "-e", "cpu-clock", "-F", "{rate}", "-o", "{out}"]
    script = ["sh", "-c", '"$0" script --no-inline -i "$1" -F comm,pid,tid,time,ip,sym > "$2"',
              "{tool}", "{out}", "{picture}"]
    pyspy = ["{tool}", "record", "-f", "speedscope", "-t", "-s", "-i", "-r", "{rate}", "-o", "{out}"]
    samply = ["{tool}", "record", "-s", "--unstable-presymbolicate", "-r", "{rate}", "-o", "{out}"]
    convert = ["sh", "-c", '"$0" convert "$1" --to jsonl -o - > /dev/null', "{tool}", "{out}"]
    record = ["{tool}", "record", "-r", "{rate}", "-o", "{out}"]
    kinds = [("-" + engine, ["--engine", engine]) for engine in ("barrier", "stop")]
    own = [Tool("sprof" + suffix, shutil.which(measure.SPROF), record + options + ["--"], convert,
                readers.sprof, "wall", True) for suffix, options in (kinds if engines else [("", [])])]
    return own + [
        Tool("perf-fp", shutil.which("perf"), perf + ["--call-graph", "fp", "--"], script,
             readers.perf_script, "cpu", True),
        Tool("perf-dwarf", shutil.which("perf"), perf + ["--call-graph", "dwarf,8192", "--"], script,
             readers.perf_script, "cpu", True),
        Tool("samply", shutil.which("samply"), samply + ["--"], None, readers.firefox, "cpu", True),
        Tool("py-spy", shutil.which("py-spy"), pyspy + ["--"], None, readers.speedscope, "wall", False),
        Tool("py-spy-native", shutil.which("py-spy"), pyspy + ["-n", "--"], None,
             readers.speedscope, "wall", False),
    ]


def works(scale):
    native, python = [measure.built("workloads")], [sys.executable, os.path.join(measure.HERE, "workloads.py")]

    def units(count):
        return str(max(1, int(count * scale)))
    return [
        Work("cpu1", native + ["cpu", "1", units(100000)], 22, True, "one CPU-bound thread"),
        Work("cpu2", native + ["cpu", "2", units(200000)], 22, True, "two CPU-bound threads"),
        Work("cpu8", native + ["cpu", "8", units(200000)], 22, True, "eight CPU-bound threads"),
        Work("cpu64", native + ["cpu", "64", units(200000)], 22, True, "64 CPU-bound threads"),
        Work("pool200", native + ["pool", "200", units(200000)], 10, True, "2 busy threads, 200 asleep"),
        Work("pool1000", native + ["pool", "1000", units(200000)], 10, True, "2 busy, 1000 asleep"),
        Work("deep", native + ["deep", "2000", units(100000)], 2000, True, "2000 calls deep"),
        Work("tree", native + ["tree", "8", "4", units(200000)], 22, True, "8 processes of 4 threads"),
        Work("churn", native + ["churn", units(400), "200"], 5, True, "200 threads and children a second"),
        Work("restless", native + ["restless", units(1500)], 3, True,
             "maps and unmaps all the time, forks and execs"),
        Work("sys", native + ["sys", "2"], 3, True, "blocking calls: lateness and EINTR"),
        Work("fib", python + ["fib", "30"], 3, False, "Python, recursion"),
        Work("pypool", python + ["pool", "25", units(24)], 3, False, "Python, a Pool of 4"),
    ]


def run(wanted_tools, wanted_works, rates, rounds, scale):
    usable = []
    for tool in tools():
        if wanted_tools and tool.name not in wanted_tools:
            continue
        if tool.path:
            usable.append(tool)
        else:
            measure.note(f"without {tool.name}: it is not installed")
    for work in works(scale):
        if wanted_works and work.name not in wanted_works:
            continue
        jobs = [(None, 0)] + [(t, rate) for t in usable for rate in rates if t.native or not work.native]
        results = collections.defaultdict(list)
        for number in range(rounds):
            random.Random(number).shuffle(jobs)
            for tool, rate in jobs:
                result = once(tool, work, rate)
                name = tool.name if tool else "bare"
                results[(name, rate)].append(result)
                failed = f"  {result['error']}" if "error" in result else ""
                measure.note(f"{work.name} {name} {rate or ''} {result['wall']:.2f} s{failed}")
        print(f"\n{work.name}: {work.note}\n")
        rows = []
        for tool, rate in sorted(jobs, key=lambda job: (job[0].name if job[0] else "", job[1])):
            name = tool.name if tool else "bare"
            rows.append(row(tool, rate, results[(name, rate)], results[("bare", 0)]))
        measure.table(COLUMNS, rows)


def once(tool, work, rate):
    with tempfile.TemporaryDirectory(dir=measure.BUILD) as folder:
        names = {"tool": tool.path if tool else "", "rate": rate,
                 "out": os.path.join(folder, "profile.json"), "picture": os.path.join(folder, "picture")}
        record = [word.format(**names) for word in tool.record] if tool else []
        result = measure.run(record + work.argv)
        result["said"] = measure.account(result["out"])
        if result["code"] != 0 or result["said"] is None:
            result["error"] = result["err"].strip()[-200:] or f"exit code {result['code']}"
            result["said"] = None
            return result
        if not tool:
            return result
        result["tail"] = max(0.0, result["end"] - result["said"]["end_mono"])
        try:
            result["bytes"] = sum(entry.stat().st_size for entry in os.scandir(folder))
            picture = names["out"]
            if tool.post:
                post = measure.run([word.format(**names) for word in tool.post])
                result["tail"] += post["wall"]
                picture = names["picture"] if "{picture}" in tool.post else picture
                if post["code"] != 0:
                    result["error"] = post["err"][-200:]
                    return result
            result["seen"] = tool.read(picture, work.depth_min)
        except (OSError, ValueError, KeyError, IndexError, TypeError) as problem:
            # A file that cannot be read is a finding about that tool, not the end of the table.
            result["error"] = f"unreadable: {type(problem).__name__}: {problem}"
        return result


COLUMNS = ["tool", "Hz", "slowdown", "worst", "CPU s/s", "peak MB", "bytes/sample", "samples/expected",
           "tracks", "deep enough", "named", "to picture s", "EINTR", "note"]


def row(tool, rate, results, bare):
    """`slowdown`: the best run over the best bare run, for noise only adds. `CPU s/s`: what the
    profiler costs beside the workload's own CPU time, a second. `samples/expected`: over what the
    rate promises for the CPU time or, for a wall-clock profiler, the lifetimes of all threads."""
    name = tool.name if tool else "bare"
    good = [r for r in results if r["said"]]
    errors = "; ".join(sorted({r["error"].replace("\n", " ") for r in results if "error" in r}))
    plain = [r for r in bare if r["said"]]
    if not good or not plain:
        return [name, rate or ""] + ["-"] * 11 + [errors]
    best = min(r["said"]["metric_s"] for r in plain)
    ratios = [r["said"]["metric_s"] / best for r in good]
    cpu = measure.median([r["cpu"] for r in plain])
    extra = measure.median([(r["cpu"] - cpu) / r["wall"] for r in good])
    eintr = sum(r["said"]["epoll"]["eintr"] for r in good) if "epoll" in good[0]["said"] else ""
    first = [name, rate or "", f"{min(ratios):.3f}", f"{max(ratios):.2f}", f"{extra:+.3f}"]
    seen = [(r, r["seen"]) for r in good if "seen" in r]
    if not seen:
        return first + ["-"] * 5 + ["-", "-", eintr, errors]

    def of_all(value):
        return measure.median([value(r, s) for r, s in seen])

    def share(part, whole):
        return part / whole if whole else 0.0
    clock = "cpu_s" if tool.clock == "cpu" else "thread_s"
    alive = good[0]["said"]["tracks"]
    return first + [
        f"{of_all(lambda r, s: r['peak_kb']) / 1024:.0f}",
        f"{of_all(lambda r, s: share(r['bytes'], s.samples)):.1f}",
        f"{of_all(lambda r, s: share(s.samples, rate * r['said'][clock])):.2f}",
        f"{of_all(lambda r, s: len(s.tracks)):.0f}/{alive}",
        f"{of_all(lambda r, s: share(s.deep_enough, s.samples)):.2f}",
        f"{of_all(lambda r, s: share(s.named, s.samples)):.2f}",
        f"{of_all(lambda r, s: r['tail']):.2f}",
        eintr,
        errors,
    ]
