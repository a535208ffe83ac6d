"""
A tenant behind a wall leaves its worker and goes on with another: nothing of it, its context included, is on the device
meanwhile, and its program has the same bits at the same addresses and sees one long call. What cannot move is refused in
one line that names it, and the tenant stays as it was. The judge is the device's own count: move_test.py BUILD
"""
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import METE, MIB, Resider, fall, mete  # noqa: E402
from device import Device  # noqa: E402
from harness import BUILD, PATIENCE, Meted, finish, ok, same, until  # noqa: E402

HOLDER = os.path.join(BUILD, "tests/memory/holder")
SIZE, QUOTA, CONTEXT = 16 * MIB, 40 * MIB, 3 * MIB
MOVES = 100 if os.environ.get("METE_TEST_LONG") else 6
KILLS = 102 if os.environ.get("METE_TEST_LONG") else 3
ENV = {"METE_SOFT_DEVICES": "2", "METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "3M"}


def share(c, name):
    return c.grant(name)["devices"][0]


def workers(m, c, name):
    return [p["pid"] for p in c.grant(name)["processes"]]


def comes_and_goes(m, c):
    r = Resider(m, "wall", SIZE, 7, wall=True, spill=False)
    ok(r.has("holds"), "it runs behind the wall", r.lines)
    r.go_on()
    r.done(1)
    for turn in range(5):
        before = workers(m, c, "wall")
        status, text = mete(m, "set", "wall", "--suspend")
        away = share(c, "wall")
        ok(not status and away["residence"] == "away" and not away["held_bytes"] and away["away_bytes"] >= SIZE,
           "suspended: nothing of it is on the device, its context neither", text, away)
        ok(not c.grant("wall")["processes"], "its worker has ended")
        r.go_on()
        ok(not r.done(turn + 2, 0.3), "its program waits")
        status, text = mete(m, "set", "wall", "--resume")
        ok(not status and share(c, "wall")["residence"] == "resident" and share(c, "wall")["held_bytes"] >= SIZE + CONTEXT,
           "resumed", text, share(c, "wall"))
        ok(r.done(turn + 2), "and its program goes on", r.lines)
        ok(workers(m, c, "wall") != before, "by another worker", before)
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    ok(r.stays_in_place(), "all addresses stayed")
    until(lambda: not c.grant("wall")["processes"])


def goes_to_another_device(m, c):
    r = Resider(m, "wall", SIZE, 1000000, 40, wall=True, spill=False)
    ok(r.has("holds"), "it runs on device 0", r.lines)
    r.done(1)
    for device in (1, 0, 1):
        status, text = mete(m, "move", "wall", "--device", str(device))
        s = share(c, "wall")
        ok(not status and s["index"] == device and s["residence"] == "resident" and s["held_bytes"] >= SIZE + CONTEXT,
           f"moved: it goes on on device {device}", text, s)
        done = len(r.rounds())
        ok(r.done(done + 1), "and its program goes on", r.lines)
    same(r.stop(), 0, "every word is what it has to be")
    ok(r.stays_in_place(), "all addresses stayed")
    until(lambda: not c.grant("wall")["processes"])


def stays(m, c, name, part, *words):
    """It is refused in one line that names why, and the tenant is as it was."""
    before = share(c, name)
    status, text = mete(m, *words)
    ok(status == 1 and part in text and "\n" not in text, f"refused in one line: {part}", status, text)
    after = share(c, name)
    ok(after["residence"] == "resident" and after["held_bytes"] == before["held_bytes"] and after["index"] == before["index"] and
       not c.grant(name)["suspended"], "and the tenant is as it was", after)


def work_that_never_ends(m, c):
    r = Resider(m, "wall", SIZE, 3, "endless", wall=True, spill=False)
    r.has("holds")
    r.go_on()
    r.has("hangs")
    stays(m, c, "wall", "did not end in time", "set", "wall", "--suspend", "--drain", "1")
    stays(m, c, "wall", "did not end in time", "move", "wall", "--device", "0", "--drain", "1")
    r.go_on()
    r.go_on()
    ok(r.done(2), "its program goes on", r.lines)
    status, text = mete(m, "move", "wall", "--device", "0")
    ok(not status, "when its work has ended it can be moved", text)
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    until(lambda: not c.grant("wall")["processes"])


def upgraded(m, c):
    """meted is upgraded on the way out, while the tenant is away, on the way back, and while it goes to another device."""
    for step in ("leaving", "away", "returning", "moving"):
        r = Resider(m, "wall", SIZE, 1000000, 40, wall=True, spill=False)
        r.has("holds")
        if step == "moving":
            c.ask("grant_move", name="wall", device=str(1 - share(c, "wall")["index"]))
        else:
            c.ask("grant_suspend", name="wall")
        if step in ("away", "returning"):
            until(lambda: c.grant("wall")["suspension"]["state"] == "away", 20)
        if step == "returning":
            c.ask("grant_resume", name="wall")
        answer = c.ask("upgrade")
        ok(answer and answer["ok"], f"{step}: meted is upgraded", answer)
        c.close()
        c = m.control()
        if step in ("leaving", "away"):
            ok(until(lambda: share(c, "wall")["residence"] == "away" and not share(c, "wall")["held_bytes"], 20), f"{step}: the next one finds it away",
               share(c, "wall"))
            mete(m, "set", "wall", "--resume")
        elif c.grant("wall")["suspended"]:
            mete(m, "set", "wall", "--resume")
        ok(r.done(len(r.rounds()) + 2) and share(c, "wall")["residence"] == "resident", f"{step}: its program goes on", r.lines[-3:], share(c, "wall"))
        r.process.stdin.close()
        same(r.end(), 0, f"{step}: every word is what it has to be")
        until(lambda: not c.grant("wall")["processes"])
    return c


def followed(m, c):
    """`mete set --suspend` and `mete move` wait for what becomes of it, also over an upgrade of meted."""
    there = str(1 - share(c, "wall")["index"])
    for words, said, status in ((("set", "wall", "--suspend"), "away", 0), (("move", "wall", "--device", there), "meted was started again", 1)):
        r = Resider(m, "wall", SIZE, 3, "waiting", wall=True, spill=False)
        r.has("holds")
        r.go_on()
        r.has("hangs")
        asked = subprocess.Popen([METE, *words], env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        until(lambda: c.grant("wall")["suspension"]["state"] == "leaving", 20)
        time.sleep(2.5)  # a move begins when a worker of the other device is ready, or after 2 s
        c.ask("upgrade")
        c.close()
        c = m.control()
        r.go_on()
        text = asked.communicate(timeout=60)[0].strip()
        ok(asked.returncode == status and said in text and "\n" not in text, f"mete {words[0]} says what has become of it over an upgrade", text)
        until(lambda: c.grant("wall")["suspension"]["state"] != "leaving", 20)
        if words[0] == "set":
            mete(m, "set", "wall", "--resume")
        r.go_on()
        r.go_on()
        same(r.end(), 0, "every word is what it has to be")
        until(lambda: not c.grant("wall")["processes"])
    return c


def killed(m, c):
    """Of what is killed while the tenant is away nothing but the client matters."""
    r = Resider(m, "wall", SIZE, 5, wall=True, spill=False)
    r.has("holds")
    r.go_on()
    r.done(1)
    mete(m, "set", "wall", "--suspend")
    c = begin_again(m, c)
    ok(until(lambda: c.grant("wall")["suspension"]["state"] == "away") and not share(c, "wall")["held_bytes"],
       "meted was killed: the next one finds the tenant away", share(c, "wall"))
    r.go_on()
    ok(not r.done(2, 0.3), "and its program waits")
    status, text = mete(m, "set", "wall", "--resume")
    ok(not status and r.done(2), "it returns to the next meted", text, r.lines)
    for turn in range(2):
        mete(m, "set", "wall", "--suspend")
        # Stopped, it cannot have settled before the kill: then its memory would be the worker's alone again.
        os.killpg(r.process.pid, signal.SIGSTOP)
        c.ask("grant_resume", name="wall")
        pid = until(lambda: workers(m, c, "wall"), 20)
        if pid:
            os.kill(pid[0], signal.SIGKILL)
        os.killpg(r.process.pid, signal.SIGCONT)
        r.go_on()
        ok(r.done(3 + turn), "a worker was killed while the tenant returned: the next one takes it up", r.lines)
        ok(until(lambda: c.grant("wall")["suspension"]["state"] == "none", 20), "and it has settled", c.grant("wall")["suspension"])
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    ok(r.stays_in_place(), "all addresses stayed")
    r = Resider(m, "wall", SIZE, 5, wall=True, spill=False)
    r.has("holds")
    mete(m, "set", "wall", "--suspend")
    os.killpg(r.process.pid, signal.SIGKILL)
    r.process.wait()
    status, text = mete(m, "set", "wall", "--resume")
    ok(not status and until(lambda: not share(c, "wall")["held_bytes"] and not c.grant("wall")["processes"]),
       "its program was killed while it was away: nothing is left", text, share(c, "wall"))
    return c


def begin_again(m, c):
    c.close()
    fall(m)
    return m.control()


def refused_by_the_one_before(m, c):
    """What a program has answered a meted is no answer to the first question of the next one."""
    c = begin_again(m, c)
    r = Resider(m, "wall", SIZE, 3, "waiting", wall=True, spill=False)
    r.has("holds")
    r.go_on()
    r.has("hangs")
    stays(m, c, "wall", "did not end in time", "set", "wall", "--suspend", "--drain", "1")
    c = begin_again(m, c)
    until(lambda: c.grant("wall")["processes"])
    r.go_on()
    r.go_on()
    ok(r.done(2), "its work has ended", r.lines)
    # Its answer to the new question comes late.
    os.killpg(r.process.pid, signal.SIGSTOP)
    c.ask("grant_suspend", name="wall")
    ok(not until(lambda: c.grant("wall")["suspension"]["state"] != "leaving", 0.3), "the next meted waits for it", c.grant("wall")["suspension"])
    os.killpg(r.process.pid, signal.SIGCONT)
    ok(until(lambda: share(c, "wall")["residence"] == "away", 20), "and suspends it", share(c, "wall"))
    mete(m, "set", "wall", "--resume")
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    until(lambda: not c.grant("wall")["processes"])
    return c


def many_moves(m, c):
    # It works on while the worker of the other device starts.
    r = Resider(m, "wall", SIZE // 4, 1000000, 5, wall=True, spill=False)
    r.has("holds")
    done, text = 0, ""
    while done < MOVES and r.process.poll() is None:
        status, text = mete(m, "move", "wall", "--device", str(1 - share(c, "wall")["index"]))
        if status:
            break
        done += 1
    ok(done == MOVES, f"{done} moves in a row between two devices, under load", text, r.lines[-3:])
    same(r.stop(), 0, "every word is what it has to be")
    ok(r.stays_in_place(), "all addresses stayed")
    until(lambda: not c.grant("wall")["processes"])


def killed_at_random(m, c):
    """The worker, the program or meted, at any step of a move: it goes on with the right words, or hears the documented error."""
    wrong, left = [], []
    for turn in range(KILLS):
        r = Resider(m, "wall", SIZE // 4, 1000000, 0, wall=True, spill=False)
        r.has("holds")
        # Not by the command line, which would start a meted of its own in the place of the killed one.
        c.ask("grant_move", name="wall", device=str(1 - share(c, "wall")["index"]))
        time.sleep(random.uniform(0, 0.15) * PATIENCE)
        victim = ("worker", "program", "meted")[turn % 3]
        if victim == "worker":
            for pid in workers(m, c, "wall"):
                os.kill(pid, signal.SIGKILL)
        elif victim == "program":
            os.killpg(r.process.pid, signal.SIGKILL)
        else:
            c = begin_again(m, c)
        if victim == "meted" and c.grant("wall")["suspended"]:
            until(lambda: c.grant("wall")["suspension"]["state"] != "leaving", 20)
            c.ask("grant_resume", name="wall")
        done = len(r.rounds())
        if victim != "program" and not until(lambda: len(r.rounds()) > done + 1 or r.process.poll() is not None, 30):
            wrong.append((victim, "hangs", r.lines[-3:]))
        if r.process.poll() is None:
            os.killpg(r.process.pid, signal.SIGKILL)
        elif victim != "program" and not until(lambda: any(line.endswith(": 46") for line in list(r.lines)), 10):
            wrong.append((victim, r.process.returncode, r.lines[-3:]))
        r.process.wait()
        if not until(lambda: not share(c, "wall")["held_bytes"] and not c.grant("wall")["processes"], 20):
            left.append((victim, share(c, "wall")))
        until(lambda: c.grant("wall")["suspension"]["state"] in ("none", "refused", "away"), 20)
        c.ask("grant_resume", name="wall")
    ok(not wrong, f"{KILLS} times somebody was killed in the middle: the program goes on, or hears the documented error", wrong)
    ok(not left, "and nothing is left", left)
    return c


def holds_many(m, c, kind):
    r = Resider(m, "wall", kind, None, wall=True, spill=False, program=HOLDER)
    ok(r.has("holds"), "it holds objects of many kinds", r.lines)
    for turn in range(6):
        r.go_on()
        ok(r.done(turn + 1), "all of them work", r.lines)
        words = ("move", "wall", "--device", str(1 - share(c, "wall")["index"])) if turn % 2 else ("set", "wall", "--suspend")
        status, text = mete(m, *words)
        ok(not status, f"mete {' '.join(words)}", text)
        mete(m, "set", "wall", "--resume")
    r.process.stdin.close()
    same(r.end(), 0, "and all results are what they have to be")
    until(lambda: not c.grant("wall")["processes"])


def cannot_move(m, c):
    for kind, part in (("reference", "1 texture references"), ("variable", "addresses of variables"), ("heap", "1 modules whose kernels allocate"),
                       ("packed heap", "1 modules whose kernels allocate"), ("capture", "capture"), ("graph", "graphs"), ("rest", "2 graphs"), ("generator", "1 handles of libraries")):
        r = Resider(m, "wall", kind, None, wall=True, spill=False, program=HOLDER)
        r.has("holds")
        if part[0].isdigit() and "heap" not in kind:  # what is in images is looked at when it is to move
            ok(until(lambda: part in mete(m, "ps", "--wide")[1], 20), f"mete ps says what would keep it: {part}", mete(m, "ps", "--wide"))
        stays(m, c, "wall", part, "set", "wall", "--suspend")
        r.go_on()
        same(r.end(), 0, "and its program goes on")
        until(lambda: not c.grant("wall")["processes"])


def drained(m, c):
    r = Resider(m, "wall", SIZE, 2, wall=True, spill=False)
    r.has("holds")
    r.go_on()
    r.done(1)
    here = share(c, "wall")["index"]
    status, text = mete(m, "drain", str(here))
    # While it is between two workers it is still the device's.
    ok(not status and share(c, "wall")["index"] == 1 - here, "a device is drained when its tenant is the other one's", text, share(c, "wall"))
    ok(until(lambda: share(c, "wall")["held_bytes"] >= SIZE + CONTEXT, 20), "where its program goes on", share(c, "wall"))
    ok("is refused" not in m.log(), "and was not turned away on its way", m.log()[-2000:])
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    mete(m, "uncordon", str(here))
    until(lambda: not c.grant("wall")["processes"])


def refused_by_drain(m, c):
    """A drained device's tenant that could not move is tried again, and named with the reason."""
    r = Resider(m, "wall", SIZE, 2, "waiting", wall=True, spill=False)
    r.has("holds")
    r.go_on()
    r.has("hangs")
    here = share(c, "wall")["index"]
    c.ask("device_drain", device=str(here), grace_s=600)

    def tenants():
        return c.ask("device_health", device=str(here))["device"]["tenants"]

    ok(until(lambda: tenants() and "did not end in time" in (tenants()[0]["stays"] or ""), 90), "its work does not end: the drain says why it stays", tenants())
    r.go_on()
    ok(until(lambda: c.ask("device_health", device=str(here))["device"]["drained"] and share(c, "wall")["index"] == 1 - here, 40),
       "when it has ended it is sent again", tenants(), share(c, "wall"))
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    mete(m, "uncordon", str(here))
    until(lambda: not c.grant("wall")["processes"])


def called_off(m, c):
    """A device that is in service again keeps the tenants that its drain was about to move."""
    r = Resider(m, "wall", SIZE, 2, "waiting", wall=True, spill=False)
    r.has("holds")
    r.go_on()
    r.has("hangs")
    here = share(c, "wall")["index"]
    status, text = mete(m, "drain", str(here), "--grace", "1s")
    ok(status, "work that does not end: not drained in time", text)
    mete(m, "uncordon", str(here))
    ok(until(lambda: not c.grant("wall")["suspended"], 20), "in service again: nobody is on his way", c.grant("wall"))
    r.go_on()
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    same(share(c, "wall")["index"], here, "and its tenant has stayed")
    until(lambda: not c.grant("wall")["processes"])


def suspended_when_drained(m, c):
    """Its device is drained while it is away: it returns to another one, or, where there is none, when it is asked to later."""
    for elsewhere in (True, False):
        r = Resider(m, "wall", SIZE, 2, wall=True, spill=False)
        r.has("holds")
        r.go_on()
        r.done(1)
        here = share(c, "wall")["index"]
        mete(m, "set", "wall", "--suspend")
        status, text = mete(m, "drain", str(here), "--grace", "5s")
        ok(not status, "a device is drained of a tenant that is away", text)
        if not elsewhere:
            mete(m, "cordon", str(1 - here))
            status, text = mete(m, "set", "wall", "--resume")
            ok(status == 1 and "is out of service" in text and "\n" not in text and c.grant("wall")["suspended"],
               "it does not return to it, in one line, and stays away", status, text, c.grant("wall"))
            mete(m, "uncordon", str(here))
        status, text = mete(m, "set", "wall", "--resume")
        ok(not status and share(c, "wall")["index"] == (1 - here if elsewhere else here),
           f"it returns to {'the other one' if elsewhere else 'it when it is in service'}", text, share(c, "wall"))
        r.go_on()
        same(r.end(), 0, "every word is what it has to be")
        for device in "01":
            mete(m, "uncordon", device)
        until(lambda: not c.grant("wall")["processes"])


def refused(m, c):
    for words, part in ((("move", "wall", "--device", "1"), "already"), (("move", "wall", "--device", "7"), "device"),
                        (("move", "wall"), "--device"), (("move", "nobody", "--device", "1"), "nobody")):
        status, text = mete(m, *words)
        ok(status and part in text and "\n" not in text, f"refused in one line: mete {' '.join(words)}", status, text)
    m.make("full", 40 * MIB, devices=[{"device": "0", "mem_bytes": 40 * MIB}])
    status, text = mete(m, "move", "wall", "--device", "0")
    ok(status == 1 and "not promised" in text and "\n" not in text, "no room on the other device: refused in one line", status, text)
    c.ask("grant_delete", name="full")
    for spill in (False, True):
        m.make("local", 8 * MIB, spill=spill)
        status, text = mete(m, "move", "local", "--device", "1")
        ok(status == 1 and "contexts and kernels" in text and "--wall" in text and "\n" not in text,
           f"a grant that is not walled{' (--spill)' if spill else ''}: refused in one line, which says why", status, text)
        c.ask("grant_delete", name="local")


m = Meted("--soft-only", env=ENV)
c = m.control()
m.make("wall", QUOTA, wall=True, spill=False)
comes_and_goes(m, c)
goes_to_another_device(m, c)
refused(m, c)
work_that_never_ends(m, c)
holds_many(m, c, "many")
holds_many(m, c, "libraries")
holds_many(m, c, "variables")
cannot_move(m, c)
drained(m, c)
refused_by_drain(m, c)
called_off(m, c)
suspended_when_drained(m, c)
many_moves(m, c)
ok("what makes no sense" not in m.log(), "no worker had to be asked twice", m.log()[-2000:])
c = refused_by_the_one_before(m, c)
c = upgraded(m, c)
c = followed(m, c)
c = killed(m, c)
c = killed_at_random(m, c)
c.close()
m.close()
finish()
