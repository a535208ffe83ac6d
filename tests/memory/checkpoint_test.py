"""
Programs of a grant without --spill, which the driver itself takes off the device: contexts, arrays, pools and all. They come back with
the same bits, whatever is killed on the way. METE_TEST_LONG=1 does some hundreds of kills. The judge is the device's own count.

walled: the same of the workers of a walled grant, on a device whose next worker does not get the addresses of the one before it. moved: those
go to another device.

checkpoint_test.py BUILD [walled|moved]
"""
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import METE, MIB, Resider, fall, mete  # noqa: E402
from device import Device  # noqa: E402
from harness import BUILD, Meted, finish, ok, same, until  # noqa: E402

SIZE, QUOTA = 24 * MIB, 40 * MIB
WALL, MOVED = len(sys.argv) > 2, sys.argv[2:] == ["moved"]
FOLDER = tempfile.TemporaryDirectory()
FAULTS = os.path.join(FOLDER.name, "faults")
# Workers that wait for a client have contexts, too, which the device's count would have beside those of the grant.
ENV = {"METE_SOFT_DEVICES": "2", "METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "0" if WALL else "1M", "METE_SOFT_CHECKPOINT": "1",
       "METE_SOFT_CHECKPOINT_FAULTS": FAULTS, **({"METE_SOFT_ADDRESSES": "any"} if WALL else {})}
CONTEXT = 0 if WALL else MIB
METED, DRIVER = os.path.join(BUILD, "src/daemon/meted"), os.path.join(BUILD, "src/softdev/libcuda.so.1")
HOLDER = os.path.join(BUILD, "tests/memory/holder")
TIMES = 200 if os.environ.get("METE_TEST_LONG") else 3 if os.environ.get("METE_TEST_SANITIZED") else 6
SEED = int(os.environ.get("METE_TEST_SEED", random.randrange(1 << 30)))


def share(c, name="plain"):
    return c.grant(name)["devices"][0]


def begin(m, program, *mode, **more):
    r = (Resider(m, "plain", SIZE, *mode, spill=False, wall=WALL, **more) if not program else
         Resider(m, "plain", program, None, spill=False, wall=WALL, program=HOLDER))
    r.has("holds")
    return r


def comes_and_goes(m, c, judge):
    r = begin(m, None, 4)
    before = share(c)["held_bytes"]
    ok(judge.used() == before >= SIZE + CONTEXT, "it holds its memory and a context", before, judge.used())
    for turn in range(3):
        status, text = mete(m, "set", "plain", "--suspend")
        s = share(c)
        ok(not status and (s["residence"], s["held_bytes"], s["away_bytes"]) == ("away", 0, before) and not judge.used(),
           "suspended: nothing of it is on the device, and its context neither", text, s, judge.used())
        ok("away" in mete(m, "ps", "--wide")[1], "mete ps says so")
        r.go_on()
        ok(not r.done(turn + 1, 0.3), "its program waits")
        status, text = mete(m, "set", "plain", "--resume")
        ok(not status and share(c)["held_bytes"] == before == judge.used(), "resumed: it holds what it held", text, share(c), judge.used())
        ok(r.done(turn + 1), "and goes on", r.lines)
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    moved = c.grant("plain")["moved"]
    ok(moved["moves"] == 3 and moved["out_bytes"] == moved["in_bytes"] == 3 * before, "what has moved is counted", moved)


def everything_moves(m, c, judge):
    r = begin(m, "many")
    for turn in range(4):
        r.go_on()
        ok(r.done(turn + 1), f"contexts, events, pools, graphs: round {turn + 1}", r.lines)
        mete(m, "set", "plain", "--suspend")
        ok(not judge.used(), "nothing is left on the device")
        mete(m, "set", "plain", "--resume")
    r.process.stdin.close()
    ok(r.end() == 0, "every result is what it has to be", r.lines)
    for kind in ("array", "variable", "managed", "graph"):
        r = begin(m, kind)
        status, text = mete(m, "set", "plain", "--suspend")
        ok(not status and not judge.used(), f"one that holds a {kind} leaves", text, judge.used())
        status, text = mete(m, "set", "plain", "--resume")
        r.process.stdin.close()
        same(r.end(), 0, "and returns")


