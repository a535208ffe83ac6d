"""
Tenants that hold more together than the device has: each has its turns, all results are what they are alone, and never is
more on the device than it has. The judge is the device's own count: share_test.py BUILD
"""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import MIB, Resider  # noqa: E402
from device import Device  # noqa: E402
from harness import Meted, finish, ok, same, until  # noqa: E402

TOTAL = 64 * MIB
PART = TOTAL * 8 // 10
ENV = {"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "0"}


def moves(c, name):
    return c.grant(name)["moved"]["moves"]


def two_of_most(m, c, judge, wall):
    names = [f"{'wall' if wall else 'local'}-{i}" for i in range(2)]
    for name in names:
        m.make(name, PART, spill=True, wall=wall)
    began = time.monotonic()
    residers = [Resider(m, name, PART - 4 * MIB, 1000, 25, wall=wall) for name in names]
    until(lambda: all(moves(c, name) for name in names) and all(r.rounds() for r in residers), 60)
    for r in residers:
        r.process.stdin.close()
    wrong = [r.end(150) for r in residers]
    took = time.monotonic() - began
    same(wrong, [0, 0], f"two tenants of 80 % of the device each{', behind a wall' if wall else ''}: every word is what it has to be")
    ok(all(r.stays_in_place() for r in residers), "all addresses stayed")
    ok(all(moves(c, name) for name in names), f"memory moved {[moves(c, name) for name in names]} times")
    ok(sum(moves(c, name) for name in names) <= took + 2, f"but not before a turn of a second was over, in {took:.1f} s")
    ok(judge.most <= TOTAL, f"never more was on the device than it has ({judge.most / TOTAL:.3f})")
    until(lambda: not judge.used(), 10)
    ok(not judge.used(), "nothing is left")
    for name in names:
        c.ask("grant_delete", name=name)


def beside_a_guaranteed_one(m, c, judge):
    """An opportunistic tenant uses what is free, and gives it up by moving."""
    m.make("chance", PART, spill=True)
    m.make("sure", PART)
    chance = Resider(m, "chance", PART - 4 * MIB, 1000, 5)
    chance.done(2)
    sure = Resider(m, "sure", PART - 4 * MIB, 3, 0)
    same(sure.end(), 0, "a guaranteed tenant comes: it gets its memory, without an error")
    ok(moves(c, "chance") >= 1, "because the other one left")
    before = len(chance.rounds())
    ok(until(lambda: len(chance.rounds()) > before + 2, 20), "which goes on when there is room again")
    chance.process.stdin.close()
    same(chance.end(), 0, "every word is what it has to be")
    ok(judge.most <= TOTAL, "never more was on the device than it has")


def four(m, c, judge):
    names = [f"four-{i}" for i in range(4)]
    for name in names:
        m.make(name, TOTAL // 2, spill=True)
    residers = [Resider(m, name, TOTAL * 4 // 10, 8, 25, ordered=name > "four-1") for name in names]
    same([r.end(150) for r in residers], [0] * 4, "four tenants of 40 % each, two of stream-ordered memory: every word is what it has to be")
    ok(judge.most <= TOTAL, "never more was on the device than it has")


with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
    f.write("memory: {turn: 1}\n")
    f.flush()
    m = Meted("--soft-only", env={**ENV, "METE_CONFIG": f.name})
c = m.control()
judge = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "judge"), m.env)
two_of_most(m, c, judge, False)
two_of_most(m, c, judge, True)
beside_a_guaranteed_one(m, c, judge)
four(m, c, judge)
judge.close()
c.close()
m.close()
finish()
