"""
Memory that a program makes and maps itself (cuMemCreate, cuMemMap) leaves its device and returns, with the same bits at
the same addresses, under the same handles; only what the program has handed on stays. The judge is the device's own
count. moved: behind a wall and on servers, by way of another worker: mapped_test.py BUILD [moved]
"""
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import MIB, Resider, mete  # noqa: E402
from servers import Remote, Server  # noqa: E402
from device import Device  # noqa: E402
from harness import BUILD, PATIENCE, Meted, finish, ok, same, until  # noqa: E402

MAPPER = os.path.join(BUILD, "tests/memory/mapper")
SIZE, QUOTA, SEGMENT = 24 * MIB, 56 * MIB, 4 * MIB
HELD = SIZE + 2 * MIB  # and one allocation that is mapped nowhere
LEAVES = (HELD, HELD - SEGMENT)  # also where it has just given one back, for the next one
LONG = bool(os.environ.get("METE_TEST_LONG"))
ENV = {"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "0"}


def share(c, name):
    return c.grant(name)["devices"][0]


def mapper(m, name, rounds, *mode):
    return Resider(m, name, SIZE, rounds, *mode, wall=name == "wall", program=MAPPER)


def ends(r):
    """Half-way, from outside."""
    r.process.stdin.close()
    if r.process.poll() is None:
        os.killpg(r.process.pid, signal.SIGKILL)
    r.process.wait()


def comes_and_goes(m, c, judge, name):
    r = mapper(m, name, 0)
    ok(r.has("holds") and r.done(1), f"{name}: it runs", r.lines)
    ok(until(lambda: share(c, name)["movable_bytes"] == HELD, 20), f"{name}: all of it can leave", share(c, name))
    for _ in range(3):
        status, text = mete(m, "set", name, "--suspend")
        away = share(c, name)
        ok(not status and away["residence"] == "away" and away["away_bytes"] in LEAVES and not judge.used(),
           f"{name}: suspended, nothing of it is on the device", text, away, judge.used())
        ok(r.waits(), f"{name}: its program waits")
        done = len(r.rounds())
        status, text = mete(m, "set", name, "--resume")
        ok(not status and r.done(done + 2), f"{name}: it goes on", text, r.lines[-3:])
    same(r.stop(), 0, f"{name}: every word and every answer is what it has to be")
    until(lambda: not c.grant(name)["processes"])
    ok(not judge.used(), f"{name}: nothing is left")


def handed_on(m, c, judge):
    r = mapper(m, "local", 1000000, "export")
    ok(r.has("holds") and until(lambda: share(c, "local")["movable_bytes"] == HELD - SEGMENT, 20),
       "what is exported counts as memory that stays", share(c, "local"))
    status, text = mete(m, "set", "local", "--suspend")
    ok(not status and judge.used() == SEGMENT and share(c, "local")["away_bytes"] + SEGMENT in LEAVES,
       "it stays, and all else leaves", text, share(c, "local"), judge.used())
    mete(m, "set", "local", "--resume")
    ok(r.done(len(r.rounds()) + 2), "and returns", r.lines[-3:])
    ends(r)
    ok(until(lambda: not judge.used(), 10), "nothing is left", judge.used())


def promised(m, c):
    """What is handed on stays, so it fits beside what is promised, as all memory that stays."""
    m.make("sure", 50 * MIB)
    r = mapper(m, "local", 3, "hand")
    ok(r.has("holds") and "exported 3" in r.lines, "of 64 MiB 50 are promised: 12 are handed on, 16 are not", r.lines)
    sure = Resider(m, "sure", 48 * MIB, 2, 0)
    same(sure.end(), 0, "the guaranteed tenant has its promise")
    same(r.end(), 0, "and every word of the other one is what it has to be")
    c.ask("grant_delete", name="sure")


def attacked(m, c, name, mode, words):
    """Each time it leaves by the next one of these ways."""
    wall, spill = name != "local", name != "far"
    r = Resider(m, name, SIZE, 1000000, mode, wall=wall, spill=spill, program=MAPPER)
    ok(r.has("holds"), f"{name}: other threads map, retain and release all the while ({mode})", r.lines)
    refused = []
    for turn in range(60 if LONG else 6):
        time.sleep(random.uniform(0, 0.1) * PATIENCE)
        for one in words(c, turn):
            status, text = mete(m, *one)
            if status:
                refused.append(text)
        done = len(r.rounds())
        if not r.done(done + 2):
            refused.append(r.lines[-3:])
            break
    ok(not refused, f"{name}: it leaves and returns meanwhile", refused)
    ok(not any(line.startswith("failed") for line in r.lines), f"{name}: every call is answered as before", r.lines[-3:])
    ends(r)
    ok(until(lambda: not c.grant(name)["processes"] and not share(c, name)["held_bytes"], 10), f"{name}: nothing is left", share(c, name))
    again = Resider(m, name, SIZE, 30, mode, wall=wall, spill=spill, program=MAPPER)
    again.has("holds")
    for one in words(c, 0):
        mete(m, *one)
    same(again.end(), 0, f"{name}: every word and every answer is what it has to be")
    ok(until(lambda: not share(c, name)["held_bytes"], 10), f"{name}: and the account is 0", share(c, name))


def suspends(name):
    return lambda c, turn: [("set", name, "--suspend"), ("set", name, "--resume")]


def roams(c, turn):
    if turn % 2 == 0:
        return suspends("far")(c, turn)
    return [("move", "far", "--device", str(1 - c.grant("far")["devices"][0]["index"]))]


def worker_path(m, c):
    """Behind a wall without --spill: its worker ends, and the next one has all of it, on the same device or on another."""
    m.make("far", QUOTA, wall=True, spill=False)
    failed, r = [], Resider(m, "far", SIZE, 0, wall=True, spill=False, program=MAPPER)
    r.has("holds")
    for turn in range(6):
        for words in roams(c, turn):
            status, text = mete(m, *words)
            if status:
                failed.append((words, text))
        done = len(r.rounds())
        if not r.done(done + 2):
            failed.append((turn, r.lines[-3:]))
            break
    ok(not failed, "far: it is suspended and moved to another device", failed)
    ok("stays:" not in mete(m, "ps", "--wide")[1], "and nothing would keep it", mete(m, "ps", "--wide"))
    same(r.stop(), 0, "far: every word and every answer is what it has to be")


def worker_lost():
    """The worker that takes it up is killed while it does so, in the middle of the copies: the next one has all of it, what is
    mapped nowhere as well."""
    m = Meted("--soft-only", env={**ENV, "METE_SOFT_COPY_RATE": "40M"})
    c = m.control()
    m.make("far", QUOTA, wall=True, spill=False)
    failed, r = [], Resider(m, "far", SIZE, 0, wall=True, spill=False, program=MAPPER)
    r.has("holds")
    for turn in range(3):
        mete(m, "set", "far", "--suspend")
        c.ask("grant_resume", name="far")
        pids = until(lambda: [p["pid"] for p in c.grant("far")["processes"]], 20)
        time.sleep(0.1 + 0.1 * turn)  # of 0.65 that the copies take
        if pids:
            os.kill(pids[0], signal.SIGKILL)
        done, seen = len(r.rounds()), set()
        until(lambda: seen.update(p["pid"] for p in c.grant("far")["processes"]) or len(r.rounds()) > done + 1, 30)
        if not pids or len(r.rounds()) < done + 2 or len(seen - {pids[0]}) != 1:
            failed.append((turn, pids, seen, r.lines[-3:]))
            break
    ok(not failed, "far: its worker is killed while it takes it up, and the next one goes on", failed)
    if failed:
        ends(r)
    else:
        same(r.stop(), 0, "far: every word and every answer is what it has to be")
    c.close()
    m.close()


def between_servers():
    a, b = Server("a", QUOTA), Server("b", QUOTA)
    failed, r = [], Remote(a, SIZE, 0, program=MAPPER)
    r.has("holds")
    for turn in range(6):
        here, there = (a, b) if turn % 2 == 0 else (b, a)
        status, text = here.mete("move", "alice", "--remote", there.address)
        done = len(r.rounds())
        if status or not r.done(done + 2):
            failed.append((turn, text, r.lines[-3:]))
            break
    ok(not failed, "it goes from server to server", failed)
    same(r.stop(), 0, "every word and every answer is what it has to be")
    ok(until(lambda: not a.held() and not b.held(), 10), "and nothing is left", a.grant(), b.grant())
    a.end()
    b.end()


def moved():
    m = Meted("--soft-only", env={**ENV, "METE_SOFT_DEVICES": "2"})
    c = m.control()
    worker_path(m, c)
    attacked(m, c, "far", "race", roams)
    c.close()
    m.close()
    worker_lost()
    between_servers()


def in_place():
    m = Meted("--soft-only", env=ENV)
    c = m.control()
    judge = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "judge"), m.env)
    for kind in ("local", "wall"):
        m.make(kind, QUOTA, spill=True, wall=kind == "wall")
        comes_and_goes(m, c, judge, kind)
    attacked(m, c, "local", "attack", suspends("local"))
    attacked(m, c, "wall", "race", suspends("wall"))
    handed_on(m, c, judge)
    promised(m, c)
    c.close()
    m.close()


moved() if sys.argv[2:] == ["moved"] else in_place()
finish()
