"""Each engine of sprof beside the bare run and the peers: what the target feels, and what is seen."""
import collections
import random

import measure
import peers

# Of peers.works(): what programs are like that suffer from being sampled.
WORKS = ["cpu2", "cpu8", "cpu64", "pool200", "pool1000", "deep", "tree", "churn", "restless", "fib"]
COLUMNS = ["tool", "Hz", "slowdown", "range", "CPU s/s", "peak MB", "bytes/sample",
           "samples/expected", "tracks", "ticks kept", "pause us p50/p99/max", "skew us p50/p99",
           "longest gap ms", "note"]


def run(wanted_tools, wanted_works, rates, rounds, scale):
    usable = [tool for tool in peers.tools(engines=True) if tool.path
              and (not wanted_tools or tool.name in wanted_tools)]
    for work in peers.works(scale):
        if work.name not in (wanted_works or WORKS):
            continue
        jobs = [(t, rate) for t in usable for rate in rates if t.native or not work.native]
        results, bare = collections.defaultdict(list), []
        for number in range(rounds):
            random.Random(number).shuffle(jobs)
            for at, (tool, rate) in enumerate(jobs):
                # A bare run before every second one: what it is compared with is never old.
                if at % 2 == 0:
                    bare.append(peers.once(None, work, 0))
                result = peers.once(tool, work, rate)
                result["bare"] = bare[-1]
                results[(tool.name, rate)].append(result)
                measure.note(f"{work.name} {tool.name} {rate} {result['wall']:.2f} s "
                             f"{result.get('error', '')}")
        print(f"\n{work.name}: {work.note}\n")
        order = sorted(jobs, key=lambda job: (job[1], not job[0].name.startswith("sprof"), job[0].name))
        measure.table(COLUMNS, [row(tool, rate, results[(tool.name, rate)]) for tool, rate in order])


def row(tool, rate, results):
    """`slowdown`: the median of the ratios of each run to the bare run before it. `longest gap`:
    between two ticks. `CPU s/s`: beside the bare run's CPU time, a second of the run."""
    errors = "; ".join(sorted({r["error"].replace("\n", " ") for r in results if "error" in r}))
    good = [r for r in results if r["said"] and r["bare"]["said"]]
    if not good:
        return [tool.name, rate] + ["-"] * (len(COLUMNS) - 3) + [errors]
    ratios = [r["said"]["metric_s"] / r["bare"]["said"]["metric_s"] for r in good]
    extra = measure.median([(r["cpu"] - r["bare"]["cpu"]) / r["wall"] for r in good])
    cells = [tool.name, rate, f"{measure.median(ratios):.3f}", f"{min(ratios):.2f} .. {max(ratios):.2f}",
             f"{extra:+.3f}", f"{measure.median([r['peak_kb'] for r in good]) / 1024:.0f}"]
    seen = [r for r in good if "seen" in r and r["seen"].samples]
    if not seen:
        return cells + ["-"] * (len(COLUMNS) - len(cells) - 1) + [errors]
    clock = "cpu_s" if tool.clock == "cpu" else "thread_s"
    cells += [
        f"{measure.median([r['bytes'] / r['seen'].samples for r in seen]):.1f}",
        f"{measure.median([r['seen'].samples / (rate * r['said'][clock]) for r in seen]):.2f}",
        f"{measure.median([len(r['seen'].tracks) for r in seen]):.0f}/{good[0]['said']['tracks']}",
    ]
    return cells + instants(rate, seen) + [errors]


def instants(rate, results):
    """What only a recording with ticks tells."""
    runs = [r["seen"].ticks for r in results if len(r["seen"].ticks) > 1]
    if not runs:
        return ["-"] * 4
    pauses = sorted(tick[1] * 1e6 for ticks in runs for tick in ticks)
    skews = sorted(tick[2] * 1e6 for ticks in runs for tick in ticks)
    kept = [(len(ticks) - 1) / (rate * (ticks[-1][0] - ticks[0][0])) for ticks in runs]
    gaps = [max(b[0] - a[0] for a, b in zip(ticks, ticks[1:])) for ticks in runs]
    return [f"{measure.median(kept):.1%}",
            f"{part(pauses, 0.5):.0f} / {part(pauses, 0.99):.0f} / {pauses[-1]:.0f}",
            f"{part(skews, 0.5):.0f} / {part(skews, 0.99):.0f}", f"{max(gaps) * 1000:.1f}"]


def part(values, share):
    """The value of sorted ones below which this share of them lies."""
    return values[min(len(values) - 1, int(share * len(values)))]