def refusals(m, c, judge):
    status, text = mete(m, "set", "plain", "--suspend")
    if not WALL:
        ok(status == 1 and "--spill" in text and text.count("\n") == 0, "a grant without programs: one line", status, text)
    c.ask("grant_resume", name="plain")
    r = begin(m, None, 3, "endless")
    r.go_on()
    r.has("hangs")
    status, text = mete(m, "set", "plain", "--suspend", "--drain", "1")
    ok(status == 1 and "did not end in time" in text and text.count("\n") == 0, "work that does not end: one line", status, text)
    ok(share(c)["held_bytes"] == judge.used() and until(lambda: not c.grant("plain")["suspended"]), "and the tenant is as it was", share(c))
    r.go_on()
    r.go_on()
    ok(r.done(2), "its program goes on", r.lines)
    status, text = mete(m, "set", "plain", "--suspend")
    ok(not status, "when its work has ended it can be suspended", text)
    r.go_on()
    mete(m, "set", "plain", "--resume")
    same(r.end(), 0, "every word is what it has to be")
    if WALL:
        return
    m.env["METE_SOFT_CHECKPOINT"] = "0"
    r = begin(m, None, 1)
    status, text = mete(m, "set", "plain", "--suspend")
    ok(status == 1 and "cannot checkpoint" in text and text.count("\n") == 0, "a driver that cannot: one line", status, text)
    r.go_on()
    same(r.end(), 0, "and its program goes on")
    m.env["METE_SOFT_CHECKPOINT"] = "1"


def others_have_the_room(m, c, judge):
    r = begin(m, None, 2)
    mete(m, "set", "plain", "--suspend")
    m.make("chance", 60 * MIB, spill=True)
    chance = Resider(m, "chance", 50 * MIB, 1000, 5)
    ok(chance.done(2), "another tenant uses the room meanwhile", chance.lines)
    status, text = mete(m, "set", "plain", "--resume", "--now")
    ok(status == 1 and "has no room" in text and text.count("\n") == 0, "--resume --now fails in one line", status, text)
    ok(share(c)["residence"] == "away", "and it stays away")
    mete(m, "set", "plain", "--resume")
    ok(until(lambda: share(c).get("residence", "resident") == "resident" and not c.grant("plain")["suspended"], 30), "--resume: the other one leaves for it", share(c))
    r.go_on()
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    ok(judge.most <= 64 * MIB, "never more was on the device than it has")
    chance.process.stdin.close()
    same(chance.end(), 0, "the other one as well")
    c.ask("grant_delete", name="chance")


def children(m):
    """meted's own that ask a driver."""
    with open(f"/proc/{m.process.pid}/task/{m.process.pid}/children", encoding="utf-8") as f:
        return [int(pid) for pid in f.read().split() if b"--checkpoint" in command_line(pid)]


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read()
    except OSError:
        return b""


def another_has_its_number(m, c, judge):
    """The process that meted means has ended, and its number is another's: nothing becomes of that one."""
    r = begin(m, None, 1)
    pid, used = c.grant("plain")["processes"][0]["pid"], judge.used()
    gone = subprocess.Popen(["sleep", "1000"])
    pidfd = os.pidfd_open(gone.pid)
    gone.kill()
    gone.wait()
    for verb in ("save", "restore"):
        child = subprocess.run(["sh", "-c", 'exec "$@" 3<&"$0"', str(pidfd), METED, "--checkpoint", DRIVER, verb, str(pid), "1000", ""],
                               env=m.env, pass_fds=[pidfd], capture_output=True, text=True, timeout=60)
        ok(child.returncode == 4, f"{verb}: the process has ended", child.returncode, child.stdout, child.stderr)
    os.close(pidfd)
    same(judge.used(), used, "and the one that has its number keeps its memory")
    r.go_on()
    same(r.end(), 0, "and goes on")


