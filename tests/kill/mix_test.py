"""
Memory is taken and given in every way that there is, by 8 processes of 4 threads at once, and by a few ways against each
other: mix_test.py BUILD [local|wall|remote ...|absent|price]

`price` measures instead what kinds of memory cost.

The judge is the device's own count, asked some thousand times a second: it is never above the quota. With kills of
programs and of meted; twice on a device that frees the memory of a killed program late. Whenever all stand still, the account
equals the device's count; in the end both are 0. Where the quota has room for everything, no call is told "out of memory".
METE_TEST_LONG=1: ten minutes of each way instead of four seconds of all. Without that it tries half of the few ways and two
of the four storms, and a sanitized build a third of them in one of local, wall and remote, which the seed chooses.
METE_MIX_WAYS and METE_MIX_CARELESS: a few ways of your own against each other (letters of mixer.c, between commas), and
nothing else; METE_MIX_STORM: nothing but the 8 processes.
"""
import atexit
import json
import mmap
import os
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
if len(sys.argv) > 1 and sys.argv[1] == "--nest":  # tells what `mete run` gives a program, and keeps it
    print(json.dumps(dict(os.environ)), flush=True)
    sys.stdin.read()
    sys.exit(0)
from device import Device  # noqa: E402
from harness import BUILD, Meted, finish, ok, same, until  # noqa: E402

LONG = bool(os.environ.get("METE_TEST_LONG"))
SEED = int(os.environ.get("METE_MIX_SEED", time.time()))
SANITIZED = bool(os.environ.get("METE_TEST_SANITIZED"))
SECONDS = float(os.environ.get("METE_MIX_SECONDS", 600 if LONG else 4))
PATIENCE = float(os.environ.get("METE_MIX_PATIENCE", 60))  # how long the calls in which the mixers are may take
METE = os.path.join(BUILD, "src/cli/mete")
MIXER = os.path.join(BUILD, "tests/kill/mixer")
TELLER = os.path.join(BUILD, "tests/kill/teller")
STATE = struct.Struct("<IIQIIQI16s")  # struct state of mixer.c
PAUSE, PAUSED, CALLS, ERROR, ERROR_WAY, REFUSED, REFUSED_WAY, AT = range(8)
ALL = "pmqayjlkesoichgfnvbxruwzt"
ALONE = "pmqayjlkchgfvxruwzt"  # without what several processes may hold
LINGER_MS = 300  # what lies in objects that are shared does not linger
MIB = 1 << 20
dice = random.Random(SEED)


class Mixer:
    number = 0

    def __init__(self, place, ways, piece, threads):
        Mixer.number += 1
        self.path = os.path.join(place.folder, f"state-{Mixer.number}")
        with open(self.path, "wb") as f:
            f.write(b"\0" * 4096)
        with open(self.path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 4096)
        self.process = subprocess.Popen([MIXER, self.path, str(dice.getrandbits(24)), str(piece), str(threads), ways],
                                        env={**place.inside, "MIXER_SHELF": place.shelf, **place.manner})

    def state(self):
        return STATE.unpack_from(self.map)

    def ask(self, odd):
        struct.pack_into("<I", self.map, 0, (self.state()[PAUSE] | 1) + (not odd))

    def still(self):
        """Also one that waits for room for its context."""
        s = self.state()
        return not s[CALLS] or s[PAUSE] % 2 == 1 and s[PAUSE] == s[PAUSED]

    def at(self):
        """The calls that its threads are in, by their ways."""
        return "".join(chr(b) for b in self.state()[AT] if b)

    def trouble(self):
        s = self.state()
        if s[ERROR]:
            return f"a mixer was told error {s[ERROR]} (way {chr(s[ERROR_WAY])})"
        return f"a mixer has ended: {self.process.returncode}" if self.process.poll() is not None else None

    def end(self):
        self.process.kill()
        self.process.wait()
        self.map.close()
        os.unlink(self.path)


class Another:
    """A meted that `mete serve` has started: nobody's child, so how it ends is not known."""

    def __init__(self, pid):
        self.pid = pid
        self.returncode = None

    def poll(self):
        if not os.path.exists(f"/proc/{self.pid}"):
            self.returncode = 0
        return self.returncode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def communicate(self, timeout):
        until(lambda: self.poll() == 0, timeout)
        return None, b""


