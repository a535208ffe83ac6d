"""
What the kill storms share: programs that connect, work and die at random, and looks at what they leave. Short as they
stand; METE_TEST_LONG=1: 200 clients at a time for five minutes.
"""
import os
import random
import signal
import subprocess
import time

LONG = bool(os.environ.get("METE_TEST_LONG"))
PATIENCE = float(os.environ.get("METE_TEST_PATIENCE", "1"))
STATUS = {0: "done", 3: "refused", 4: "lost", -9: "killed"}


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def descriptors_at_rest(pid):
    """The most in a second: with those of all workers that wait, the last of which may just be starting."""
    seen = []
    for _ in range(10):
        seen.append(descriptors(pid))
        time.sleep(0.1)
    return max(seen)


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


def children(pid):
    """But for the one that listens for devices' errors while there are tenants, `meted --watch`."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(word) for word in f.read().split() if b"--watch" not in command_line(word)]


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read()
    except OSError:
        return b""


def kill_one(pids):
    """One of them, at random. False: none was there any more."""
    try:
        os.kill(random.choice(pids), signal.SIGKILL)
    except (IndexError, ProcessLookupError, FileNotFoundError):
        return False
    return True


class Storm:
    """start() gives a process, in a group of its own; `winds`: how likely, the name, and what kills something else."""

    def __init__(self, clients, start, winds, statuses=None):
        self.clients, self.start, self.winds = clients, start, winds
        self.statuses = statuses or STATUS
        self.running = []
        self.ends = {word: 0 for word in ["done", "killed", "lost", "refused", "wrong", *(name for _, name, _ in winds)]}

    def reap(self):
        for p in self.running[:]:
            if p.poll() is None:
                continue
            self.running.remove(p)
            word = self.statuses.get(p.returncode, "wrong")
            if word == "wrong":
                print(f"# a client ended with {p.returncode}", flush=True)
            self.ends[word] += 1

    def blow(self):
        """One moment of the storm."""
        self.reap()
        while len(self.running) < self.clients:
            self.running.append(self.start())
        what = random.random()
        if what < 0.5:
            os.killpg(random.choice(self.running).pid, signal.SIGKILL)
        for likely, name, kill in self.winds:
            if 0.5 <= what < 0.5 + likely:
                self.ends[name] += kill()
            what -= likely
        time.sleep(random.random() * 0.05)

    def rage(self, seconds):
        """For so long, and on a busy machine until each wind has blown."""
        end = time.monotonic() + seconds
        latest = end + 30 * PATIENCE
        winds = ["killed", *(name for _, name, _ in self.winds)]
        while time.monotonic() < end or time.monotonic() < latest and not all(self.ends[w] for w in winds):
            self.blow()
        self.calm(60 * PATIENCE)
        self.end()

    def calm(self, seconds):
        """Nobody is killed any more: who still runs comes to an end, and some do so well, new ones where none is left."""
        end = time.monotonic() + seconds
        while (self.running or not self.ends["done"]) and time.monotonic() < end:
            if not self.running:
                self.running.append(self.start())
            self.reap()
            time.sleep(0.02)

    def end(self):
        for p in self.running:
            os.killpg(p.pid, signal.SIGKILL)
        for p in self.running:
            p.wait()
        self.reap()