def never_suspended(m, c):
    m.make("never", MIB)
    status, text = mete(m, "set", "never", "--resume", patience=30)
    same((status, text), (0, "never: device 0: resident, 0 B away, 0 B on the device"), "what was never suspended is resumed at once")
    c.ask("grant_delete", name="never")


def meted_leaves(m, c, judge):
    """A program that is stopped holds up the child that asks the driver, and nobody else."""
    r = begin(m, None, 1)
    pid = c.grant("plain")["processes"][0]["pid"]
    os.kill(pid, signal.SIGSTOP)
    c.ask("grant_suspend", name="plain")
    ok(until(lambda: children(m)), "a child asks the driver")
    c.close()
    r.process.send_signal(signal.SIGSTOP)  # else `mete run` may start a meted in the place of the one that leaves
    m.process.send_signal(signal.SIGTERM)
    try:
        same(m.process.wait(20), 0, "meted leaves all the same")
    except subprocess.TimeoutExpired:
        ok(False, "meted leaves all the same")
        m.process.kill()
        m.process.wait()
    os.kill(pid, signal.SIGCONT)
    m.start()
    r.process.send_signal(signal.SIGCONT)
    c = m.control()
    # The child that goes on alone may be at it as well: then the driver refuses one of the two, and it stays as it was.
    ok(until(lambda: share(c).get("residence") == "away" or "stays on the device" in str(c.grant("plain")["events"][-3:]), 30),
       "the next one takes the program off its device, or leaves it as it was", c.grant("plain"))
    p = subprocess.run([METE, "set", "plain", "--resume"], env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=60)
    ok(p.returncode == 0 or "it goes on as before" in p.stderr, "and is told to bring it back", p.returncode, p.stdout, p.stderr)
    r.go_on()
    same(r.end(), 0, "and brings it back as it was")
    return c


def client(r):
    """The program behind the wall, which `mete run` has started."""
    with open(f"/proc/{r.process.pid}/task/{r.process.pid}/children", encoding="utf-8") as f:
        return next(int(pid) for pid in f.read().split() if b"resider" in command_line(pid))


class Killer:
    def __init__(self, m, c, judge):
        self.m, self.c, self.judge, self.where = m, c, judge, {}

    def once(self, random_):
        what, returning = random_.choice(("meted", "program", "child", *(["client"] if WALL else []))), random_.random() < 0.5
        r = begin(self.m, None, 2, "exit")
        self.c.ask("grant_suspend", name="plain")
        if returning:
            until(lambda: share(self.c).get("residence") == "away", 20)
            self.c.ask("grant_resume", name="plain")
        time.sleep(random_.random() * 0.08)
        state = self.state()
        self.where[state] = self.where.get(state, 0) + 1
        if what == "program":
            os.kill(self.c.grant("plain")["processes"][0]["pid"], signal.SIGKILL)
            r.process.stdin.close()
            r.process.wait(30)
        elif what == "client":
            os.kill(client(r), signal.SIGKILL)
            r.process.stdin.close()
            r.process.wait(30)
        elif what == "child":
            self.kill_child()
        else:
            self.c.close()
            fall(self.m)
            self.c = self.m.control()
            until(lambda: self.c.grant("plain")["processes"], 20)
        if what in ("program", "client"):
            if not until(lambda: not self.c.grant("plain")["processes"] and not self.judge.used(), 20):
                return f"{self.judge.used()} bytes are left: {share(self.c)}"
            self.c.ask("grant_resume", name="plain")
            until(lambda: self.state() in ("none", "refused"), 20)
            return None
        until(lambda: self.state() in ("away", "none", "refused"), 20)
        self.c.ask("grant_resume", name="plain")
        try:
            for _ in range(2):
                r.go_on()
        except BrokenPipeError:
            return f"after {what}: the program has ended ({r.process.wait(30)}): {r.lines}"
        wrong = r.end(60)
        if wrong != 0 or not r.stays_in_place():
            return f"after {what}: {wrong} words are wrong: {r.lines} {self.c.grant('plain')}"
        return None if until(lambda: not self.judge.used(), 20) else f"after {what}: {self.judge.used()} bytes are left"

    def state(self):
        return self.c.grant("plain").get("suspension", {}).get("state", "none")

    def kill_child(self):
        for pid in children(self.m):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def faults(*lines):
    with open(FAULTS + ".new", "w", encoding="utf-8") as f:
        f.write("".join(line + "\n" for line in lines))
    os.replace(FAULTS + ".new", FAULTS)


