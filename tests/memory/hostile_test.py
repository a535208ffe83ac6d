"""
A tenant that lies on its page about its memory, or does not answer, keeps nothing from others: hostile_test.py BUILD
"""
import os
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from liar import AWAY, LEAVING, MOVES, RETURNING, WAITED, Liar, units  # noqa: E402
from memory import MIB, Resider, mete  # noqa: E402
from device import Device  # noqa: E402
from harness import Meted, finish, ok, same, until  # noqa: E402

TOTAL = 64 * MIB
ENV = {"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "0"}


def lies(m, c):
    quota = 52 * MIB
    path = m.make("liar", quota, spill=True)
    liar, twin = Liar(path), m.client()
    twin.hello(path)
    m.make("sure", quota)
    for what, *said in (("is on its way back, for ever", RETURNING | MOVES, 0xffffffff, 0),
                        ("is away, and called for", AWAY | MOVES | WAITED, 0xffffffff, 0),
                        ("is leaving, with more than it has", LEAVING | MOVES, 0, 0xffffffff),
                        ("is here, with more than it has", MOVES, 0xffffffff, 0xffffffff)):
        liar.says(*said)
        twin.ask("place", 0, said[0], said[1] & 0x7fffffff, said[2] & 0x7fffffff)
        until(lambda: c.share("liar")["residence"] == ("resident", "leaving", "away", "returning")[said[0] & 3])
        ok(c.share("liar")["away_bytes"] <= quota, f"two processes of a tenant say that each {what}: meted believes no more than its quota",
           c.share("liar"))
        r = Resider(m, "sure", 48 * MIB, 1, 0)
        same(r.end(20), 0, "and another has what it was promised")
        r.process.kill()
    until(lambda: not c.grant("sure")["processes"])
    before = len(c.ask("events", limit=1000)["events"])
    began = time.monotonic()
    while time.monotonic() - began < 1:
        for place in (MOVES, AWAY | MOVES, RETURNING | MOVES):
            liar.says(place, 8)
            time.sleep(0.015)
    after = c.ask("events", limit=1000)["events"]
    ok(len(after) + sum(e.get("count", 1) - 1 for e in after) <= before + 8, "one that says something else all the time fills no journal", before, len(after))
    liar.close()
    twin.close()
    until(lambda: len(c.grant("liar")["processes"]) <= 1)
    for name in ("liar", "sure"):
        c.ask("grant_delete", name=name)


def waits_for_more(m, c):
    """One that waits for the return of more than its quota has nobody leave for what it cannot have."""
    liar = Liar(m.make("small", 8 * MIB, spill=True))
    m.make("works", 28 * MIB, spill=True)
    r = Resider(m, "works", 24 * MIB, 2)
    r.has("holds")
    liar.says(AWAY | MOVES | WAITED, units(50), 0)
    until(lambda: c.share("small")["residence"] == "away")
    time.sleep(1)
    ok(not c.grant("works")["moved"]["moves"] and c.share("works")["residence"] == "resident",
       "a tenant waits for more than its quota, and the device has room for that: nobody leaves for it", c.grant("works"))
    for _ in range(2):
        r.go_on()
    same(r.end(), 0, "the other goes on, and every word is what it has to be")
    liar.close()
    for name in ("small", "works"):
        until(lambda name=name: c.ask("grant_delete", name=name)["ok"])


def is_stopped(m, c, judge):
    """It holds what another needs, and does not hear that it is to leave: who is asked next leaves instead."""
    for name, quota in (("stopped", 24 * MIB), ("other", 24 * MIB)):
        m.make(name, quota, spill=True)
    m.make("sure", 40 * MIB)
    stopped = Resider(m, "stopped", 20 * MIB, 2)
    stopped.has("holds")
    other = Resider(m, "other", 20 * MIB, 2)
    other.has("holds")
    pid = c.grant("stopped")["processes"][0]["pid"]
    os.kill(pid, signal.SIGSTOP)
    sure = Resider(m, "sure", 34 * MIB, 1, 0)
    same(sure.end(30), 0, "a stopped tenant does not leave: another one does, and who waits has its memory")
    sure.process.kill()
    status, text = mete(m, "set", "stopped", "--suspend", patience=30)
    ok(status == 1 and "does not answer" in text and text.count("\n") == 0, "a stopped program is not suspended: one line says why", status, text)
    ok(not c.grant("stopped")["suspended"] and judge.most <= TOTAL, "and it is as it was")
    os.kill(pid, signal.SIGCONT)
    for r in (stopped, other):
        r.go_on()
        r.go_on()
        same(r.end(60), 0, "all go on, and every word is what it has to be")
    for name in ("stopped", "other", "sure"):
        c.ask("grant_delete", name=name)


def without_spill(m, c):
    """A program that cannot leave, under a grant that promises nothing, gets nothing of what is promised to others."""
    m.make("stays", 52 * MIB, spill=True)
    m.make("sure", 40 * MIB)
    stays = Resider(m, "stays", 36 * MIB, 1, spill=False)
    ok(stays.has("cuMemAlloc: 2", 20), "a program that cannot leave, and asks for what is promised to another: out of memory", stays.lines)
    sure = Resider(m, "sure", 36 * MIB, 1, 0)
    same(sure.end(20), 0, "who has it")
    until(lambda: not c.grant("sure")["processes"] and not c.grant("stays")["processes"])
    stays = Resider(m, "stays", 16 * MIB, 1, 0, spill=False)
    same(stays.end(20), 0, "it has what is promised to nobody")
    c.ask("grant_delete", name="sure")
    m.make("important", 52 * MIB, spill=True, devices=[{"device": "0", "mem_bytes": 52 * MIB, "class": "high"}])
    important = Resider(m, "important", 40 * MIB, 1)
    important.has("holds")
    stays = Resider(m, "stays", 40 * MIB, 1, 0, spill=False)
    ok(stays.has("cuMemAlloc: 2", 20) and not c.grant("important")["moved"]["moves"], "and nobody of a higher class leaves for it", stays.lines)
    important.go_on()
    same(important.end(20), 0, "which has every word as it has to be")
    for name in ("stays", "important"):
        c.ask("grant_delete", name=name)


def pool(names_mib=("a", "b")):
    """Several are asked to leave at once: together no more than memory.pool."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write("memory: {pool: 30M}\n")
        f.flush()
        m = Meted("--soft-only", env={**ENV, "METE_CONFIG": f.name})
    c = m.control()
    residers = []
    for name in names_mib:
        m.make(name, 28 * MIB, spill=True)
        residers.append(Resider(m, name, 24 * MIB, 1))
        residers[-1].has("holds")
    m.make("sure", 64 * MIB)
    sure = Resider(m, "sure", 50 * MIB, 1, 0)
    most, began = 0, time.monotonic()
    while time.monotonic() - began < 3:
        most = max(most, sum(c.share(name)["away_bytes"] for name in names_mib))
        time.sleep(0.01)
    ok(most <= 30 * MIB, f"two are to leave, and the host has room for one: {most / MIB:.0f} MiB are away")
    for r in [sure, *residers]:
        os.killpg(r.process.pid, signal.SIGKILL)
    c.close()
    m.close()


m = Meted("--soft-only", env=ENV)
c = m.control()
judge = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "judge"), m.env)
lies(m, c)
waits_for_more(m, c)
is_stopped(m, c, judge)
without_spill(m, c)
judge.close()
c.close()
m.close()
pool()
finish()
