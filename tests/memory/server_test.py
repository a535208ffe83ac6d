"""
Programs of `mete run --remote` go from one `mete serve` to another while they run: bit-equal, at the same addresses, by
one call that takes longer. Whatever becomes of the other server, they go on where they were: server_test.py BUILD [NAME...]
"""
import contextlib
import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import MIB, RESIDER, Resider, mete, wrong_libdir  # noqa: E402
from harness import PATIENCE, SANITIZED, Control, Meted, finish, ok, same, until  # noqa: E402
from servers import KEYS, Remote, Server, place  # noqa: E402

SIZE = 8 * MIB
MOVES = 100 if os.environ.get("METE_TEST_LONG") else 8
KILLS = 100 if os.environ.get("METE_TEST_LONG") else 6
def goes(a, b):
    """From one to the other, and back, while it computes."""
    r = Remote(a, SIZE, 60, 10)
    ok(r.has("holds"), "it runs on the first server", r.lines)
    for turn in range(4):
        here, there = (a, b) if turn % 2 == 0 else (b, a)
        r.done(turn * 5 + 1)
        status, text = here.mete("move", "alice", "--remote", there.address)
        ok(not status and there.held() >= SIZE and not here.held(), "it has gone to the other server, and holds nothing on the one before", text,
           here.held(), there.held(), r.lines[-3:])
    same(r.end(), 0, "every word is what it has to be")
    ok(r.stays_in_place(), "all addresses stayed")
    ok(until(lambda: not a.held() and not b.held(), 20), "and nothing is left", a.held(), b.held())


