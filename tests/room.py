#!/usr/bin/env python3
"""
Begins a test when the processors have room for it: room.py [--behind FILE] FOLDER TESTS COMMAND... is meson's wrapper of each test of a run.

TESTS of them run at once in any case. Most tests wait for a good part of their time, for others' processes or for a time of meted's:
where the processors were idle for a third of the last second, one more begins, one each second. So the processors are used, and tests
that measure time are not crowded where there is no room. What runs at a lower priority leaves room. FOLDER is the run's own, with locks
that end with who holds them. Its file "used" has a row for each test: its processor time and its time, in seconds, and its command
(dear.py --rows reads it).

--behind: as long as FILE is there, a test begins at the lowest priority, and with it whatever it starts.
"""
import fcntl
import os
import sys
import time

ROOM = 1 / 3  # of the time of all processors
PACE_S = 1    # what the last one uses is seen by then
LONGEST_S = 60  # a test's limit of time runs meanwhile


def lock(path):
    """The descriptor of a lock that nobody else holds; None: somebody does."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return fd
    except BlockingIOError:
        os.close(fd)
        return None


def ticks(path="/proc/stat"):
    """Those in which the processors were idle, or ran what stands back, and all."""
    with open(path, encoding="ascii") as f:
        user, nice, system, idle, waiting, irq, soft, stolen = map(int, f.readline().split()[1:9])
    return nice + idle + waiting, user + nice + system + idle + waiting + irq + soft + stolen


def is_next(folder):
    """True for one of those that wait, each PACE_S."""
    fd = lock(os.path.join(folder, "next"))
    if fd is None:
        return False
    try:
        now = time.time()
        if now - float(os.read(fd, 32) or 0) < PACE_S:
            return False
        os.pwrite(fd, f"{now:.6f}".encode(), 0)
        return True
    finally:
        os.close(fd)


def wait(folder, tests):
    """Returns when the test may begin; its place is locked until this process ends."""
    began = looked = time.monotonic()
    before = ticks()
    while time.monotonic() < began + LONGEST_S:
        if any(lock(os.path.join(folder, str(i))) is not None for i in range(tests)):
            return
        time.sleep(PACE_S / 5)
        if time.monotonic() < looked + PACE_S:
            continue
        now, looked = ticks(), time.monotonic()
        if now[0] - before[0] > ROOM * (now[1] - before[1]) and is_next(folder):
            return
        before = now


def stand_back():
    """
    Lets everybody else go before this process and what it starts. Where the kernel shares the processors out by sessions, a process's own
    priority counts within its session alone: Meson has begun one for each test.
    """
    os.nice(19)
    for _ in range(50 if os.getsid(0) == os.getpid() else 0):
        try:
            with open("/proc/self/autogroup", "w", encoding="ascii") as f:
                f.write("19")
            return
        except BlockingIOError:  # so many changes in a second and no more, of all that are not root's
            time.sleep(0.1)
        except OSError:  # it does not
            return


def run(command):
    """
    The wait status of the test and what it used, with all processes that it has waited for; what it leaves behind is not counted.
    Without the module subprocess, which takes as long to import as everything else here, two thousand times in ./check.
    """
    _, status, used = os.wait4(os.posix_spawnp(command[0], command, os.environ), 0)
    return os.waitstatus_to_exitcode(status), used


def note(path, used, took, command):
    with open(path, "a", encoding="utf-8") as f:
        f.write(f"{used.ru_utime + used.ru_stime:.2f}\t{took:.2f}\t{' '.join(' '.join(command).split())}\n")


def main(folder, tests, command, behind=None):
    wait(folder, tests)
    if behind and os.path.exists(behind):
        stand_back()
    began = time.monotonic()
    status, used = run(command)
    note(os.path.join(folder, "used"), used, time.monotonic() - began, command)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    file, words = (sys.argv[2], sys.argv[3:]) if sys.argv[1] == "--behind" else (None, sys.argv[1:])
    sys.exit(main(words[0], int(words[1]), words[2:], file))
