"""Python workloads; each prints the same JSON line as workloads.cpp.

  fib N            fib(N) by recursion: the call-heaviest case
  pool N TASKS     fib(N), so many times over, in a multiprocessing Pool of 4
"""
import json
import multiprocessing as mp
import resource
import sys
import time

T0 = time.monotonic()


def fib(n):
    if n < 2:
        return 1
    return fib(n - 1) + fib(n - 2)


def pool_task(n):
    return fib(n)


def cpu_seconds():
    s = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        r = resource.getrusage(who)
        s += r.ru_utime + r.ru_stime
    return s


def report(work, thread_s, tracks):
    end = time.monotonic()
    print(json.dumps({"wall_s": end - T0, "metric_s": end - T0, "end_mono": end,
                      "cpu_s": cpu_seconds(), "thread_s": thread_s, "work": work,
                      "tracks": tracks, "gap_max_ms": 0, "stalls": 0}), flush=True)


def main(argv):
    mode = argv[1]
    if mode == "fib":
        r = fib(int(argv[2]))
        report(r, time.monotonic() - T0, 1)
    elif mode == "pool":
        n, tasks = int(argv[2]), int(argv[3])
        with mp.Pool(4) as p:
            r = sum(p.map(pool_task, [n] * tasks, chunksize=1))
            p.close()
            p.join()
        # the parent has 3 pool helper threads beside its main thread
        report(r, 8 * (time.monotonic() - T0), 8)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv)
