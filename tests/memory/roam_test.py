"""
Programs of many kinds behind a wall and on another server that are suspended, moved to another device and to another server
at random times, and of whose processes one or another is killed: every result is that of a run that nobody has touched.
What has no such result here cannot move at all (move_test.py says what that is): roam_test.py BUILD [KIND...]

Four of the kinds in each run, which METE_ROAM_SEED chooses; all with METE_TEST_LONG=1.
"""
import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import MIB, Resider, fall, mete  # noqa: E402
from servers import Remote, Server  # noqa: E402
from harness import BUILD, PATIENCE, SANITIZED, Meted, finish, ok, same, until  # noqa: E402

ROAMER = os.path.join(BUILD, "tests/memory/roamer")
KINDS = ("captures", "kernels", "products", "textures", "shared", "symbols", *([] if SANITIZED else ["many"]))  # asks 3000 times as it begins
HELD = ("addresses of variables", "in capture")  # for a moment, of some kinds: it is to be asked again
QUOTA = 40 * MIB
LONG = bool(os.environ.get("METE_TEST_LONG"))
ENV = {"METE_SOFT_DEVICES": "2", "METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "3M"}
# Of these the copies take so long that work which does not wait for them is seen. They are asked for by name.
PACE = {"METE_SOFT_COPY_RATE": "50M"} if "mapped" in sys.argv[2:] else {}


def roamer(m, kind, rounds):
    return Resider(m, "wall", kind, rounds, wall=True, spill=False, program=ROAMER)


def empty(c):
    return until(lambda: not c.grant("wall")["processes"] and not c.grant("wall")["devices"][0]["held_bytes"], 20)


def is_held(text):
    return any(word in text for word in HELD)


class Alone:
    """What a run says that nobody touches, as far as it has been asked for."""

    def __init__(self, m, kind):
        self.m, self.kind, self.lines = m, kind, []

    def differs(self, rounds):
        """The first of these lines that is another than it has to be."""
        if len(rounds) > len(self.lines):
            r = roamer(self.m, self.kind, 2 * len(rounds) + 50)
            r.end()
            self.lines = r.rounds()
        return next(((here, there) for here, there in zip(rounds, self.lines) if here != there), None)


def moves_at_random(m, c, kind, alone):
    """Until it has been moved so often, in all ways."""
    r = roamer(m, kind, 1000000)
    ok(r.has("holds"), f"{kind}: it runs behind the wall", r.lines)
    failed, went = [], 0
    for turn in range(40 if LONG else 8):
        time.sleep(random.uniform(0, 0.1) * PATIENCE)
        device = c.grant("wall")["devices"][0]["index"]
        refused = False
        for words in ([("move", "wall", "--device", str(1 - device))] if turn % 2 else [("set", "wall", "--suspend"), ("set", "wall", "--resume")]):
            status, text = mete(m, *words) if not refused else (0, "")
            refused = status and is_held(text)
            went += not status
            if status and not refused:
                failed.append((words, text))
        done = len(r.rounds())
        if not r.done(done + 2):
            failed.append((turn, "hangs", r.lines[-3:]))
            break
    ok(not failed and went > 2, "it is suspended and moved at random times", failed, went, r.lines[-3:])
    ok("stays:" not in mete(m, "ps", "--wide")[1], "and nothing would keep it", mete(m, "ps", "--wide"))
    end(r)
    same(alone.differs(r.rounds()), None, f"{kind}: every result is that of a run that nobody touched")
    ok(empty(c), "and nothing is left", c.grant("wall"))


def end(r):
    r.process.stdin.close()
    if r.process.poll() is None:
        os.killpg(r.process.pid, signal.SIGKILL)
    r.process.wait()
    r.thread.join(10)


def after_client(c, r):
    """The program itself: nothing is left of it."""
    end(r)
    left = None if empty(c) else ("left", c.grant("wall"))
    until(lambda: c.grant("wall")["suspension"]["state"] in ("none", "refused", "away"), 20)
    c.ask("grant_resume", name="wall")
    return left


def goes_on(c, r, turn, alone):
    """With the right results, or it hears the documented error."""
    fault, done = None, len(r.rounds())
    if not until(lambda: len(r.rounds()) > done + 1 or r.process.poll() is not None, 30):
        fault = (turn, "hangs", r.lines[-3:])
    if r.process.poll() is not None and not until(lambda: any(line.endswith(": 46") for line in list(r.lines)), 10):
        fault = (turn, r.process.returncode, r.lines[-3:])
    end(r)
    return fault or alone.differs(r.rounds())


def killed_at_random(m, c, kind, alone):
    """The worker, meted or the program, at any step of a suspension and of a move: what lives is as it was."""
    wrong, where = [], {}
    for turn in range(60 if LONG else 3):
        r = roamer(m, kind, 1000000)
        r.has("holds")
        if random.random() < 0.5:
            c.ask("grant_move", name="wall", device=str(1 - c.grant("wall")["devices"][0]["index"]))
        else:
            c.ask("grant_suspend", name="wall")
            if random.random() < 0.7:
                until(lambda: c.grant("wall")["suspension"]["state"] in ("away", "refused"), 20)
                c.ask("grant_resume", name="wall")
        time.sleep(random.uniform(0, 0.15) * PATIENCE)
        state = c.grant("wall")["suspension"]["state"]
        where[state] = where.get(state, 0) + 1
        if turn % 3 == 2:
            wrong.append(after_client(c, r))
            continue
        if turn % 3:
            for p in c.grant("wall")["processes"]:
                os.kill(p["pid"], signal.SIGKILL)
            c.ask("grant_resume", name="wall")
        else:
            c.close()
            fall(m)
            c = m.control()
            if c.grant("wall")["suspended"]:
                until(lambda: c.grant("wall")["suspension"]["state"] != "leaving", 20)
                c.ask("grant_resume", name="wall")
        wrong.append(goes_on(c, r, turn, alone))
        empty(c)
        until(lambda: c.grant("wall")["suspension"]["state"] in ("none", "refused", "away"), 20)
        c.ask("grant_resume", name="wall")
    wrong = [one for one in wrong if one]
    ok(not wrong, f"{kind}: somebody was killed in the middle ({where}): the results are right, or the error is the documented one", wrong[:5])
    return c


def between_servers(a, b, kind, alone):
    r = Remote(a, kind, 1000000, program=ROAMER)
    ok(r.has("holds"), f"{kind}: it runs on a server", r.lines)
    failed, here, there = [], a, b
    for turn in range(20 if LONG else 3):
        time.sleep(random.uniform(0, 0.1) * PATIENCE)
        status, text = here.mete("move", "alice", "--remote", there.address)
        if not status:
            here, there = there, here
        done = len(r.rounds())
        if (status and not is_held(text)) or not r.done(done + 2):
            failed.append((turn, status, text, r.lines[-3:]))
            break
    ok(not failed, "it is moved from server to server", failed)
    end(r)
    same(alone.differs(r.rounds()), None, f"{kind}: every result is that of a run that nobody touched")


def server_killed(a, kind, alone):
    """Its worker there, at any step: every result that it has said is right, and then it hears the documented error."""
    wrong = []
    for turn in range(20 if LONG else 4):
        r = Remote(a, kind, 1000000, program=ROAMER)
        r.has("holds")
        time.sleep(random.uniform(0, 0.3) * PATIENCE)
        for pid in a.workers():
            os.kill(pid, signal.SIGKILL)
        if not until(lambda: any(line.startswith("failed: ") and line.endswith((": 46", ": 100")) for line in list(r.lines)), 30):
            wrong.append((turn, r.lines[-3:]))
        end(r)
        wrong.append(alone.differs(r.rounds()))
        until(lambda: not a.workers(), 10)
    wrong = [one for one in wrong if one]
    ok(not wrong, f"{kind}: its worker on a server was killed: the results are right until it hears the documented error", wrong[:5])


m = Meted("--soft-only", env={**ENV, **PACE})
c = m.control()
m.make("wall", QUOTA, wall=True, spill=False)
a, b = Server("a", **PACE), Server("b", **PACE)
SEED = int(os.environ.get("METE_ROAM_SEED", time.time()))
print(f"# seed {SEED}", flush=True)
chosen = KINDS if LONG else random.Random(SEED).sample(KINDS, 4)  # others the next time, by the seed
for kind in chosen if len(sys.argv) < 3 else sys.argv[2:]:
    alone = Alone(m, kind)
    moves_at_random(m, c, kind, alone)
    between_servers(a, b, kind, alone)
    if PACE:
        server_killed(a, kind, alone)
    c = killed_at_random(m, c, kind, alone)
a.end()
b.end()
c.close()
m.close()
finish()
