"""One run of a command, measured; and the few statistics the tables need."""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
BUILD = os.path.join(TARGET, "bench")
LIMIT_S = 120  # a run that takes longer is killed with all it started

# Never looked up in PATH: glibc's development tools install an unrelated sprof.
SPROF = os.environ.get("SPROF", os.path.join(TARGET, "release", "sprof"))


def prepare():
    """Builds what is measured, where it is not built yet."""
    os.makedirs(BUILD, exist_ok=True)
    if "SPROF" not in os.environ:
        subprocess.run(["cargo", "build", "--release", "--locked"], cwd=ROOT, check=True)
    compile_once("c++", os.path.join(HERE, "workloads.cpp"), "workloads", ["-fomit-frame-pointer"])
    programs = os.path.join(ROOT, "integration", "programs")
    compile_once("cc", os.path.join(programs, "phase.c"), "phase", ["-std=gnu11"])
    compile_once("cc", os.path.join(HERE, "server.c"), "server", ["-std=gnu11"])


def compile_once(compiler, source, name, options):
    program = built(name)
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        command = [compiler, "-O2", "-g", "-pthread", source, "-o", program] + options
        subprocess.run(command, check=True)


def built(name):
    return os.path.join(BUILD, name)


def peak_kb(pid):
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def run(argv):
    """Runs a command to its end: exit code, output, wall and CPU seconds (its own and those of
    the children it waited for), peak memory of the process itself, and the time of its end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        process = subprocess.Popen(argv, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        peak, ended = [0], threading.Event()

        def watch():
            while not ended.wait(0.05):
                peak[0] = max(peak[0], peak_kb(process.pid))
                if time.monotonic() - begin > LIMIT_S:
                    os.killpg(process.pid, signal.SIGKILL)
                    return
        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:  # interrupted: nothing may be left behind
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            end = time.monotonic()
            ended.set()
            watcher.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return {"code": process.returncode, "out": out.read().decode(errors="replace"),
                "err": err.read().decode(errors="replace")[-600:], "wall": end - begin,
                "cpu": usage.ru_utime + usage.ru_stime, "peak_kb": peak[0], "end": end}


def account(text):
    """The JSON line that a workload ends with, None where there is none."""
    for line in reversed(text.splitlines()):
        begin = line.find('{"wall_s"')
        if begin >= 0:
            return json.loads(line[begin:])
    return None


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def spread(values):
    """Half of the range in which the middle half of the values lies."""
    if len(values) < 4:
        return (max(values) - min(values)) / 2
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / 2


def table(columns, rows):
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    sys.stdout.flush()


def note(text):
    print(text, file=sys.stderr, flush=True)