def refused(m, c, judge, lines, part):
    """The driver cannot, in one of the calls that save: one line, and nothing has changed."""
    r = begin(m, None, 2)
    r.go_on()
    r.done(1)
    faults(*lines)
    status, text = mete(m, "set", "plain", "--suspend")
    faults()
    ok(status == 1 and part in text and "\n" not in text, f"{lines}: one line", status, text)
    ok(not WALL or "without --wall" in text, "which names what helps behind a wall", text)
    ok(until(lambda: not c.grant("plain")["suspended"], 30) and share(c)["held_bytes"] == judge.used() >= SIZE, "the tenant is as it was", share(c), judge.used())
    r.go_on()
    same(r.end(), 0, "and goes on")


def fails_to_return(m, c, judge, line, part):
    """The driver cannot, in one of the calls that restore: it stays away, it is said why, and it is tried again."""
    r = begin(m, None, 2)
    r.go_on()
    r.done(1)
    mete(m, "set", "plain", "--suspend")
    faults(line)
    c.ask("grant_resume", name="plain")
    ok(until(lambda: part in (c.grant("plain")["suspension"]["why"] or ""), 30), f"{line}: why it does not return", c.grant("plain")["suspension"])
    r.go_on()
    ok(not r.done(2, 0.3) and c.grant("plain")["suspended"], "its program waits", r.lines)
    faults()
    ok(until(lambda: not c.grant("plain")["suspended"], 30), "it returns when the driver can", c.grant("plain")["suspension"])
    ok(r.done(2), "and goes on", r.lines)
    same(r.end(), 0, "every word is what it has to be")


def the_driver_fails(m, c, judge):
    refused(m, c, judge, ["GetState 801"], "CUDA_ERROR_NOT_SUPPORTED")
    refused(m, c, judge, ["Lock 801"], "CUDA_ERROR_NOT_SUPPORTED to the lock")
    refused(m, c, judge, ["Checkpoint 801"], "CUDA_ERROR_NOT_SUPPORTED to the checkpoint")
    fails_to_return(m, c, judge, "Restore 2", "waits: the device has no room")
    fails_to_return(m, c, judge, "Restore 304", "CUDA_ERROR_OPERATING_SYSTEM to the restore; it is tried again")
    fails_to_return(m, c, judge, "Unlock 999", "CUDA_ERROR_UNKNOWN to the unlock; it is tried again")
    fails_to_return(m, c, judge, "GetState 304", "CUDA_ERROR_OPERATING_SYSTEM to the question")
    # Locked, and neither saved nor unlocked: it is unlocked as soon as the driver can.
    r = begin(m, None, 1)
    faults("Checkpoint 999", "Unlock 999")
    status, text = mete(m, "set", "plain", "--suspend")
    # The unlock is tried again and again, and may have failed once more before the answer.
    ok(status == 1 and re.search("CUDA_ERROR_UNKNOWN to the (checkpoint|unlock)", text), "neither the checkpoint nor the unlock", status, text)
    faults()
    r.go_on()
    same(r.end(), 0, "its program goes on when the driver can")
    until(lambda: not c.grant("plain")["suspended"], 30)
    # What the driver's documentation does not promise: a process after a failed checkpoint.
    r = begin(m, None, 1)
    faults("Checkpoint 999 failed")
    status, text = mete(m, "set", "plain", "--suspend")
    faults()
    ok(status == 1 and "its program cannot go on, end it" in text and "\n" not in text, "a checkpoint that fails halfway: one line says so", status, text)
    ok(share(c)["held_bytes"] == judge.used() >= SIZE, "and its memory is charged as long as it lives", share(c), judge.used())
    os.kill(c.grant("plain")["processes"][0]["pid"], signal.SIGKILL)
    r.process.stdin.close()
    r.process.wait(30)
    ok(until(lambda: not c.grant("plain")["processes"] and not judge.used(), 20), "nothing is left of it", share(c), judge.used())


