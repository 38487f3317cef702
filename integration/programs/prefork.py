"""A server that keeps eight workers, made by fork.

Truth: stdout. "ready PID"; then "worker PID BEGIN END" (ns of CLOCK_MONOTONIC) for each worker
that has ended, which lived that long inside serve(); at the end of stdin, "done".
"""

import os
import random
import select
import sys
import time


def serve(until):
    total = 0
    while time.monotonic_ns() < until:
        total += sum(i * i for i in range(200))
        time.sleep(0.002)
    return total


def work(number):
    begin = time.monotonic_ns()
    end = begin + random.Random(number).randint(500, 1500) * 1_000_000
    serve(end)
    os.write(1, f"worker {os.getpid()} {begin} {time.monotonic_ns()}\n".encode())
    os._exit(0)


def main():
    workers, count = set(), 0
    os.write(1, f"ready {os.getpid()}\n".encode())
    is_open = True
    while is_open or workers:
        while is_open and len(workers) < 8:
            count += 1
            pid = os.fork()
            if pid == 0:
                work(count)
            workers.add(pid)
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            workers.discard(pid)
            assert status == 0, status
        readable, _, _ = select.select([0] if is_open else [], [], [], 0.01)
        if readable and not os.read(0, 1):
            is_open = False
    os.write(1, b"done\n")


main()
