"""
A program that begins while its grant is suspended waits, behind the wall and beside it, until the grant is resumed. `mete ps`
and `mete show` say that it waits. The judge is the device's own count: begins_test.py BUILD
"""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import MIB, Resider, fall, mete  # noqa: E402
from device import Device  # noqa: E402
from harness import OK, Meted, finish, ok, same, until  # noqa: E402

SIZE, QUOTA = 16 * MIB, 60 * MIB
PATIENCE_S = 5.5  # longer than a program waits for a meted that is away
SILENT_S = 10.5  # longer than meted waits for HELLO
ENV = {"METE_SOFT_DEVICES": "2", "METE_SOFT_MEMORY": "96M", "METE_SOFT_CONTEXT_MEMORY": "3M"}


def waiting(c, name):
    return c.grant(name)["suspension"]["waiting"]


def wait_for(c, name, count):
    return until(lambda: len(waiting(c, name)) == count, 20)


def command(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        return f.read().strip()


def told(m, c, name):
    """What people are told of those who wait."""
    pids = waiting(c, name)
    numbers = ", ".join(str(pid) for pid in pids)
    wait = "waits" if len(pids) == 1 else "wait"
    text = mete(m, "ps", "--wide")[1]
    ok(f"{name}: suspended: pid {numbers} {wait} for `mete set {name} --resume`" in text and "(suspended, " in text,
       f"{name}: mete ps says that it is suspended, and who waits", text)
    text = mete(m, "show", name)[1]
    ok(f"suspended: its programs wait for `mete set {name} --resume`" in text and f"WAITING  pid {numbers}\n" in text,
       f"{name}: and so does mete show", text)


def nothing_begins(residers, judge, seconds=0.7):
    """The device has contexts of workers that wait for a client, and nothing else."""
    time.sleep(seconds)
    return not any(r.lines for r in residers) and judge.used() < SIZE and all(r.process.poll() is None for r in residers)


def beside_the_wall(m, c, judge):
    m.make("wall", QUOTA, wall=True)
    status, text = mete(m, "set", "wall", "--suspend")
    ok(not status and c.grant("wall")["suspended"], "a walled grant without programs is suspended", text)
    residers = [Resider(m, "wall", SIZE, 1, 0, spill=False)]
    ok(wait_for(c, "wall", 1) and nothing_begins(residers, judge), "a program beside the wall waits", residers[0].lines, c.grant("wall"))
    same(command(waiting(c, "wall")[0]), "resider", "it is named")
    told(m, c, "wall")
    residers.append(Resider(m, "wall", SIZE, 1, 0, wall=True, spill=False))
    ok(wait_for(c, "wall", 2) and nothing_begins(residers, judge), "one behind it waits beside it", residers[1].lines)
    told(m, c, "wall")
    status, text = mete(m, "set", "wall", "--suspend")
    ok(not status and "away, 0 B away, 0 B on the device" in text, "asked for again, nothing changes", status, text)
    killed = Resider(m, "wall", SIZE, 1, 0, spill=False)
    wait_for(c, "wall", 3)
    os.killpg(killed.process.pid, signal.SIGKILL)
    killed.process.wait()
    ok(wait_for(c, "wall", 2), "one that is killed waits no more", waiting(c, "wall"))
    c = survive(m, c, judge, residers)
    status, text = mete(m, "set", "wall", "--resume")
    same([(r.end()) for r in residers], [0, 0], "resumed: both begin, and every word is what it has to be")
    ok(until(lambda: not c.grant("wall")["processes"]) and not waiting(c, "wall"), "nobody is left", c.grant("wall"))
    same(mete(m, "ps", "--wide")[1].count("suspended"), 0, "and nobody is told to wait")
    return c


def survive(m, c, judge, residers):
    """meted is killed and upgraded while they wait, later than it would be waited for."""
    time.sleep(PATIENCE_S)
    c.close()
    fall(m)
    c = m.control()
    ok(wait_for(c, "wall", 2) and all(r.process.poll() is None for r in residers), "meted was killed: they wait for the next one",
       waiting(c, "wall"), [r.lines for r in residers])
    answer = c.ask("upgrade")
    c.close()
    c = m.control()
    # A connection without HELLO would be closed after 10 s, and begin again.
    ok(answer["ok"] and until(lambda: len(waiting(c, "wall")) == 2, 5), "meted was upgraded: they wait for the next one", answer, waiting(c, "wall"))
    return c


def runs_beside(m, c, judge):
    """One that has left its worker returns with those who came meanwhile; then its grant can be suspended only behind the wall."""
    walled = Resider(m, "wall", SIZE, 3, wall=True, spill=False)
    walled.has("holds")
    walled.go_on()
    walled.done(1)
    mete(m, "set", "wall", "--suspend")
    local = Resider(m, "wall", SIZE, 2, spill=False)
    ok(wait_for(c, "wall", 2) and not local.lines, "a program is away, and one begins beside the wall: both wait", waiting(c, "wall"), local.lines)
    mete(m, "set", "wall", "--resume")
    ok(local.has("holds") and until(lambda: c.grant("wall")["suspension"]["state"] == "none", 20), "both have the device", local.lines)
    status, text = mete(m, "set", "wall", "--suspend")
    ok(status == 1 and "is not behind the wall" in text and c.grant("wall")["devices"][0]["residence"] == "resident",
       "what is beside the wall cannot leave, which is said", status, text)
    for r, rounds in ((walled, 2), (local, 2)):
        for _ in range(rounds):
            r.go_on()
        same(r.end(), 0, "every word is what it has to be")
    until(lambda: not c.grant("wall")["processes"])


def raw_clients(m, c):
    """Programs that wait are not those of the connections that say nothing, and nothing else is answered to them."""
    mete(m, "set", "wall", "--suspend")
    path = c.grant("wall")["socket"]
    clients = [m.client() for _ in range(70)]
    for x in clients:
        x.tell("hello", path)
    ok(wait_for(c, "wall", 70), "70 programs wait", len(waiting(c, "wall")))
    time.sleep(SILENT_S)
    ok(len(waiting(c, "wall")) == 70, "longer than a connection may be silent", len(waiting(c, "wall")))
    before = m.descriptors()
    clients.pop().kill()
    ok(wait_for(c, "wall", 69) and until(lambda: m.descriptors() < before), "what one that ends had is given back", before, m.descriptors())
    mete(m, "set", "wall", "--resume")
    same([x.answer()[0] for x in clients], [OK] * 69, "all begin")
    for x in clients:
        x.close()
    ok(until(lambda: not c.grant("wall")["processes"]), "and end")


def ended(m, c):
    """The grant is ended while a program waits; deleted it cannot be."""
    mete(m, "set", "wall", "--suspend")
    r = Resider(m, "wall", SIZE, 1, spill=False)
    wait_for(c, "wall", 1)
    same(c.ask("grant_delete", name="wall")["code"], "busy", "a grant is not deleted while a program waits for it")
    status, text = mete(m, "end", "wall", "--yes")
    ok(not status and until(lambda: r.process.poll() is not None, 20) and not [g for g in c.ask("grants")["grants"] if g["name"] == "wall"],
       "its grant is ended: the program is ended as well", status, text, r.lines)


m = Meted("--soft-only", env=ENV)
c = m.control()
judge = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "judge"), m.env)
c = beside_the_wall(m, c, judge)
runs_beside(m, c, judge)
raw_clients(m, c)
ended(m, c)
c.close()
judge.close()
m.close()
finish()
