"""
A tenant's memory leaves its device and returns, and its program has the same bits at the same addresses. What cannot leave
is refused in one line, and stays as it was. The judge is the device's own count: suspend_test.py BUILD
"""
import os
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from memory import MIB, Resider, mete  # noqa: E402
from device import Device  # noqa: E402
from harness import BUILD, SANITIZED, Meted, finish, ok, same, until  # noqa: E402

CROWDER = os.path.join(BUILD, "tests/memory/crowder")
ORDERER = os.path.join(BUILD, "tests/memory/orderer")
SIZE, QUOTA = 24 * MIB, 40 * MIB
ENV = {"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "64M", "METE_SOFT_CONTEXT_MEMORY": "0"}


def share(c, name):
    return c.grant(name)["devices"][0]


def comes_and_goes(m, c, judge, wall, ordered=False):
    name = "ordered" if ordered else "wall" if wall else "local"
    m.make(name, QUOTA, spill=True, wall=wall)
    r = Resider(m, name, SIZE, 6, wall=wall, ordered=ordered)
    ok(r.has("holds"), f"{name}: it runs", r.lines)
    r.go_on()
    r.done(1)
    before = share(c, name)
    ok(before["residence"] == "resident" and SIZE <= before["held_bytes"] <= SIZE * 1.1 + 2 * MIB and before["held_bytes"] == judge.used(),
       f"{name}: it holds its memory, and what packing takes ({before['held_bytes'] / SIZE:.3f} times)", before, judge.used())
    for turn in range(3):
        status, text = mete(m, "set", name, "--suspend")
        away = share(c, name)
        ok(not status and away["residence"] == "away" and not away["held_bytes"] and not judge.used(),
           f"{name}: suspended, nothing of it is on the device", text, away, judge.used())
        ok(away["away_bytes"] == before["movable_bytes"], f"{name}: all that could leave is away")
        r.go_on()
        ok(not r.done(turn + 2, 0.3), f"{name}: its program waits")
        status, text = mete(m, "set", name, "--resume")
        ok(not status and share(c, name)["residence"] == "resident" and judge.used() == before["held_bytes"],
           f"{name}: resumed", text, share(c, name))
        ok(r.done(turn + 2), f"{name}: and its program goes on", r.lines)
    for _ in range(2):
        r.go_on()
    same(r.end(), 0, f"{name}: every word is what it has to be")
    ok(r.stays_in_place(), f"{name}: all addresses stayed")
    until(lambda: not c.grant(name)["processes"])
    ok(not judge.used(), f"{name}: nothing is left")


def in_order(m):
    """Memory that was freed behind work in flight is given to nobody but who comes behind that work."""
    r = Resider(m, "ordered", SIZE, 1, program=ORDERER)
    ok(r.has("hangs"), "stream-ordered memory is freed behind a kernel that runs", r.lines)
    time.sleep(0.2)  # the mover looks at what is freed, too
    r.go_on()
    same(r.end(), 0, "only its own stream gets it before, another one afterwards")


def many_contexts(m):
    """Work in any of a program's contexts keeps its memory where it is, however many it has."""
    r = Resider(m, "local", program=CROWDER, size=None, rounds=None)
    for i in range(4):
        ok(until(lambda n=i: r.lines.count("hangs") > n, 60), "a kernel runs in one of 200 contexts", r.lines)
        status, text = mete(m, "set", "local", "--suspend", "--drain", "1")
        ok(status == 1 and "did not end in time" in text, "its program's memory does not leave", status, text)
        mete(m, "set", "local", "--resume")
        r.go_on()
        ok(r.done(i + 1), "it ends", r.lines)
    same(r.end(), 0, "every word is what it has to be")


def begins_suspended(m, c, judge):
    status, text = mete(m, "set", "local", "--suspend")
    ok(not status, "a grant without programs is suspended", text)
    r = Resider(m, "local", SIZE, 1, 0)
    ok(not r.has("holds", 0.5) and not judge.used(), "a program that begins under it waits", r.lines)
    ok("(suspended, 0 B away)" in mete(m, "ps", "--wide")[1] and "suspended: its programs wait for" in mete(m, "show", "local")[1],
       "mete ps and mete show say so", mete(m, "ps", "--wide"), mete(m, "show", "local"))
    mete(m, "set", "local", "--resume")
    same(r.end(), 0, "and goes on when it is resumed")


def work_that_never_ends(m, c):
    r = Resider(m, "local", SIZE, 3, "endless")
    r.has("holds")
    r.go_on()
    r.has("hangs")
    status, text = mete(m, "set", "local", "--suspend", "--drain", "1")
    ok(status == 1 and "did not end in time" in text and text.count("\n") == 0, "work that does not end: refused in one line", status, text)
    s = share(c, "local")
    ok(s["residence"] == "resident" and s["held_bytes"] >= SIZE and not c.grant("local")["suspended"], "and the tenant is as it was", s)
    ok("local: stays on its device: pid" in mete(m, "ps")[1], "mete ps says why it has stayed", mete(m, "ps"))
    status, text = mete(m, "set", "local", "--resume")
    ok(not status and "resident" in text and "in time" not in mete(m, "ps")[1], "--resume of one that has stayed is no error", status, text, mete(m, "ps"))
    r.go_on()
    r.go_on()
    ok(r.done(2), "its program goes on", r.lines)
    status, text = mete(m, "set", "local", "--suspend")
    ok(not status, "when its work has ended it can be suspended", text)
    mete(m, "set", "local", "--resume")
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")


def full_device(m, c, judge):
    r = Resider(m, "local", SIZE, 2)
    r.has("holds")
    mete(m, "set", "local", "--suspend")
    m.make("other", 48 * MIB)
    other = Resider(m, "other", 46 * MIB, 1)
    ok(other.has("holds"), "another tenant has the room now", other.lines)
    status, text = mete(m, "set", "local", "--resume", "--now")
    ok(status == 1 and "has room for" in text and text.count("\n") == 0, "--resume --now fails in one line", status, text)
    ok(c.grant("local")["suspended"] and share(c, "local")["residence"] == "away", "and it stays away")
    status, text = mete(m, "set", "local", "--resume")
    ok(not status and "waits: the device has no room" in text, "--resume waits, and says why", status, text)
    ok("waits" in mete(m, "ps", "--wide")[1], "mete ps says so too", mete(m, "ps", "--wide")[1])
    other.go_on()
    same(other.end(), 0, "the other ends")
    ok(until(lambda: share(c, "local")["residence"] == "resident", 10), "and it returns", c.grant("local"))
    r.go_on()
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    ok(judge.most <= 64 * MIB, "never more was on the device than it has")


def beside_spare_workers():
    """Workers that wait for programs hold contexts, which no grant is charged for: a program that needs room waits until another one has left."""
    big = Meted("--soft-only", env={**ENV, "METE_SOFT_CONTEXT_MEMORY": "4M"})
    s = big.control()
    eye = Device(big.env["METE_SOFT_DIR"], os.path.join(big.dir, "judge"), big.env)
    big.make("walled", QUOTA, wall=True)
    for name in ("one", "two"):
        big.make(name, 56 * MIB, spill=True)
    r = Resider(big, "walled", MIB, 1, wall=True)
    r.go_on()
    same(r.end(), 0, "a program behind a wall has run")
    ok(until(lambda: not s.grant("walled")["processes"] and eye.used(), 20), "workers wait for the next one, with contexts", eye.used())
    programs = [Resider(big, name, 45 * MIB, 2) for name in ("one", "two")]
    for program in programs:
        ok(program.has("holds"), "it holds what it asked for", program.lines)
        program.go_on()
        ok(program.done(1), "and works", program.lines)
    for program in programs:
        program.go_on()
    for program in programs:
        same(program.end(), 0, "every word is what it has to be")
    ok(eye.most <= 64 * MIB, "never more was on the device than it has")
    eye.close()
    s.close()
    big.close()


def changes_its_mind():
    """Suspended again in the middle of its return, again and again: what it had mapped by then is free for others."""
    slow = Meted("--soft-only", env={**ENV, "METE_SOFT_COPY_RATE": "100M"})
    s = slow.control()
    slow.make("local", QUOTA, spill=True)
    slow.make("other", QUOTA, spill=True)
    r = Resider(slow, "local", SIZE, 1)
    r.has("holds")
    mete(slow, "set", "local", "--suspend")
    kept = []
    for turn in range(8):
        s.ask("grant_resume", name="local")
        until(lambda: s.grant("local")["devices"][0]["held_bytes"] > SIZE / 8, 10)
        mete(slow, "set", "local", "--suspend")
        if not until(lambda: share(s, "local")["granted_bytes"] == share(s, "local")["held_bytes"] < SIZE / 8, 10):
            kept.append(share(s, "local"))
    ok(not kept, "a return that is broken off leaves nothing of the device taken", kept[:1])
    other = Resider(slow, "other", SIZE, 2)
    other.has("holds")
    other.go_on()
    ok(other.done(1, 20), "another tenant has the room", other.lines)
    s.ask("grant_resume", name="local")
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    other.go_on()
    same(other.end(), 0, "of the other one, too")
    s.close()
    slow.close()


def meted_ends(m, c):
    r = Resider(m, "local", SIZE, 2)
    r.has("holds")
    mete(m, "set", "local", "--suspend")
    c.close()
    m.process.send_signal(signal.SIGKILL)
    m.process.wait()
    m.start()
    c = m.control()
    until(lambda: c.grant("local")["processes"])
    ok(c.grant("local")["suspended"] and share(c, "local")["residence"] == "away" and not share(c, "local")["held_bytes"],
       "meted was killed while it was away: the next one knows", c.grant("local"))
    r.go_on()
    status, text = mete(m, "set", "local", "--resume")
    ok(not status and r.done(1), "and brings it back", text)
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    return c


def page_is_lost(m, c):
    """It goes with meted: the program's next page says what is away, all the same."""
    r = Resider(m, "local", SIZE, 2)
    r.has("holds")
    before = share(c, "local")
    mete(m, "set", "local", "--suspend")
    c.close()
    os.kill(m.process.pid, signal.SIGKILL)
    m.process.wait()
    for page in m.pages():
        os.unlink(os.path.join(m.dir, "pages", page))
    m.start()
    c = m.control()
    ok(until(lambda: c.grant("local")["processes"] and share(c, "local")["away_bytes"] == before["movable_bytes"], 10),
       "meted was killed while it was away, and its pages are lost: the next one knows how much", share(c, "local"))
    mete(m, "set", "local", "--resume")
    ok(until(lambda: share(c, "local")["movable_bytes"] == before["movable_bytes"] and not share(c, "local")["away_bytes"], 10),
       "and that nothing is away any more", share(c, "local"))
    r.go_on()
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    return c


def upgraded(m, c):
    """In the middle of the way out, and while it is away."""
    for away in (False, True):
        r = Resider(m, "local", SIZE, 2)
        r.has("holds")
        c.ask("grant_suspend", name="local")
        if away:
            until(lambda: share(c, "local")["residence"] == "away", 20)
        answer = c.ask("upgrade")
        ok(answer and answer["ok"], f"meted is upgraded while memory is {'away' if away else 'leaving'}", answer)
        c.close()
        c = m.control()
        ok(until(lambda: share(c, "local")["residence"] == "away", 20) and not share(c, "local")["held_bytes"],
           "the next one sees it away", c.grant("local"))
        r.go_on()
        status, text = mete(m, "set", "local", "--resume")
        ok(not status and r.done(1), "and brings it back", text)
        r.go_on()
        same(r.end(), 0, "every word is what it has to be")
    return c


def ends_while_away(m, c):
    """Its destructors free what is away."""
    r = Resider(m, "local", SIZE, 3, "late")
    r.has("holds")
    mete(m, "set", "local", "--suspend")
    r.process.stdin.close()
    ok(r.has("freed", 15), "a program that ends while its memory is away frees it, and does not wait for it", r.lines)
    ok(until(lambda: r.process.poll() is not None, 15) and any(line.split()[1] == line.split()[3] for line in r.lines if line.startswith("freed")),
       "all of it", r.lines)
    r.process.kill()
    until(lambda: not c.grant("local")["processes"], 10)
    mete(m, "set", "local", "--resume")


def forks_while_away(m, c):
    """The host's memory that takes it is no child's."""
    r = Resider(m, "local", SIZE, 1)
    r.has("holds")
    mete(m, "set", "local", "--suspend")
    r.process.stdin.write("f")
    r.process.stdin.flush()
    r.has("child")
    child = int([line.split()[1] for line in r.lines if line.startswith("child")][0])
    with open(f"/proc/{child}/status", encoding="ascii") as f:
        kib = int([line.split()[1] for line in f if line.startswith("RssAnon")][0])
    # A sanitizer's own memory goes along.
    ok(SANITIZED or kib * 1024 < SIZE, f"a child of fork() holds none of the memory that is away ({kib} KiB)")
    os.kill(child, signal.SIGKILL)
    mete(m, "set", "local", "--resume")
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")


def refusals(m, c):
    m.make("plain", 8 * MIB)
    status, text = mete(m, "set", "plain", "--suspend")
    ok(status == 1 and "--spill" in text and text.count("\n") == 0, "a grant without --spill: one line", status, text)
    for words, what in ((("--suspend", "--resume"), "contradict"), (("--suspend", "--now"), "--now goes with --resume"),
                        (("--drain", "3"), "--drain with --suspend"), (("--suspend", "--mem", "3M"), "--suspend with --mem"),
                        (("--suspend", "--drain", "0"), "not a number of seconds")):
        status, text = mete(m, "set", "local", *words)
        ok(status == 2 and what in text and text.count("\n") == 0, f"set {' '.join(words)}: one line", status, text)
    for fields, code in (({"spill": True, "resident_bytes": 50 * MIB}, "bad-size"), ({"resident_bytes": 1 * MIB}, "malformed"),
                         ({"spill": True, "resident_bytes": -1}, "bad-size"), ({"spill": 3}, "malformed")):
        answer = c.ask("grant_create", name="no", driver="soft", devices=[{"device": "0", "mem_bytes": QUOTA}], **fields)
        same(answer.get("code"), code, f"grant_create {fields}")
    same(c.ask("grant_suspend", name="plain")["code"], "not-movable", "grant_suspend of what cannot move")
    for drain in (0, -1, 601, "5"):
        same(c.ask("grant_suspend", name="local", drain_s=drain)["code"], "malformed", f"drain_s {drain!r}")


def promises(m, c):
    """A quota of memory that may leave is not promised of the device; what is to stay is."""
    status, text = mete(m, "create", "no", "--soft", "--mem", "8M", "--resident", "2M")
    ok(status == 2 and "--resident 2M without --spill" in text and text.count("\n") == 0, "--resident without --spill: one line", status, text)
    status, text = mete(m, "create", "no", "--soft", "--spill", "--mem", "8M", "--resident", "2X")
    ok(status == 2 and "--resident 2X" in text and text.count("\n") == 0, "--resident 2X: one line", status, text)
    before = c.ask("devices", known=True)["devices"][0]["promised_bytes"]
    names = ["stays-a", "stays-b"]
    left = 64 * MIB - before
    for name, resident, good in (("stays-a", left, True), ("stays-b", 1 * MIB, False)):
        status, text = mete(m, "create", name, "--soft", "--spill", "--mem", "64M", "--resident", str(resident))
        ok((status == 0) == good, f"{name}: --resident of {resident} bytes is {'promised' if good else 'more than is left'}", status, text)
    status, text = mete(m, "create", "stays-b", "--soft", "--spill", "--mem", "64M")
    ok(not status, "a quota beside it is not promised", text)
    ok(c.grant("stays-a")["resident_bytes"] == left and not c.grant("stays-b")["resident_bytes"], "the grants say so")
    for name in names:
        mete(m, "delete", name)


def no_room_in_the_host(c):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write("memory: {pool: 8M, spill: true}\n")
        f.flush()
        small = Meted("--soft-only", env={**ENV, "METE_CONFIG": f.name})
    small.make("local", QUOTA)
    small.make("plain", 8 * MIB, spill=False)
    s = small.control()
    same([s.grant(name)["spill"] for name in ("local", "plain")], [True, False], "memory.spill: new grants are made with it, unless they say no")
    r = Resider(small, "local", SIZE, 1)
    r.has("holds")
    status, text = mete(small, "set", "local", "--suspend")
    ok(status == 1 and "memory.pool" in text and text.count("\n") == 0, "no room in the host: one line", status, text)
    ok(share(s, "local")["residence"] == "resident" and not s.grant("local")["suspended"], "and the tenant is as it was")
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    small.make("walled", QUOTA, wall=True, spill=False)
    r = Resider(small, "walled", SIZE, 1, wall=True)
    r.has("holds")
    status, text = mete(small, "set", "walled", "--suspend")
    ok(status == 1 and "the host has no room for its" in text and "memory.pool" in text and text.count("\n") == 0, "nor for one behind a wall",
       status, text)
    ok(share(s, "walled")["residence"] == "resident" and not s.grant("walled")["suspended"], "and it is as it was, too", share(s, "walled"))
    r.go_on()
    same(r.end(), 0, "every word is what it has to be")
    s.close()
    small.close()


m = Meted("--soft-only", env=ENV)
c = m.control()
judge = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "judge"), m.env)
comes_and_goes(m, c, judge, False)
comes_and_goes(m, c, judge, True)
comes_and_goes(m, c, judge, False, ordered=True)
in_order(m)
begins_suspended(m, c, judge)
many_contexts(m)
work_that_never_ends(m, c)
full_device(m, c, judge)
c = meted_ends(m, c)
c = page_is_lost(m, c)
c = upgraded(m, c)
ends_while_away(m, c)
forks_while_away(m, c)
refusals(m, c)
promises(m, c)
no_room_in_the_host(c)
changes_its_mind()
beside_spare_workers()
judge.close()
c.close()
m.close()
finish()