class Place:
    """A software device with nothing else on it, a meted, a grant, and what a program of the tenant has in its environment."""

    def __init__(self, way, quota, careless=False, linger_ms=0):
        self.way, self.quota = way, quota
        self.manner = {"MIXER_CARELESS": "1"} if careless else {}
        context = "1M" if way == "local" else "0"  # waiting workers have contexts that are no tenant's yet
        lingers = {"METE_SOFT_LINGER": str(linger_ms)} if linger_ms else {}
        self.meted = Meted("--soft-only", env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "6G", "METE_SOFT_CONTEXT_MEMORY": context, **lingers})
        self.folder = tempfile.mkdtemp(prefix="mix-", dir=self.meted.dir)
        self.shelf = os.path.join(self.folder, "shelf")
        with open(self.shelf, "wb") as f:
            f.write(b"\0" * 65536)
        self.server = None
        env = {**self.meted.env, "METE_RUNTIME_DIR": self.meted.dir}
        if way == "remote":
            command, env = self.serve(env)
        else:
            self.meted.make("mix", quota, wall=way == "wall")
            command = [METE, "run", "--grant", "mix"] + (["--wall"] if way == "wall" else [])
        self.nest = subprocess.Popen(command + ["--", sys.executable, "-B", os.path.abspath(__file__), "--nest"], env=env,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.inside = json.loads(self.nest.stdout.readline())
        if way != "remote":
            self.leave_nest()  # it would start a meted itself when there is none
        self.device = Device(self.meted.env["METE_SOFT_DIR"], os.path.join(self.folder, "sight"))
        self.mixers = []
        self.slowest = 0  # how long they took to stand still, in s
        places.append(self)

    def serve(self, env):
        keys = os.path.join(self.folder, "keys")
        subprocess.run([METE, "key", "new", "tester", "--keys", keys], env=env, stdout=subprocess.DEVNULL, check=True)
        self.server = subprocess.Popen([METE, "serve", "--soft", "--keys", keys, "--listen", "127.0.0.1:0", "--json", "--device", "0",
                                        "--mem", str(self.quota)], env=env, stdout=subprocess.PIPE)
        address = json.loads(self.server.stdout.readline())["listen"][0]
        return ([METE, "run", "--remote", address, "--key", os.path.join(keys, "tester.key")],
                {k: v for k, v in env.items() if not k.startswith("METE_")})

    def leave_nest(self):
        if self.nest:
            self.nest.stdin.close()
            self.nest.wait()
        self.nest = None

    def start(self, count, *what):
        self.what = what
        for _ in range(count):
            self.mixers.append(Mixer(self, *what))

    def replace(self, i):
        self.mixers[i].end()
        self.mixers[i] = Mixer(self, *self.what)

    def trouble(self):
        return [t for t in (m.trouble() for m in self.mixers) if t]

    def refused(self):
        return [(m.state()[REFUSED], chr(m.state()[REFUSED_WAY])) for m in self.mixers if m.state()[REFUSED]]

    def calls(self):
        return sum(m.state()[CALLS] for m in self.mixers)

    def ask(self, op):
        end = time.monotonic() + 20
        while True:
            try:
                c = self.meted.control()
                try:
                    answer = c.ask(op)
                finally:
                    c.close()
                if answer:
                    return answer
            except OSError:
                pass
            if time.monotonic() > end:
                print("".join(f"# {line}\n" for line in self.meted.log().splitlines()[-20:]), end="", flush=True)
                raise SystemExit("Bail out! meted does not answer")
            time.sleep(0.01)

    def figures(self):
        """What the grants hold, and what the device has given out."""
        return [sum(d["held_bytes"] for g in self.ask("grants")["grants"] for d in g["devices"]), self.device.used()]

    def settled(self, seconds=15):
        end = time.monotonic() + seconds
        while True:
            figures = self.figures()
            if len(set(figures)) == 1 or time.monotonic() > end:
                return figures
            time.sleep(0.02)

    def compare(self):
        """None, or what does not agree."""
        before, began = self.calls(), time.monotonic()
        for m in self.mixers:
            m.ask(True)
        if not until(lambda: self.trouble() or all(m.still() for m in self.mixers), PATIENCE):
            return (f"{sum(not m.still() for m in self.mixers)} mixers do not stand still after {PATIENCE} s and "
                    f"{self.calls() - before} calls; their threads are in {[m.at() for m in self.mixers]}")
        self.slowest = max(self.slowest, time.monotonic() - began)
        figures = self.settled()
        for m in self.mixers:
            m.ask(False)
        return None if len(set(figures)) == 1 else "grants {}, device {} bytes".format(*figures)

    def kill_meted(self, i):
        """A program begins while it is away. `mete serve` would start another one, and may be quicker."""
        self.meted.kill()
        start = threading.Thread(target=self.meted.start, kwargs={"expect": False})
        if self.way == "remote":
            start.start()
        self.replace(i)
        if self.way != "remote":
            time.sleep(dice.random() * 0.3)
            start.start()
        start.join()
        if not self.meted.up:
            self.meted.wait()
            self.meted.process = Another(self.ask("hello")["pid"])

    def close(self):
        for m in self.mixers:
            m.end()
        self.mixers = []
        left = until(lambda: self.figures() == [0, 0], 20) or self.figures()
        self.leave_nest()
        if self.server:
            self.server.terminate()
            self.server.wait()
        self.device.close()
        self.meted.close()
        places.remove(self)
        return left


places = []


@atexit.register
def leave_nothing():
    """Also when the test stops half-way."""
    for place in places:
        for p in [m.process for m in place.mixers] + [p for p in (place.nest, place.server) if p]:
            p.kill()


def within(place, what, *shown):
    ok(place.device.most <= place.quota, f"{what}: the device never counts more than the quota ({place.device.most} of {place.quota} "
       f"bytes, {place.device.looks} looks)", *shown)


def against(way, ways, seconds, careless=False):
    """A few ways against each other, in one process, where the quota has room for few of them. Careless: behind a wall, where
    a hostile program's threads may do anything at any moment."""
    place = Place(way, 96 * MIB, careless)
    place.start(1, ways, 12 * MIB, 4)
    until(lambda: place.trouble() or place.calls() > 200, 20)
    end = time.monotonic() + seconds
    while time.monotonic() < end and not place.trouble():
        time.sleep(0.05)
    trouble, calls, apart = place.trouble(), place.calls(), place.compare()
    ways += " carelessly" if careless else ""
    ok(not trouble and not apart, f"{way}, {ways}: {calls} calls, and the account is the device's count", trouble, apart)
    within(place, f"{way}, {ways}")
    same(place.close(), True, f"{way}, {ways}: nothing is left")


def storm(way, ways, seconds, quota, piece, roomy, linger_ms=0):
    """8 processes of 4 threads. Kills of programs, and of meted."""
    place = Place(way, quota, linger_ms=linger_ms)
    what = f"{way}, {'room for all' if roomy else 'a tight quota'}{', memory of the dead lingers' if linger_ms else ''}"
    place.start(8, ways, piece, 4)
    until(lambda: place.trouble() or all(m.state()[CALLS] for m in place.mixers), 60)
    end, killed, restarts, compared, calls, refused, wrong = time.monotonic() + seconds, 0, 0, 0, 0, [], []
    while time.monotonic() < end and not wrong:
        time.sleep(dice.random() ** 2 * 0.5)
        refused += place.refused() if roomy else []
        if dice.random() < 0.6:
            i = dice.randrange(len(place.mixers))
            if all(m.state()[CALLS] for m in place.mixers):
                calls += place.mixers[i].state()[CALLS]
                place.replace(i)
                killed += 1
        elif dice.random() < 0.3 and all(m.state()[CALLS] for m in place.mixers):
            i = dice.randrange(len(place.mixers))
            calls += place.mixers[i].state()[CALLS]
            place.kill_meted(i)
            restarts += 1
        elif all(m.state()[CALLS] for m in place.mixers):
            wrong.append(place.compare())
            compared += 1
        wrong = [w for w in wrong + place.trouble() if w]
    calls += place.calls()
    refused += place.refused() if roomy else []
    wrong = [w for w in wrong + [place.compare()] + place.trouble() if w]
    ok(not wrong, f"{what}: {calls} calls, {killed} kills of programs, {restarts} of meted; the account was the device's count "
       f"{compared + 1} times; they stood still within {place.slowest:.1f} s", *wrong)
    if roomy:
        same(refused[:8], [], f"{what}: no call was told out of memory")
    within(place, what)
    same(place.close(), True, f"{what}: nothing is left")


def absent(seconds):
    """meted is away for longer than a request waits for it. Programs that run go on within what they have, or are told that
    there is no memory; one that begins waits as long, and is told so; the next one begins with meted."""
    place = Place("local", 96 * MIB)
    place.start(2, ALL, 6 * MIB, 3)
    until(lambda: place.trouble() or all(m.state()[CALLS] > 50 for m in place.mixers), 60)
    place.meted.kill()
    began = time.monotonic()
    early = subprocess.Popen([TELLER], env=place.inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    until(lambda: early.poll() is not None, 20 * seconds)
    waited = time.monotonic() - began
    ok(early.poll() and waited > 4.5, f"a program that begins without meted waits for it, and then ends ({waited:.1f} s)", early.returncode)
    until(lambda: time.monotonic() - began > seconds, seconds)
    waited, calls = time.monotonic() - began, place.calls()
    within(place, f"{waited:.1f} s without meted")
    until(lambda: place.calls() > calls, 20)
    ok(place.calls() > calls and not place.trouble(), "programs that run go on", place.trouble(), place.calls() - calls)
    late = subprocess.Popen([TELLER], env=place.inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    place.meted.start()
    line = late.stdout.readline() or late.stderr.read()  # the others may have left no room for its context
    ok(line == "ready\n" or "meted" not in line, "one that begins just before meted does waits for it", line)
    late.kill()
    late.wait()
    calls = [m.state()[CALLS] for m in place.mixers]
    ok(until(lambda: all(m.state()[CALLS] > c for m, c in zip(place.mixers, calls)), 20), "all programs are served again", place.trouble())
    same([place.compare(), place.trouble()], [None, []], "and the account is the device's count")
    within(place, "meted was away for long")
    same(place.close(), True, "after that nothing is left")


def price():
    """What kinds of memory cost with mete, against the bare software device, in turns: a ratio of calls in the same time."""
    place = Place("local", 4096 * MIB)
    metered = place.inside
    bare = {**{k: v for k, v in metered.items() if not k.startswith(("METE_", "LD_"))}, **place.meted.env,
            "LD_LIBRARY_PATH": os.path.join(BUILD, "src/softdev")}
    for processes, threads in ((1, 1), (1, 4), (8, 4)):
        for ways, what in (("p", "plain"), ("py", "plain beside mipmaps"), ("a", "arrays"), ("pj", "plain beside modules")):
            rates = {False: [], True: []}
            for _ in range(3):
                for limited in (False, True):
                    place.inside = metered if limited else bare
                    place.start(processes, ways, MIB // 4, threads)
                    until(lambda: all(m.state()[CALLS] for m in place.mixers), 20)
                    before, began = place.calls(), time.monotonic()
                    time.sleep(0.7)
                    rates[limited].append((place.calls() - before) / (time.monotonic() - began))
                    for m in place.mixers:
                        m.end()
                    place.mixers = []
            ratio = sorted(rates[False])[1] / sorted(rates[True])[1]
            print(f"# {processes} processes of {threads} threads, {what}: {ratio:.2f} times the bare device's time", flush=True)
    place.inside = metered
    same(place.close(), True, "nothing is left")


def main():
    print(f"# seed {SEED}", flush=True)
    if sys.argv[2:] == ["price"]:
        price()
        finish()
    if sys.argv[2:] == ["absent"]:
        absent(7)
        finish()
    wanted = sys.argv[2:] or ["local", "wall", "remote"]
    if SANITIZED and not LONG and not sys.argv[2:]:
        wanted = dice.sample(wanted, 1)
    storm_s = SECONDS / 2 / (1 if LONG else 3)
    for way in wanted:
        few = ["jes", "joi", "kj", "lch", "ayp", "g", "fnv", "xbl"] if way == "local" else ["kj", "ayp", "gfv"]
        if not LONG:  # which take a second for the start of each, and more in a sanitized build: others the next time, by the seed
            few = dice.sample(few, len(few) // 3 if SANITIZED else (len(few) + 1) // 2)
        if os.environ.get("METE_MIX_STORM"):
            few = []
        for ways in os.environ["METE_MIX_WAYS"].split(",") if os.environ.get("METE_MIX_WAYS") else few:
            against(way, ways, SECONDS / 30)
        wild = ["c"] if way == "local" else ["v", "c", "pqayjlkchgfvxuwzt"]
        if SANITIZED and not LONG:
            wild = dice.sample(wild, 1)
        if os.environ.get("METE_MIX_WAYS") or os.environ.get("METE_MIX_STORM"):
            wild = []
        for ways in os.environ["METE_MIX_CARELESS"].split(",") if os.environ.get("METE_MIX_CARELESS") else wild:
            against(way, ways, SECONDS / 30, True)
        if os.environ.get("METE_MIX_WAYS") or os.environ.get("METE_MIX_CARELESS"):
            continue
        kinds = ALL if way == "local" else ALONE
        storms = [(4096 * MIB, MIB, True), (96 * MIB, 6 * MIB, False)]
        storms = [(kinds, *s) for s in storms] + [(ALONE, *s, LINGER_MS) for s in storms]
        for of_storm, *more in storms if LONG else dice.sample(storms, 2):
            storm(way, of_storm, storm_s, *more)
        if way == "local":
            absent(7)
    finish()


main()