def shared(m, c, judge):
    """Memory that other processes can open: refused beforehand. Behind a wall there is none; a program beside it may have some."""
    r = Resider(m, "plain", "shared", None, spill=False, program=HOLDER)
    ok(r.has("holds") and "shared 0" in r.lines, "a program shares memory", r.lines)
    status, text = mete(m, "set", "plain", "--suspend")
    ok(status == 1 and "other processes can open" in text and "\n" not in text, "memory that others can open: refused in one line", status, text)
    r.process.stdin.close()
    same(r.end(), 0, "its program goes on")


def several(m, c, judge):
    """All programs of the grant, or none."""
    m.make("several", 24 * MIB, wall=WALL)
    rs = [Resider(m, "several", 5 * MIB, 2, *mode, spill=False, wall=WALL) for mode in ((), (), ("endless",))]
    for r in rs:
        ok(r.has("holds"), "it runs", r.lines)
    before = share(c, "several")["held_bytes"]
    status, text = mete(m, "set", "several", "--suspend")
    ok(not status and not judge.used() and share(c, "several")["away_bytes"] == before, "three programs leave together", text, share(c, "several"))
    mete(m, "set", "several", "--resume")
    for r in rs:
        r.go_on()
    rs[2].has("hangs")
    ok(rs[0].done(1) and rs[1].done(1), "and return", rs[0].lines, rs[1].lines)
    status, text = mete(m, "set", "several", "--suspend", "--drain", "1")
    ok(status == 1 and "did not end in time" in text and "without --wall" not in text, "one of them does not leave: one line", status, text)
    ok(until(lambda: not c.grant("several")["suspended"], 30) and share(c, "several")["held_bytes"] == before == judge.used(), "and none has left",
       share(c, "several"), judge.used())
    rs[2].go_on()
    for r in rs:
        r.go_on()
        same(r.end(), 0, "every word is what it has to be")
    until(lambda: not c.grant("several")["processes"])
    c.ask("grant_delete", name="several")


def waiting(c, name):
    return c.grant(name)["suspension"]["waiting"]


def begins_while_away(m, c, judge):
    """Behind a wall, who begins while the grant is suspended waits, as where workers are replaced; so does who begins beside it."""
    r = begin(m, None, 1)
    mete(m, "set", "plain", "--suspend")
    late = [Resider(m, "plain", MIB, 1, spill=False, wall=wall) for wall in (True, False)]
    ok(until(lambda: len(waiting(c, "plain")) == 2, 20) and not any(one.lines for one in late), "who begins meanwhile waits, behind the wall and beside it",
       c.grant("plain")["suspension"])
    text = mete(m, "ps", "--wide")[1]
    ok("wait for `mete set plain --resume`" in text, "mete ps says who waits, and for what", text)
    status, text = mete(m, "set", "plain", "--resume")
    ok(not status and not waiting(c, "plain"), "resumed", text, c.grant("plain")["suspension"])
    for one in (*late, r):
        ok(one.has("holds"), "it begins", one.lines)
        one.go_on()
        same(one.end(), 0, "and every word is what it has to be")
    until(lambda: not c.grant("plain")["processes"])


