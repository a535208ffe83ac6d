"""
Users who ask for what takes meted long, without an end: one has a quarter of its time, all together half, and nobody else
waits for that.
"""
from ground import *

SECONDS = 3


def crowd(connections):
    """Many connections, each with a question under way."""
    ends = [harness.Control(s.dir) for _ in range(connections)]
    end = time.monotonic() + SECONDS
    asked = 0
    while time.monotonic() < end:
        for c in ends:
            c.socket.sendall(b'{"op":"grants"}\n')
        for c in ends:
            asked += bool(c.file.readline())
    return asked


def worked_ns():
    """How long meted's loop has run, and how long it has waited for a processor that others had."""
    with open(f"/proc/{s.process.pid}/task/{s.process.pid}/schedstat") as f:
        return tuple(map(int, f.read().split()[:2]))


def attack(*uids):
    """The part of its time that meted's loop is busy with these users, and what they are answered."""
    many = [Child(uid, crowd, 40) for uid in uids]
    time.sleep(0.5)
    began, (ran_before, waited_before) = time.monotonic_ns(), worked_ns()
    time.sleep(SECONDS - 1)
    ran, waited = worked_ns()
    # While something else has the processor the loop neither works nor rests.
    part = (ran - ran_before) / max(time.monotonic_ns() - began - (waited - waited_before), 1)
    return part, [child.value() for child in many]


root_only("users who take meted's time")
if not os.path.exists("/proc/self/schedstat"):
    harness.skip("users who take meted's time", "this kernel does not say how long a process wanted to run")
    finish()
s = system()
for i in range(100):
    s.make(f"grant-{i}", 1 << 20)
part, asked = attack(UID)
ok(part < 0.5, "one user asks on 40 connections without an end: meted has most of its time left", part, asked)
ok(all(n >= 40 for n in asked), "and he is answered", asked)
part, asked = attack(*range(UID, UID + 4))
ok(part < 0.75, "four users: it has time left", part, asked)
ok(all(n >= 40 for n in asked), "and all are answered", asked)


def faulted():
    """Pages that meted's children had to be given, which have all ended: each that asked a driver some hundred."""
    until(lambda: not children(), 10)
    with open(f"/proc/{s.process.pid}/stat") as f:
        return int(f.read().rsplit(")", 1)[1].split()[8])


def children():
    """Those that ask a driver, or have asked and are not reaped."""
    with open(f"/proc/{s.process.pid}/task/{s.process.pid}/children") as f:
        return [p for p in f.read().split() if "--probe" in words_of(p)]


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as f:
            return f.read() or "--probe"  # a zombie
    except (FileNotFoundError, ProcessLookupError):
        return ""


def probes(uid, count, **request):
    """How many times the drivers were asked, by what root's question costs."""
    before = faulted()
    answers = ask_as(uid, s.dir, *[request] * count)
    return (faulted() - before) / one, len(answers)


c = s.control()
c.ask("devices")
before = faulted()
for _ in range(5):
    c.ask("devices")
one = (faulted() - before) / 5
ok(one > 50, "root's question for the devices has the drivers asked", one)
began = time.monotonic()
asked = {op: probes(UID, 100, op=op, device="0") for op in ("devices", "device_cordon", "device_drain")}
took = time.monotonic() - began
ok(sum(n for n, _ in asked.values()) < took / 0.5 + 3, "a user's, over and over, once a second at most: each starts a process", asked, took)
s.close()
finish()
