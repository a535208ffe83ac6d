"""
An opportunistic program of 60 to 90 % of a device gives up what it was lent within the stated time (memory.yield_within) when the memory is
asked for by whom it is promised to: by moving. Who is late is named, and ended where that is wanted: yield_test.py BUILD
"""
import os
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import MIB, Resider, mete  # noqa: E402
from device import Device  # noqa: E402
from harness import NO_ROOM, PATIENCE, SANITIZED, Meted, finish, ok, same, starved_threads, until  # noqa: E402

TOTAL = 64 * MIB
SURE = TOTAL * 8 // 10
ENV = {"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "0", "METE_SOFT_COPY_RATE": "256M"}
STATED = 4.0 * PATIENCE

yaml = tempfile.NamedTemporaryFile("w", suffix=".yaml")


def say(words):
    yaml.seek(0)
    yaml.truncate()
    yaml.write(f"memory: {{{words}}}\n")
    yaml.flush()


say(f"yield_within: {STATED}")
m = Meted("--soft-only", env={**ENV, "METE_CONFIG": yaml.name})
c = m.control()
judge = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "judge"), m.env)


def again(words):
    say(words)
    log = len(m.log())
    m.process.send_signal(signal.SIGHUP)
    until(lambda: " is " in m.log()[log:], 10)


def events(name):
    return [e["text"] for e in c.ask("events", tenant=name)["events"]]


def holds(r):
    return [float(line.split()[1]) for line in list(r.lines) if line.startswith("holds")]


class Waiting:
    """How long the tenant's processes and meted wait for a processor that something else has, from now on."""

    def __init__(self, name):
        self.before = {pid: starved_threads(pid) for pid in [m.process.pid, *(p["pid"] for p in c.grant(name)["processes"])]}

    def seconds(self):
        """Of each the thread that waited most. One that has ended meanwhile is not looked at."""
        return sum(max((now - before.get(thread, 0) for thread, now in starved_threads(pid).items()), default=0)
                   for pid, before in self.before.items() if os.path.exists(f"/proc/{pid}"))


