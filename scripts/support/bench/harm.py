"""What others feel of a recording: those who wait for a server that is recorded, and a program
beside the one that is."""
import json
import os
import subprocess
import tempfile
import time

import measure
import peers

# Of what two CPUs can do, half: a server that is at its limit has no latency to speak of.
REQUESTS_A_SECOND = 5000
CONNECTIONS = 32
THREADS = 4


def recorders(wanted, rates):
    """Bare first, then each profiler that can be attached or that launches, at each rate."""
    usable = [tool for tool in peers.tools(engines=True) if tool.path and tool.native
              and (not wanted or tool.name in wanted)]
    return [(None, 0)] + [(tool, rate) for tool in usable for rate in rates]


def launch(tool, rate, folder, argv, **more):
    names = {"tool": tool.path if tool else "", "rate": rate, "out": os.path.join(folder, "profile.json")}
    record = [word.format(**names) for word in tool.record] if tool else []
    return subprocess.Popen(record + argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def server(wanted, rates, rounds, seconds):
    """Requests at even times; the latency of each counts from when it was due."""
    jobs = recorders(wanted, rates)
    results = {(tool.name if tool else "bare", rate): [] for tool, rate in jobs}
    for _ in range(rounds):
        for tool, rate in jobs:
            result = ask(tool, rate, seconds)
            results[(tool.name if tool else "bare", rate)].append(result)
            measure.note(f"server {tool.name if tool else 'bare'} {rate or ''} {result}")
    bare = results[("bare", 0)]
    rows = []
    for tool, rate in jobs:
        runs = results[(tool.name if tool else "bare", rate)]

        def of(key, runs=runs):
            return measure.median([run[key] for run in runs])
        ratios = [run["p99_us"] / plain["p99_us"] for run, plain in zip(runs, bare)]
        done = measure.median([run["requests"] / run["seconds"] for run in runs])
        rows.append([tool.name if tool else "bare", rate or "", f"{done:.0f}", f"{of('p50_us'):.0f}",
                     f"{of('p99_us'):.0f}", f"{of('max_us'):.0f}", f"{measure.median(ratios):.2f}",
                     f"{min(ratios):.2f} .. {max(ratios):.2f}"])
    print(f"\nA server of {THREADS} threads, {CONNECTIONS} connections, {REQUESTS_A_SECOND} requests a second\n")
    measure.table(["tool", "Hz", "requests/s", "p50 us", "p99 us", "max us", "p99 / bare", "range"], rows)


def ask(tool, rate, seconds):
    program = measure.built("server")
    with tempfile.TemporaryDirectory(dir=measure.BUILD) as folder:
        socket = os.path.join(folder, "socket")
        serving = launch(tool, rate, folder, [program, "serve", socket, str(THREADS)], stdin=subprocess.PIPE)
        try:
            while not os.path.exists(socket) and serving.poll() is None:
                time.sleep(0.01)
            load = [program, "load", socket, str(CONNECTIONS), str(REQUESTS_A_SECOND), str(seconds)]
            said = subprocess.run(load, stdout=subprocess.PIPE, check=True, text=True, timeout=measure.LIMIT_S)
        finally:
            serving.stdin.close()
            serving.wait(measure.LIMIT_S)
        return json.loads(said.stdout)


def neighbour(wanted, rates, rounds, seconds):
    """A program that only counts, on a CPU of its own and on the target's, and how much slower it
    counts while the one beside it is recorded."""
    jobs = recorders(wanted, rates)[1:]
    rows = []
    for where, target, stranger in [("the other CPU", "0", "1"), ("the same CPUs", "0,1", "0,1")]:
        for tool, rate in jobs:
            ratios = []
            for number in range(rounds):
                steps = {}
                for is_recorded in [False, True] if number % 2 == 0 else [True, False]:
                    turn = tool if is_recorded else None
                    steps[is_recorded] = count(turn, rate, target, stranger, seconds)
                ratios.append(steps[False] / steps[True])
                measure.note(f"neighbour {where} {tool.name} {rate} {ratios[-1]:.4f}")
            rows.append([where, tool.name, rate, f"{measure.median(ratios):.3f}",
                         f"{min(ratios):.3f} .. {max(ratios):.3f}"])
    print("\nA CPU-bound stranger beside two CPU-bound threads that are recorded\n")
    measure.table(["on", "tool", "Hz", "stranger's slowdown", "range"], rows)


def count(tool, rate, target, stranger, seconds):
    work = ["taskset", "-c", target, measure.built("workloads"), "cpu", "2", "100000000"]
    with tempfile.TemporaryDirectory(dir=measure.BUILD) as folder:
        busy = launch(tool, rate, folder, work, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            time.sleep(1)  # until attaching and the first looks at files are over
            spin = ["taskset", "-c", stranger, measure.built("server"), "spin", str(seconds)]
            said = subprocess.run(spin, stdout=subprocess.PIPE, check=True, text=True)
        finally:
            subprocess.run(["pkill", "-KILL", "-s", str(busy.pid), "workloads"], check=False)
            busy.wait(measure.LIMIT_S)
        return json.loads(said.stdout)["steps"]
