"""
What waits for a device gets it: a request that was made before its own client's memory left and returned, a large block that meted must see
coming on, what another process has freed, what others that return have to leave again, programs whose memory takes longer to return than the
longest turn, and suspensions of a program whose threads wait, of one whose session only begins, and of one that no other worker could take up:
wait_test.py BUILD [NAME...]
"""
import os
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from liar import AWAY, LEAVING, MOVES, RETURNING, USED, Liar, units  # noqa: E402
from memory import MIB, Resider, mete, python_program, wrong_libdir  # noqa: E402
from device import Device  # noqa: E402
from harness import NO_ROOM, OK, PATIENCE, SANITIZED, Meted, finish, ok, same, skip, until  # noqa: E402
from servers import workers_under  # noqa: E402

ENV = {"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "0"}
HELD = units(40)
PEERS_MOST = 32  # WIRE_PEERS_MOST: of so many others a process reads the pages itself


def asks_again(waiter):
    waiter.ask(units(40))
    return waiter.answer(5)


def over_a_return():
    """meted answers such a request after 0.5 s: it is to ask again. It must not be told before that there is no room."""
    m = Meted("--soft-only", env=ENV)
    c = m.control()
    holder, waiter = (Liar(m.make(name, 60 * MIB, spill=True)) for name in ("holder", "waiter"))
    holder.says(MOVES | USED)
    waiter.says(MOVES | USED)
    holder.ask(HELD)
    same(holder.answer(5), (OK, 0), "one has 40 of 64 MiB")
    holder.holds(HELD)
    holder.says(MOVES | USED, 0, HELD)
    waiter.ask(units(4))
    same(waiter.answer(5), (OK, 0), "another one has 4")
    waiter.holds(units(4))
    waiter.says(MOVES | USED, 0, units(4))
    for turn in range(3):
        waiter.ask(units(40))
        waiter.says(MOVES | LEAVING, 0, units(4))
        until(lambda: c.share("waiter")["residence"] == "leaving")
        waiter.says(MOVES | AWAY, units(4), 0)
        until(lambda: c.share("waiter")["residence"] == "away")
        waiter.says(MOVES | RETURNING, units(4), 0)
        same(waiter.answer(5), (NO_ROOM, 1), f"it wants 40 more, and leaves and returns meanwhile: it is to ask again ({turn})")
        waiter.says(MOVES | USED, 0, units(4))
        until(lambda: c.share("waiter")["residence"] == "resident")
    same(c.share("waiter")["refused"], 0, "nothing was refused")
    ok(until(lambda: asks_again(waiter) and holder.must_leave(), 10), "the other one is asked to leave")
    holder.says(MOVES | LEAVING, 0, HELD)
    holder.says(MOVES | LEAVING, HELD, HELD)
    holder.holds(0)
    holder.says(MOVES | AWAY, HELD, 0)
    answers = []
    until(lambda: answers.append(asks_again(waiter)) or answers[-1] != (NO_ROOM, 1), 10)
    same(answers[-1], (OK, 0), "and the request has its room")
    holder.close()
    waiter.close()
    c.close()
    m.close()


def small_and_slow(rate):
    """A device of 16 MiB with short turns, whose memory leaves and returns at this rate."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write("memory: {turn: 0.1, turn_most: 0.5}\n")
        f.flush()
        return Meted("--soft-only", env={**ENV, "METE_SOFT_MEMORY": "16M", "METE_CONFIG": f.name, "METE_SOFT_COPY_RATE": rate})


def slow_return():
    """Two of 12 of 16 MiB: each needs 1.5 s to leave and 1.5 s to return, and turns grow to 0.5 s."""
    if SANITIZED:
        skip("returns that are longer than a turn", "a sanitized program computes for longer than a turn, and whose turn comes when is no matter of a sanitizer's")
        return
    m = small_and_slow("8M")
    c = m.control()
    judge = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "judge"), m.env)
    residers = {}
    for name in ("one", "two"):
        m.make(name, 14 * MIB, spill=True)
        residers[name] = Resider(m, name, 12 * MIB, 1 << 30, 1)
        residers[name].done(1)
    before = {name: (len(r.rounds()), c.grant(name)["moved"]["moves"]) for name, r in residers.items()}
    time.sleep(20)
    for name, r in residers.items():
        rounds, moves = len(r.rounds()) - before[name][0], c.grant(name)["moved"]["moves"] - before[name][1]
        ok(moves >= 2 and rounds >= 4 * moves, f"{name}: its return is longer than the longest turn, and it works: {rounds} rounds in {moves} stays")
    for r in residers.values():
        r.process.stdin.close()
    same([r.end() for r in residers.values()], [0, 0], "every word is what it has to be")
    ok(judge.most <= 16 * MIB, "never more was on the device than it has")
    judge.close()
    c.close()
    m.close()


def beside_a_return():
    """What is on its way back, for 3 s, can leave again: another one that needs the room waits for it, and is not refused."""
    m = small_and_slow("4M")
    c = m.control()
    for name in ("first", "second"):
        m.make(name, 14 * MIB, spill=True)
    first = Resider(m, "first", 12 * MIB, 1 << 30, 1)
    first.done(1)
    c.ask("grant_suspend", name="first")
    until(lambda: c.grant("first")["suspension"]["state"] == "away", 20)
    c.ask("grant_resume", name="first")
    ok(until(lambda: c.share("first")["residence"] == "returning", 20), "one returns")
    second = Resider(m, "second", 5 * MIB, 1 << 30, 1)
    ok(second.done(1, 60), "another one, which begins meanwhile, gets its memory", second.lines)
    for r in (first, second):  # their words would be compared at that rate
        os.killpg(r.process.pid, signal.SIGKILL)
    c.close()
    m.close()


def in_parts():
    """A block of 40 MiB takes more than a second each way. meted has to see that it comes on."""
    m = Meted("--soft-only", env={**ENV, "METE_SOFT_COPY_RATE": "32M"})
    c = m.control()
    m.make("large", 60 * MIB, spill=True)
    r = Resider(m, "large", 48 * MIB, 1)
    r.has("holds")
    for word, state, end in (("grant_suspend", "leaving", "away"), ("grant_resume", "returning", "none")):
        c.ask(word, name="large")
        told = set()
        while c.grant("large")["suspension"]["state"] != end:
            now = c.share("large")
            if now["residence"] == state:
                told.add(now["moved_pct"])
            time.sleep(0.01)
        told = [0, *sorted(told), 100]
        longest = max(b - a for a, b in zip(told, told[1:]))
        ok(longest <= 60, f"what is {state} is copied, and told of, in parts: the largest is {longest} % of it", told)
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    c.close()
    m.close()


SHARER = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, at = ctypes.c_void_p(), [ctypes.c_uint64() for _ in range(3)]
wrong = cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) or cuda.cuCtxSetCurrent(context)
for a in at:
    wrong = wrong or cuda.cuMemAlloc_v2(ctypes.byref(a), ctypes.c_size_t(9 << 20))
print("holds", wrong, flush=True)
for a in at[::-1]:
    sys.stdin.readline()
    print("freed", cuda.cuMemFree_v2(a), flush=True)
sys.stdin.readline()
"""


def freed():
    """Blocks of 9 MiB share a piece. What is freed at its end is not charged for long: other processes of the tenant may want it."""
    m = Meted("--soft-only", env={**ENV, "METE_SOFT_MEMORY": "512M"})
    c = m.control()
    m.make("sharer", 400 * MIB, spill=True)
    r = python_program(m, "sharer", SHARER)
    ok(r.has("holds 0"), "a program holds three blocks of 9 MiB", r.lines)
    held = c.share("sharer")["held_bytes"]
    ok(held <= 28 * MIB, f"for which {held / MIB:.0f} MiB are charged: it would be 30 if each had its own", held)
    r.go_on()
    ok(r.has("freed 0") and until(lambda: c.share("sharer")["held_bytes"] <= 20 * MIB, 10), "it frees one: less is charged", c.share("sharer"))
    for _ in range(3):
        r.go_on()
    r.process.wait(30)
    c.close()
    m.close()


ASKER = """
import ctypes, sys, threading
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
wrong = cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) or cuda.cuCtxSetCurrent(context)
held, asked = ctypes.c_uint64(), 0
wrong = wrong or cuda.cuMemAlloc_v2(ctypes.byref(held), ctypes.c_size_t(4 << 20))

def takes():
    at = ctypes.c_uint64()
    cuda.cuCtxSetCurrent(context)
    cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(40 << 20))

def asks():
    global asked
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    cuda.cuCtxSetCurrent(context)
    while True:
        cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        asked += 1

for what in [takes] * 16 + [asks]:
    threading.Thread(target=what, daemon=True).start()
print("holds", wrong, flush=True)
sys.stdin.readline()
print("asked", asked, flush=True)
"""


def beside(path):
    """A process of a tenant that does nothing. Value: its pid."""
    pid = os.fork()
    if not pid:
        here = Liar(path)
        while here:
            signal.pause()
    return pid


def behind_others():
    """16 threads of a program wait for room, and another one asks meted how much there is, as it has to with so many other processes beside it."""
    m = Meted("--soft-only", env=ENV)
    c = m.control()
    holder = Liar(m.make("holder", 60 * MIB, spill=True))
    path = m.make("asker", 60 * MIB, spill=True)
    others = [beside(path) for _ in range(PEERS_MOST + 1)]
    ok(until(lambda: len(c.grant("asker")["processes"]) == len(others)), "another one has many processes", c.grant("asker")["processes"])
    holder.says(MOVES | USED)
    holder.ask(HELD)
    same(holder.answer(5), (OK, 0), "one has 40 of 64 MiB, and does not leave")
    holder.holds(HELD)
    holder.says(MOVES | USED, 0, HELD)
    r = python_program(m, "asker", ASKER)
    ok(r.has("holds 0"), "a program waits for 40 more", r.lines)
    time.sleep(1)
    status, text = mete(m, "set", "asker", "--suspend", "--drain", "1")
    ok(not status and c.share("asker")["residence"] == "away", "it is suspended: none of its calls is in the way", text, c.share("asker"))
    c.ask("grant_resume", name="asker")
    r.process.kill()
    for pid in others:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    holder.close()
    c.close()
    m.close()


def begins():
    """The worker that waits for a client is stopped, so that a program's session does not come on."""
    m = Meted("--soft-only", env={**ENV, "METE_SOFT_CONTEXT_MEMORY": "3M"})
    c = m.control()
    m.make("wall", 40 * MIB, wall=True)
    until(lambda: workers_under(m.process.pid))
    time.sleep(PATIENCE)
    stopped = workers_under(m.process.pid)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    r = Resider(m, "wall", 8 * MIB, 1000000, 5, wall=True, spill=False)
    time.sleep(PATIENCE)
    answer = c.ask("grant_suspend", name="wall")
    time.sleep(0.3)
    same((answer["ok"], c.grant("wall")["suspension"]["state"]), (True, "leaving"), "a program is suspended whose session only begins: it is waited for")
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    ok(until(lambda: c.grant("wall")["suspension"]["state"] == "away", 20), "it leaves when its session has begun", c.grant("wall")["suspension"])
    c.ask("grant_resume", name="wall")
    ok(r.has("holds") and r.done(3), "and goes on", r.lines[-3:], c.grant("wall")["suspension"])
    r.process.stdin.close()
    same(r.end(), 0, "every word is what it has to be")
    c.close()
    m.close()


def bound():
    """What a worker shares with its client lies where no other worker could have it."""
    with tempfile.TemporaryDirectory(prefix="mete-t-") as folder:
        m = Meted("--soft-only", env={**ENV, "METE_LIBDIR": wrong_libdir(folder), "METE_TEST_NO_PLACE": "1"})
        del m.env["METE_LIBDIR"]  # of the workers alone
        c = m.control()
        m.make("wall", 40 * MIB, wall=True)
        r = Resider(m, "wall", 8 * MIB, 1000000, 5, wall=True, spill=False)
        ok(r.has("holds"), "a program runs behind the wall", r.lines)
        status, text = mete(m, "set", "wall", "--suspend")
        ok(status == 1 and "no other worker could have" in text and "older release" not in text and "\n" not in text,
           "it cannot move, and that is said for what it is", status, text)
        done = len(r.rounds())
        ok(r.done(done + 3), "it goes on", r.lines[-3:])
        r.process.stdin.close()
        same(r.end(), 0, "every word is what it has to be")
        c.close()
        m.close()


for what in (over_a_return, in_parts, behind_others, begins, bound, freed, beside_a_return, slow_return):
    if what.__name__ in (sys.argv[2:] or [what.__name__]):
        what()
finish()
