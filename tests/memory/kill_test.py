"""
kill -9 of the program, of its worker, of meted or of the process that asks the disk for files, at any step of leaving and returning, and
the program's own exit: accounts stay exact, and the memory of who lives is what it was, whether it goes to the host's memory or to a disk,
where nothing is left. The judge is the device's own count. METE_TEST_LONG=1 does some hundreds: kill_test.py BUILD [host | disk | helper]
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import MIB, Resider, fall  # noqa: E402
from device import Device  # noqa: E402
from harness import Meted, disk_folder, finish, ok, skip, until  # noqa: E402

SIZE, QUOTA = 20 * MIB, 32 * MIB
ENV = {"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "0"}
TIMES = int(os.environ.get("METE_TEST_TIMES", 300 if os.environ.get("METE_TEST_LONG") else 10))
SEED = int(os.environ.get("METE_TEST_SEED", random.randrange(1 << 30)))


class Killer:
    def __init__(self, folder):
        self.folder = folder
        self.settings = tempfile.NamedTemporaryFile("w", suffix=".yaml")  # each meted reads it
        if folder:
            self.settings.write(f"memory: {{pool: 1M, disk: {folder}, disk_size: 64M}}\n")
            self.settings.flush()
        self.m = Meted("--soft-only", env={**ENV, "METE_CONFIG": self.settings.name})
        self.c = self.m.control()
        self.judge = Device(self.m.env["METE_SOFT_DIR"], os.path.join(self.m.dir, "judge"), self.m.env)
        self.where, self.ended = {}, {}
        for wall in (False, True):
            self.m.make(self.name(wall), QUOTA, spill=True, wall=wall)

    def name(self, wall):
        return "wall" if wall else "local"

    def share(self, name):
        return self.c.grant(name)["devices"][0]

    def note(self, name):
        """At which steps it was killed."""
        place = self.share(name)["residence"]
        self.where[place] = self.where.get(place, 0) + 1

    def kill_meted(self):
        self.c.close()
        fall(self.m)
        self.c = self.m.control()

    def once(self, random_, returning, helper):
        wall = random_.random() < 0.5
        what = self.after_helper if helper else random_.choice((self.after_meted, self.after_client, self.after_exit))
        name = self.name(wall)
        r = Resider(self.m, name, SIZE, 3, "exit", wall=wall)
        if not r.has("holds"):
            return f"{name} does not begin: {r.lines}"
        r.go_on()
        r.done(1)
        self.c.ask("grant_suspend", name=name)
        if returning:
            until(lambda: self.share(name)["residence"] == "away", 20)
            if self.share(name)["disk_bytes"] != (self.share(name)["away_bytes"] if self.folder else 0):
                return f"{name}: it is not where it should be: {self.share(name)}"
            self.c.ask("grant_resume", name=name)
        time.sleep(random_.random() * (0.02 if helper else 0.06))  # the file is one of the first steps
        self.note(name)
        return what(r, name)

    def after_meted(self, r, name):
        self.kill_meted()
        if not until(lambda: self.c.grant(name)["processes"], 20):
            return f"{name}: its process is unknown to the next meted"
        suspended = self.c.grant(name)["suspended"]
        state = "away" if suspended else "resident"
        if not until(lambda: self.share(name)["residence"] == state, 20):
            return f"{name}: {self.share(name)}, suspended {suspended}"
        if not until(lambda: self.share(name)["held_bytes"] == self.judge.used(), 5):
            return f"{name}: the account is {self.share(name)['held_bytes']}, the device has {self.judge.used()}"
        self.c.ask("grant_resume", name=name)
        for _ in range(2):
            r.go_on()
        wrong = r.end()
        return None if wrong == 0 and r.stays_in_place() else f"{name}: {wrong} words are wrong: {r.lines}"

    def helper(self):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/comm") as f:
                    if f.read() == "meted-disk\n" and self.folder in [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]:
                        return int(pid)
            except OSError:
                pass
        return None

    def after_helper(self, r, name):
        """The suspension is done, or refused with the reason; what returns has all that it needs."""
        pid = self.helper()
        if pid is None:
            return "there is no process that asks the disk for files"
        os.kill(pid, signal.SIGKILL)
        if not until(lambda: self.c.grant(name)["suspension"]["state"] in ("none", "away", "refused"), 20):
            return f"{name}: it comes no further: {self.c.grant(name)['suspension']}"
        s = self.c.grant(name)["suspension"]
        self.ended[s["state"]] = self.ended.get(s["state"], 0) + 1
        if s["state"] == "refused" and f"memory.disk {self.folder}: " not in s["why"]:
            return f"{name}: it is refused for another reason: {s}"
        if not until(lambda: self.share(name)["held_bytes"] == self.judge.used(), 5):
            return f"{name}: the account is {self.share(name)['held_bytes']}, the device has {self.judge.used()}"
        self.c.ask("grant_resume", name=name)
        for _ in range(2):
            r.go_on()
        wrong = r.end()
        if wrong != 0 or not r.stays_in_place():
            return f"{name}: {wrong} words are wrong: {r.lines}"
        return self.is_over(r, name)

    def after_client(self, r, name):
        """Its worker, where it is behind a wall: then the program hears of it by a documented error."""
        pid = self.c.grant(name)["processes"][0]["pid"]
        os.kill(pid, signal.SIGKILL)
        r.process.stdin.close()
        return self.is_over(r, name)

    def after_exit(self, r, name):
        r.process.stdin.close()
        fault = self.is_over(r, name)
        return fault or (f"{name}: its exit is {r.process.returncode}: {r.lines}" if r.process.returncode else None)

    def is_over(self, r, name):
        try:
            r.process.wait(30)
        except subprocess.TimeoutExpired:
            return f"{name}: its program hangs"
        if not until(lambda: not self.c.grant(name)["processes"] and not self.judge.used(), 20):
            return f"{name}: {self.judge.used()} bytes are left: {self.share(name)}"
        s = self.share(name)
        if s["held_bytes"] or s["away_bytes"] or s["disk_bytes"] or s["granted_bytes"]:
            return f"{name}: {s}"
        if self.folder and not until(lambda: not self.c.ask("devices")["disk"]["taken_bytes"] and not self.files(), 5):
            return f"{name}: on the disk is left {self.c.ask('devices')['disk']}, files {self.files()}"
        self.c.ask("grant_resume", name=name)
        return None

    def files(self):
        """Of any process: a file without a name is gone with the last of them. meted has the folder."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            except OSError:
                continue
            found += [f"{pid}: {link}" for link in links if link.startswith(self.folder + "/")]
        return found + os.listdir(self.folder)