def in_time(percent, wall):
    name = f"chance{percent}{'w' if wall else ''}"
    m.make(name, TOTAL, spill=True, wall=wall)  # packing takes a part
    m.make("sure", SURE)
    chance = Resider(m, name, TOTAL * percent // 100, 1 << 30, 1, wall=wall)
    ok(chance.done(2), f"{name}: an opportunistic program works with {percent} % of the device", chance.lines)
    waiting = Waiting(name)
    sure = Resider(m, "sure", SURE - 4 * MIB, 2, 0)
    same(sure.end(60), 0, f"{name}: one that is promised 80 % comes, and has it")
    y, kept = c.grant("sure")["yield"], waiting.seconds()
    ok(y["waits"] >= 1 and y["longest_seconds"] <= STATED + kept and y["within_seconds"] == STATED,
       f"{name}: within {y['longest_seconds']:.2f} s of {STATED:g}", y, kept)
    late = y["longest_seconds"] > STATED
    same((y["late"], c.grant(name)["moved"]["late"]), (late, late), f"{name}: {'it was' if late else 'nobody was'} late")
    ok(c.grant(name)["moved"]["moves"] >= 1, f"{name}: it has moved")
    ok(any("left the device" in e and e.endswith("to make room for sure") for e in events(name)), f"{name}: an event says for whom", events(name))
    before = len(chance.rounds())
    ok(until(lambda: len(chance.rounds()) > before + 2, 20), f"{name}: and goes on when there is room again")
    chance.process.stdin.close()
    same(chance.end(), 0, f"{name}: every word is what it has to be")
    ok(judge.most <= TOTAL, f"{name}: never more was on the device than it has")
    for grant in (name, "sure"):
        until(lambda: not c.grant(grant)["processes"])
        c.ask("grant_delete", name=grant)


def two(*modes):
    m.make("chance", TOTAL, spill=True)
    m.make("sure", SURE)
    chance = Resider(m, "chance", TOTAL * 8 // 10, 2, *modes)
    chance.has("holds")
    if modes:
        chance.go_on()
        chance.has("hangs")
    return chance


def ends(*residers):
    same([r.end() for r in residers], [0] * len(residers), "every word is what it has to be")
    for grant in ("chance", "sure"):
        until(lambda: not c.grant(grant)["processes"])
        c.ask("grant_delete", name=grant)


def late():
    again(f"yield_within: {1 * PATIENCE:g}")
    chance = two("endless")
    sure = Resider(m, "sure", SURE - 4 * MIB, 1, 0)
    ok(until(lambda: c.grant("sure").get("yield", {}).get("waiting_bytes"), 20), "work does not end: who is promised the memory waits", c.grant("sure"))
    status, text = mete(m, "ps")
    ok("that it is promised and others were lent" in text, "mete ps says so", text)
    ok(until(lambda: any("have not left within" in e for e in events("sure")), 20), "when the time is over an event says so", events("sure"))
    ok(until(lambda: any("has not left within" in e and "for sure, which is promised the memory" in e for e in events("chance")), 20), "and one who is late",
       events("chance"))
    same(c.grant("chance")["moved"]["late"], 1, "which is counted")

    def process():
        return c.grant("chance")["processes"][0]["devices"][0]
    ok(until(lambda: process().get("late_seconds", 0) >= 0.4 * PATIENCE, 20), "mete ps has it", process())
    ok("leaves late" in mete(m, "ps", "--wide")[1], "in words")
    ok(not holds(sure) and c.grant("chance")["processes"], "it is not ended")
    chance.go_on()
    ok(until(lambda: holds(sure), 30), "when its work has ended the other one has its memory", sure.lines)
    y = c.grant("sure")["yield"]
    ok(y["late"] == 1 and y["longest_seconds"] >= 1 * PATIENCE, "late, which is counted", y)
    same(len([e for e in events("chance") if "has not left within" in e]), 1, "the event comes once")
    chance.go_on()
    ends(sure, chance)


def stopped():
    again(f"yield_within: {1 * PATIENCE:g}")
    chance = two()
    pid = c.grant("chance")["processes"][0]["pid"]
    os.kill(pid, signal.SIGSTOP)
    sure = Resider(m, "sure", SURE - 4 * MIB, 1, 0)
    ok(until(lambda: any("has not left within" in e for e in events("chance")), 20), "a program that is stopped is late", events("chance"))
    os.kill(pid, signal.SIGCONT)
    ok(until(lambda: holds(sure), 30), "when it goes on it leaves", sure.lines)
    for _ in range(2):
        chance.go_on()
    ends(sure, chance)


def ended():
    again(f"yield_within: {1 * PATIENCE:g}, yield_end: true")
    chance = two("endless")
    sure = Resider(m, "sure", SURE - 4 * MIB, 1, 0)
    ok(until(lambda: holds(sure), 30), "memory.yield_end: who is promised the memory has it", sure.lines)
    y = c.grant("sure")["yield"]
    ok(1 * PATIENCE <= y["longest_seconds"] <= 3 * PATIENCE, f"soon after the time is over ({y['longest_seconds']:.2f} s)", y)
    ok(any("it is ended (memory.yield_end)" in e for e in events("chance")), "an event says who was ended for it", events("chance"))
    chance.process.wait(30)
    same(chance.process.returncode, -signal.SIGKILL, "its program has ended")
    ends(sure)


def asked_anew():
    """Who asked once, long ago, waits from when it asks again: the other one has the whole time to leave."""
    stated = 3.5 * PATIENCE
    again(f"yield_within: {stated:g}, yield_end: true")
    chance = two("endless")
    units = (SURE - 4 * MIB) // 512
    sure = m.client()
    sure.hello(os.path.join(m.dir, "grants", "sure.sock"))
    same(sure.reserve(0, units)[0], NO_ROOM, "one that is promised memory asks for it, and does not ask again")
    since = time.monotonic()
    ok(until(lambda: "waiting_bytes" not in c.grant("sure").get("yield", {}), 20), "it does not wait any more", c.grant("sure"))
    until(lambda: time.monotonic() - since > stated, 2 * stated)
    ok(chance.process.poll() is None, "nobody is ended for it")
    since = time.monotonic()
    while chance.process.poll() is None and time.monotonic() - since < 30 * PATIENCE and sure.reserve(0, units)[0] == NO_ROOM:
        pass
    lasted = time.monotonic() - since
    chance.process.wait(30)
    ok(lasted >= 0.9 * stated, f"it asks again: the other one is ended after the stated time, counted from then ({lasted:.2f} s of {stated:g})")
    sure.kill()


for percent in (60, 90) if not SANITIZED else (75,):
    in_time(percent, False)
in_time(75, True)
late()
stopped()
ended()
asked_anew()
ok(judge.most <= TOTAL, "never more was on the device than it has")
judge.close()
c.close()
m.close()
finish()