def from_here(a, b):
    """A program behind the wall of its own machine goes to a server, by a relay that goes on alone, and from there to another one."""
    m = Meted("--soft-only", env={"METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "3M", "XDG_RUNTIME_DIR": place.name})
    c = m.control()
    m.make("wall", 40 * MIB, wall=True)
    r = Resider(m, "wall", SIZE, 100000, 40, wall=True, spill=False)
    ok(r.has("holds"), "a program runs behind the wall of its machine", r.lines)
    key = ("--key", os.path.join(KEYS, "alice.key"))
    for words, part in ((("--remote", a.address), "--key"), (("--remote", a.address + "," + b.address, *key), "one server"),
                        (("--remote", "127.0.0.1:1", *key), "refuses connections"), (("--device", "0", *key), "--remote"),
                        (("--remote", a.address, "--key", "/nowhere"), "/nowhere")):
        status, text = mete(m, "move", "wall", *words)
        ok(status and part in text and "\n" not in text, f"refused in one line: {part}", status, text)
    done = len(r.rounds())
    status, text = mete(m, "move", "wall", "--remote", a.address, *key)
    ok(not status and a.held() >= SIZE and not c.share("wall")["held_bytes"], "it has gone to a server", text, a.held(), c.share("wall"))
    ok(r.done(done + 5), "and its program goes on", r.lines[-3:])
    done = len(r.rounds())
    status, text = a.mete("move", "alice", "--remote", b.address)
    ok(not status and b.held() >= SIZE and until(lambda: not a.held()) and r.done(done + 5), "and to another one", text, a.held(), b.held(), r.lines[-3:])
    r.process.stdin.close()
    same(r.end(), 0, "every word is what it has to be")
    ok(r.stays_in_place(), "all addresses stayed")
    ok(until(lambda: not b.held(), 20), "nothing is left", b.held())
    c.close()
    m.close()


def wrong_there(a):
    """
    No copy succeeds at one server. Nobody waits for the answer of one, and a later answer tells of it. At another one a module is loaded, and
    what is in it cannot be listed for want of memory: nothing has the ids by which the session knows it.
    """
    libdir = wrong_libdir(place.name)
    r = Remote(a, SIZE, 1000000, 40)
    ok(r.has("holds"), "it runs on the first server", r.lines)
    for word, error, what in (("WRONG_COPY", 400, "copies fail"), ("NO_LIST", 2, "modules are not listed")):
        wrong = Server(word, METE_LIBDIR=libdir, **{"METE_TEST_" + word: "1"})
        for _ in range(3):
            done = len(r.rounds())
            status, text = a.mete("move", "alice", "--remote", wrong.address)
            ok(status and f"CUDA error {error}" in text and "\n" not in text, f"a server where {what} does not get it", status, text)
            ok(r.done(done + 5), "its program hears nothing of that, and goes on", r.lines[-3:])
        wrong.end()
    r.process.stdin.close()
    same(r.end(), 0, "every word is what it has to be")


def meted_lost():
    """meted of the other server is killed while the program's memory leaves the first one, which takes four seconds."""
    here, there = Server("slow", METE_SOFT_COPY_RATE="2M"), Server("loses")
    meted = there.control.ask("hello")["pid"]
    r, said = Remote(here, SIZE, 1000000, 40), []
    ok(r.has("holds"), "it runs on the first server", r.lines)
    mover = threading.Thread(target=lambda: said.append(here.mete("move", "alice", "--remote", there.address)))
    mover.start()
    ok(until(there.workers, 20), "a worker of the other one waits for it")
    time.sleep(1)
    there.process.send_signal(signal.SIGSTOP)  # else it may start another meted in time; its relays are processes of their own
    os.kill(meted, signal.SIGKILL)
    mover.join()
    there.process.send_signal(signal.SIGCONT)
    status, text = said[0]
    ok(status and f"{there.address}: its meted was lost" in text and "CUDA error" not in text and "\n" not in text,
       "refused in one line that names what was lost, and where", status, text)
    done = len(r.rounds())
    ok(r.done(done + 3), "its program goes on where it was", r.lines[-3:])
    status, text = here.mete("move", "alice", "--remote", there.address)
    done = len(r.rounds())
    ok(not status and r.done(done + 3), "asked again it goes to that server, whose meted has begun again", status, text, r.lines[-3:])
    r.process.stdin.close()
    same(r.end(), 0, "every word is what it has to be")
    ok(r.stays_in_place(), "all addresses stayed")
    if not status:
        there.control = Control(there.dir)
    there.end()
    here.end()


def many_moves(a, b):
    r = Remote(a, SIZE, 1000000, 40)
    r.has("holds")
    done = 0
    while done < MOVES:
        here, there = (a, b) if done % 2 == 0 else (b, a)
        status, text = here.mete("move", "alice", "--remote", there.address)
        if status:
            break
        done += 1
    ok(done == MOVES, f"{done} moves in a row under load", text, r.lines[-3:])
    r.process.stdin.close()
    same(r.end(), 0, "every word is what it has to be")
    ok(r.stays_in_place(), "all addresses stayed")


def taken_addresses(a):
    """The devices of the other server are so large that its worker often has one of them where the session's addresses are: another one is asked."""
    large = Server("large", METE_SOFT_MEMORY="900G", METE_SOFT_DEVICES="8")
    r, failed = Remote(a, SIZE, 1000000, 5), []
    r.has("holds")
    for turn in range(24 if MOVES > 8 else 12):
        here, there = (a, large) if turn % 2 == 0 else (large, a)
        status, text = here.mete("move", "alice", "--remote", there.address)
        if status:
            failed.append(text)
            break
    with open(os.path.join(large.dir, "meted.log"), encoding="utf-8") as log:
        taken = log.read().count("addresses of a session that comes here are taken")
    ok(not failed, f"a worker in which the session's addresses are taken ({taken} times) is replaced by another one", failed)
    r.process.stdin.close()
    os.killpg(r.process.pid, signal.SIGKILL)
    r.process.wait()
    ok(until(lambda: not large.held() and not a.held(), 20), "nothing is left", large.held(), a.held())
    large.end()


def stays(r, server, part, *words):
    before, done = server.held(), len(r.rounds())
    status, text = server.mete(*words)
    ok(status == 1 and part in text and "\n" not in text, f"refused in one line: {part}", status, text)
    ok(server.held() == before and r.done(done + 2), "and it goes on where it was", server.held(), before, r.lines[-3:])


def refused(a, b):
    r = Remote(a, SIZE, 100000, 5)
    r.has("holds")
    stays(r, a, "refuses connections", "move", "alice", "--remote", "127.0.0.1:1")
    stays(r, a, "nowhere.invalid", "move", "alice", "--remote", "nowhere.invalid")
    stays(r, a, "no offer", "move", "alice", "--remote", b.address + "/gold")
    small = Server("small", 20 * MIB)
    stays(r, a, "bytes of memory", "move", "alice", "--remote", small.address)
    small.end()
    other = Server("other", METE_SOFT_SMS="7")
    stays(r, a, "attribute", "move", "alice", "--remote", other.address)
    other.end()
    for words, part in ((("--remote", "/tmp/x"), "no server"), (("--remote", b.address, "--device", "0"), "where to"), ((), "where to")):
        status, text = a.mete("move", "alice", *words)
        ok(status and part in text and "\n" not in text, f"refused in one line: {words}", status, text)
    status, text = a.mete("set", "alice", "--suspend")
    ok(not status and not a.held() and a.grant()["devices"][0]["away_bytes"] >= SIZE, "a program of another machine is suspended", text, a.grant())
    ok(r.waits(), "and waits")
    done = len(r.rounds())
    status, text = a.mete("set", "alice", "--resume")
    ok(not status and r.done(done + 2), "and goes on when it is resumed", text, r.lines[-3:])
    r.process.stdin.close()
    os.killpg(r.process.pid, signal.SIGKILL)
    r.process.wait()
    ok(until(lambda: not a.held(), 20), "nothing is left", a.held())


def next_comes_here(a, b):
    """A program that was refused at the other server ends: the next one of its relay begins where it began."""
    go = os.path.join(place.name, "go")
    words = f"{RESIDER} {SIZE} 100000 5; while [ ! -e {go} ]; do sleep 0.05; done; {RESIDER} {SIZE} 3 0"
    r = Remote(a, "-c", words, program="/bin/sh")
    r.has("holds")
    stays(r, a, "no offer", "move", "alice", "--remote", b.address + "/gold")
    for _ in range(3):
        stays(r, a, "no offer", "move", "alice", "--remote", b.address + "/silver")
    r.process.stdin.close()
    ok(until(lambda: not a.workers(), 20), "it ends", a.grant())
    open(go, "w", encoding="ascii").close()
    r.end()
    same([line for line in r.lines if line.startswith("wrong ") and line.split()[1] != "0"], [], "no word is wrong")
    same(sum(line.startswith("wrong ") for line in r.lines), 2, "the next program of the relay runs where the one before it did")


def killed(a):
    """The other server is gone in the middle: at every step that chance gives."""
    r = Remote(a, SIZE, 1000000, 0)
    r.has("holds")
    there = Server("there")
    stayed = 0
    for turn in range(KILLS):
        done = len(r.rounds())
        mover = threading.Thread(target=a.mete, args=("move", "alice", "--remote", there.address))
        mover.start()
        time.sleep(random.uniform(0, 0.25) * PATIENCE)
        there.kill()
        mover.join()
        if not a.workers():
            break
        stayed += r.done(done + 2)
        there = Server(f"there{turn}")
    if a.workers():
        ok(stayed == KILLS, f"{KILLS} times the other server was killed in the middle, and the program went on", stayed, r.lines[-5:])
    else:
        ok(until(lambda: any("UNAVAILABLE" in line or ": 46" in line for line in list(r.lines)), 30),
           "it had gone to a server that was killed: the documented error", r.lines[-5:])
    r.process.stdin.close()
    there.end()
    os.killpg(r.process.pid, signal.SIGKILL)
    r.process.wait()


def anybody_killed(a, b):
    """The worker on either side, meted of the first, or the program, at any step: it goes on with the right words, or hears the documented error."""
    wrong, left = [], []
    for turn in range(KILLS):
        r = Remote(a, SIZE // 4, 1000000, 0)
        r.has("holds")
        mover = threading.Thread(target=a.mete, args=("move", "alice", "--remote", b.address))
        mover.start()
        time.sleep(random.uniform(0, 0.25) * PATIENCE)
        victim = ("worker", "program", "meted", "next worker")[turn % 4]
        pids = {"worker": a.workers, "program": lambda: [r.process.pid], "meted": lambda: [a.control.ask("hello")["pid"]], "next worker": b.workers}[victim]()
        for pid in pids:
            try:
                (os.killpg if victim == "program" else os.kill)(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if victim == "meted":
            a.control = None
        mover.join()
        if victim == "meted":
            a.mete("ps")
            a.control = Control(a.dir)
        done = len(r.rounds())
        if victim != "program" and not until(lambda: len(r.rounds()) > done + 1 or r.process.poll() is not None, 30):
            wrong.append((victim, "hangs", r.lines[-3:]))
        if r.process.poll() is None:
            with contextlib.suppress(BrokenPipeError):  # it may end in this moment
                r.go_on()
            os.killpg(r.process.pid, signal.SIGKILL)
        elif victim != "program" and not until(lambda: any(line.endswith(": 46") for line in list(r.lines)), 10):
            wrong.append((victim, r.process.returncode, r.lines[-3:]))
        r.process.wait()
        if not until(lambda: not a.held() and not b.held(), 20):
            left.append((victim, a.held(), b.held()))
    ok(not wrong, f"{KILLS} times somebody was killed in the middle: the program goes on, or hears the documented error", wrong)
    ok(not left, "and nothing is left on either side", left)


a, b = Server("a"), Server("b")
WITH = ((goes, (a, b)), (from_here, (a, b)), (wrong_there, (a,)), (meted_lost, ()), (many_moves, (a, b)), (taken_addresses, (a,)), (refused, (a, b)),
        (next_comes_here, (a, b)), (killed, (a,)), (anybody_killed, (a, b)))
for what, servers in WITH:
    # Sanitizers have ideas of their own about where memory may be.
    if what.__name__ in (sys.argv[2:] or [what.__name__]) and not (SANITIZED and what is taken_addresses):
        what(*servers)
a.end()
b.end()
finish()