def kill(folder, helper=False):
    where = "a disk" if folder else "the host's memory"
    k = Killer(folder)
    faults = [f for f in (k.once(random_, i % 2 == 1, helper) for i in range(TIMES)) if f]
    ok(not faults, f"{where}{', its helper' if helper else ''}: killed {TIMES} times ({k.where}{f', then {k.ended}' if helper else ''}): "
       "accounts exact, the memory of who lives as it was", *faults[:5])
    moved = {name: k.c.grant(name)["moved"] for name in ("local", "wall")}
    # The counts of moves are kept once a second, and meted is killed more often here: what was seen of places tells more.
    # What returns was away.
    if not helper:
        ok((k.where.get("away") or k.where.get("returning")) and not any(m["refused"] for m in moved.values()),
           f"{where}: memory was away, and was never refused to leave", k.where, moved)
    ok(k.judge.most <= 64 * MIB, f"{where}: never more was on the device than it has")
    k.judge.close()
    k.c.close()
    k.m.close()


print(f"# METE_TEST_SEED={SEED}")
random_ = random.Random(SEED)
parts = sys.argv[2:] or ["host", "disk", "helper"]
if "host" in parts:
    kill(None)
FOLDER = disk_folder()
if FOLDER:
    for part in parts:
        if part != "host":
            kill(FOLDER, part == "helper")
else:
    skip("kills while memory is on a disk", "no folder here has direct writes to files without a name")
finish()