def begins_as_it_leaves(m, c, judge):
    """Asked while a program begins: it leaves with the others, or waits, and nothing of it is on the device."""
    random_ = random.Random(SEED)
    for _ in range(6):
        r = Resider(m, "plain", SIZE, 1, spill=False, wall=True)
        time.sleep(random_.random() * 0.5)
        status, text = mete(m, "set", "plain", "--suspend")
        time.sleep(0.2)
        seen = share(c), judge.used(), c.grant("plain")["suspension"], len(r.rounds())
        ok(not status and not seen[1] and not seen[0]["held_bytes"], "suspended while a program begins: nothing is on the device", text, *seen)
        status, text = mete(m, "set", "plain", "--resume")
        ok(not status and r.has("holds"), "resumed: it runs", status, text, r.lines)
        r.go_on()
        same(r.end(), 0, "every word is what it has to be")
        until(lambda: not c.grant("plain")["processes"])


def nobody_runs(m, c, judge):
    """A walled grant without a program is suspended: the next one waits."""
    status, text = mete(m, "set", "plain", "--suspend")
    ok(not status and c.grant("plain")["suspended"], "a walled grant without programs is suspended", status, text)
    r = Resider(m, "plain", SIZE, 1, spill=False, wall=True)
    ok(until(lambda: len(waiting(c, "plain")) == 1, 20) and not judge.used(), "its next program waits", c.grant("plain")["suspension"])
    mete(m, "set", "plain", "--resume")
    ok(r.has("holds"), "until it is resumed", r.lines)
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")


def upgraded(m, c, judge):
    """meted is upgraded while it is away, and while it leaves."""
    r = begin(m, None, 2)
    before = share(c)["held_bytes"]
    c.ask("grant_suspend", name="plain")
    for state in ("leaves", "is away"):
        answer = c.ask("upgrade")
        c.close()
        c = m.control()
        ok(answer["ok"] and until(lambda: share(c).get("residence") == "away", 30), f"meted is upgraded while it {state}: it is away", answer, c.grant("plain"))
        ok(not judge.used() and share(c)["away_bytes"] == before and not share(c)["held_bytes"], "and charged nothing", share(c), judge.used())
    r.go_on()
    ok(not r.done(1, 0.3), "its program waits")
    status, text = mete(m, "set", "plain", "--resume")
    ok(not status and r.done(1) and share(c)["held_bytes"] == before == judge.used(), "the next meted brings it back", status, text, share(c), judge.used())
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    return c


def goes_to_another_device(m, c, judge, other):
    """The driver brings it back on another device: nothing of it is left on the first one, and its program sees one long call."""
    rs = [Resider(m, "plain", 6 * MIB, 1000, 5, spill=False, wall=True) for _ in range(3)]
    for r in rs:
        ok(r.has("holds") and r.done(1), "it runs on device 0", r.lines)
    before = share(c)["held_bytes"]
    for device in (1, 0, 1, 0):
        status, text = mete(m, "move", "plain", "--device", str(device))
        s, done = share(c), [len(r.rounds()) for r in rs]
        ok(not status and (s["index"], s["held_bytes"], s.get("residence", "resident")) == (device, before, "resident"), f"moved: all three are on device {device}",
           status, text, s)
        ok(((judge.used(), other.used()) if not device else (other.used(), judge.used())) == (before, 0), "the device's own count says so", judge.used(), other.used())
        ok(all(r.done(n + 1) for r, n in zip(rs, done)), "and their programs go on", *[r.lines[-1:] for r in rs])
    for r in rs:
        same(r.stop(), 0, "every word is what it has to be")
        ok(r.stays_in_place(), "all addresses stayed")
    until(lambda: not c.grant("plain")["processes"])


