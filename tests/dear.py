#!/usr/bin/env python3
"""
What tests cost: dear.py BUILD [MESON-TEST-OPTION...] runs them, and prints the processor time and the time of each, the dearest first.

    dear.py build --suite daemon
    dear.py build-asan --no-suite repeat --num-processes 3
    dear.py --rows build/logs/room-*/used

With --rows it runs nothing, and reads what a run of ./check has noted (room.c). The processor time includes all descendants, also those that a test leaves behind: whoever runs a test takes in its orphans
(PR_SET_CHILD_SUBREAPER), ends them with the test, and counts them. It says more than the time on a machine that does something else as well.
"""
import ctypes
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

LOG = "METE_TEST_DEAR"
PR_SET_CHILD_SUBREAPER = 36
SHOWN = 40
SHOWN_EACH = 12  # of each file of --rows


def orphans():
    """Children that this process has: what is left of the test."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as f:
        return [int(pid) for pid in f.read().split()]


def take_in():
    while left := orphans():
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def wrapped(command):
    """meson's wrapper: runs one test."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    status = subprocess.run(command).returncode
    took = time.monotonic() - began
    take_in()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(os.environ[LOG], "a", encoding="utf-8") as f:
        f.write(f"{used.ru_utime + used.ru_stime:.2f}\t{took:.2f}\t{' '.join(command)}\n")
    return status if status >= 0 else 128 - status


def rows_of(lines):
    return sorted(((float(cpu), float(took), what) for cpu, took, what in (line.rstrip("\n").split("\t", 2) for line in lines)), reverse=True)


def show(rows, top, shown, name=""):
    print(f"{'processor':>10} {'time':>8}  of {len(rows)} tests: {sum(r[0] for r in rows):.0f} s, {sum(r[1] for r in rows):.0f} s{name}")
    for cpu, took, what in rows[:shown]:
        print(f"{cpu:10.2f} {took:8.2f}  {what.replace(top, '')[-100:]}")


def noted(paths):
    for path in paths:
        with open(path, encoding="utf-8") as f:
            show(rows_of(f), os.getcwd() + "/", SHOWN_EACH, f" ({os.path.basename(os.path.dirname(path))})")


def main(build, options):
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
        status = subprocess.run(["meson", "test", "-C", build, "--no-rebuild", *options,
                                 "--wrapper", f"{sys.executable} -B {os.path.abspath(__file__)} --wrapped"],
                                env={**os.environ, LOG: log.name}).returncode
        show(rows_of(log), os.path.abspath(build) + "/", SHOWN)
    return status


if __name__ == "__main__":
    if len(sys.argv) < 3 and sys.argv[1:2] in ([], ["--rows"]):
        sys.exit(__doc__.strip())
    if sys.argv[1] == "--rows":
        noted(sys.argv[2:])
    else:
        sys.exit(wrapped(sys.argv[2:]) if sys.argv[1] == "--wrapped" else main(sys.argv[1], sys.argv[2:]))