def does_not_go(m, c, judge, other):
    """The driver does not bring it back there: it goes back to where it was."""
    r = begin(m, None, 2)
    before = share(c)["held_bytes"]
    faults("Restore 801")
    status, text = mete(m, "move", "plain", "--device", "1")
    ok(status == 1 and "CUDA_ERROR_NOT_SUPPORTED to the restore" in text and "\n" not in text, "a driver that cannot: one line", status, text)
    faults()
    ok(until(lambda: not c.grant("plain")["suspended"], 30) and share(c)["index"] == 0 and share(c)["held_bytes"] == judge.used() == before and not other.used(),
       "it is where it was", c.grant("plain"), judge.used(), other.used())
    r.go_on()
    ok(r.done(1), "and goes on", r.lines)
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")


def killed_on_the_way(m, c, judge, other):
    """meted is killed while it goes to another device: it is suspended, and returns on the device that the grant has then."""
    random_, where = random.Random(SEED), {}
    for _ in range(TIMES // 2 + 1):
        r = begin(m, None, 2)
        before = share(c)["index"]
        c.ask("grant_move", name="plain", device=str(1 - before))
        if random_.random() < 0.6:
            until(lambda: c.grant("plain")["suspension"]["state"] in ("returning", "none"), 20)
        time.sleep(random_.random() * 0.08)
        state = c.grant("plain")["suspension"]["state"]
        c.close()
        fall(m)
        c = m.control()
        until(lambda: c.grant("plain")["processes"], 20)
        until(lambda: share(c).get("residence", "resident") in ("away", "resident"), 30)
        if c.grant("plain")["suspended"]:
            c.ask("grant_resume", name="plain")
        good = until(lambda: not c.grant("plain")["suspended"], 30)
        s = share(c)
        where[state, s["index"] == before] = where.get((state, s["index"] == before), 0) + 1
        ok(good and [judge.used(), other.used()][s["index"]] == s["held_bytes"] >= SIZE and not [judge.used(), other.used()][1 - s["index"]],
           f"killed while {state}: its memory is on the device that its grant has", s, judge.used(), other.used())
        for _ in range(2):
            r.go_on()
        same(r.end(), 0, "every word is what it has to be")
        until(lambda: not c.grant("plain")["processes"])
    print(f"# killed: {where}")
    if share(c)["index"]:
        r = begin(m, None, 1)
        mete(m, "move", "plain", "--device", "0")
        r.go_on()
        same(r.end(), 0, "back on device 0")
    return c


def drained(m, c, judge, other):
    """`mete drain` sends it to the other device; a suspended one goes there when it is resumed."""
    r = begin(m, None, 3)
    status, text = mete(m, "drain", "soft:0")
    back = until(lambda: not c.grant("plain")["suspended"], 30)
    ok(not status and back and share(c)["index"] == 1 and other.used() == share(c)["held_bytes"] and not judge.used(), "its device is drained: it goes to the other one", status, text, share(c))
    r.go_on()
    ok(r.done(1), "and goes on", r.lines)
    mete(m, "uncordon", "soft:0")
    mete(m, "set", "plain", "--suspend")
    status, text = mete(m, "drain", "soft:1")
    ok(not status and share(c)["residence"] == "away", "a suspended one does not hold up a drain", status, text, share(c))
    status, text = mete(m, "set", "plain", "--resume")
    ok(not status and share(c)["index"] == 0 and judge.used() == share(c)["held_bytes"] and not other.used(), "it returns on the other device", status, text, share(c))
    mete(m, "uncordon", "soft:1")
    for _ in range(2):
        r.go_on()
    same(r.end(), 0, "every word is what it has to be")


def older_driver():
    """Of CUDA 12.9: suspended and resumed, also by another meted; to another device it does not go, and nothing has moved."""
    m = Meted("--soft-only", env={**ENV, "METE_SOFT_DRIVER_VERSION": "12.9"})
    c = m.control()
    m.make("plain", QUOTA, wall=True)
    r = begin(m, None, 2)
    status, text = mete(m, "move", "plain", "--device", "1")
    ok(status == 1 and "CUDA 13.0" in text and "\n" not in text, "a driver of CUDA 12.9: refused in one line", status, text)
    ok(until(lambda: not c.grant("plain")["suspended"], 20) and share(c)["index"] == 0, "it is as it was", c.grant("plain"))
    r.go_on()
    ok(r.done(1), "and goes on", r.lines)
    mete(m, "set", "plain", "--suspend")
    c.close()
    fall(m)
    c = m.control()
    until(lambda: share(c).get("residence") == "away", 30)
    status, text = mete(m, "set", "plain", "--resume")
    ok(not status, "another meted resumes it", status, text)
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    c.close()
    m.close()


def can_look_into(m, c):
    """Whether this meted may ask the driver for a worker: where it may not, that is what is said."""
    r = begin(m, None, 1)
    pid = c.grant("plain")["processes"][0]["pid"]
    try:
        os.listdir(f"/proc/{pid}/fd")
        can = True
    except PermissionError:
        can = False
    if not can:
        status, text = mete(m, "set", "plain", "--suspend")
        ok(status == 1 and "CAP_SYS_PTRACE" in text and "\n" not in text, "meted may not look into its worker: one line says so", status, text)
    r.go_on()
    same(r.end(), 0, "its program goes on")
    return can


def no_room_in_the_host():
    """What leaves is kept in the worker's memory, and counts as what leaves in other ways does."""
    config = os.path.join(FOLDER.name, "meted.yaml")
    with open(config, "w", encoding="utf-8") as f:
        f.write("memory: {pool: 8M}\n")
    m = Meted("--soft-only", env={**ENV, "METE_CONFIG": config})
    c = m.control()
    m.make("plain", QUOTA, wall=True)
    r = begin(m, None, 1)
    status, text = mete(m, "set", "plain", "--suspend")
    ok(status == 1 and "the host has no room for its 24" in text and "8 MiB are left" in text and "\n" not in text, "no room in the host: refused in one line", status, text)
    ok(share(c)["held_bytes"] >= SIZE and not c.grant("plain")["suspended"], "and it is as it was", share(c))
    r.go_on()
    same(r.end(), 0, "its program goes on")
    c.close()
    m.close()


m = Meted("--soft-only", env=ENV)
c = m.control()
judge = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "judge"), m.env)
other = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "other"), m.env, 1) if MOVED else None
m.make("plain", QUOTA, wall=WALL)
if WALL and not can_look_into(m, c):
    print("# the rest needs CAP_SYS_PTRACE")
    judge.close()
    m.close()
    finish()
print(f"# METE_TEST_SEED={SEED}")
if MOVED:
    goes_to_another_device(m, c, judge, other)
    drained(m, c, judge, other)
    does_not_go(m, c, judge, other)
    c = killed_on_the_way(m, c, judge, other)
    judge.close()
    other.close()
    c.close()
    m.close()
    older_driver()
    finish()
comes_and_goes(m, c, judge)
everything_moves(m, c, judge)
refusals(m, c, judge)
the_driver_fails(m, c, judge)
shared(m, c, judge)
several(m, c, judge)
others_have_the_room(m, c, judge)
if WALL:
    begins_while_away(m, c, judge)
    nobody_runs(m, c, judge)
    begins_as_it_leaves(m, c, judge)
    no_room_in_the_host()
else:
    another_has_its_number(m, c, judge)
never_suspended(m, c)
c = upgraded(m, c, judge)
c = meted_leaves(m, c, judge)
killer, random_ = Killer(m, c, judge), random.Random(SEED)
faults = [f for f in (killer.once(random_) for _ in range(TIMES)) if f]
ok(not faults, f"killed {TIMES} times ({killer.where}): accounts exact, the memory of who lives as it was", *faults[:5])
judge.close()
killer.c.close()
m.close()
finish()
