"""
Users who take what all share of meted: places for control connections, descriptors, memory for what they do not read.
"""
from ground import *

PLACES, OF_UID = 256, 64


def crowd(directory, ready, count, text=b"", seconds=120):
    """Connects `count` times, says `text` on each, and waits: how many are open at the end."""
    ends = []
    for _ in range(count):
        end = socket.socket(socket.AF_UNIX)
        end.connect(os.path.join(directory, "control.sock"))
        end.setblocking(False)
        try:
            end.sendall(text)
        except OSError:
            pass
        ends.append(end)
    os.write(ready, b"!")
    os.close(ready)
    end = time.monotonic() + seconds
    while time.monotonic() < end and os.getppid() != 1:
        time.sleep(0.05)


def attack(at, uid, *given, **more):
    """A crowd that has connected."""
    read, write = os.pipe()
    child = Child(uid, lambda: crowd(at.dir, write, *given, **more))
    os.close(write)
    os.read(read, 1)
    os.close(read)
    return child


def resident(at):
    with open(f"/proc/{at.process.pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) << 10


def hello(control):
    answer = control.ask("hello")
    return bool(answer and answer["ok"])


def asks(at, uid):
    """A user asks, at most three times: a connection may lose its place before it has asked."""
    def act():
        for _ in range(3):
            c = harness.Control(at.dir)
            if hello(c):
                return True
            c.close()
        return False
    return as_user(uid, act)


def begin_deaf():
    """Users who read no answers: what meted keeps for them has a bound, and a time, which passes beside the other tests.
    Value: what is to be looked at then."""
    s = system()
    for i in range(150):  # 100 grants make an answer of more than a socket holds
        s.make(f"grant-{i}", 1 << 20)
    before = resident(s)
    deaf = [attack(s, UID + 10 * i, 100, b'{"op":"grants"}\n' * 2000) for i in range(3)]
    begun = time.monotonic()
    ok(hello(s.control()), "users who read no answers: root is answered")
    ok(SANITIZED or resident(s) - before < 200 << 20, "and their answers have a bound", before, resident(s))

    def end():
        time.sleep(max(0, begun + 2.5 - time.monotonic()))
        ok(asks(s, UID), "a place is kept for an unread answer for 2 s: the same user gets another")
        ok(until(lambda: "does not read its answer" in s.log(), 40), "after 30 s it is closed")
        for child in deaf:
            child.kill()
        s.close()
    return end


root_only("control connections of many")
end_deaf = begin_deaf()
s = system()
watcher = s.control()
ok(hello(watcher), "root watches")

greedy = attack(s, UID, 300)
ok(hello(s.control()), "one user connects 300 times: root is answered")
ok(asks(s, VICTIM), "and so is another user")
ok(asks(s, UID), "and a further program of the same user")
ok(s.descriptors() < OF_UID + 64, "that user has no more than a quarter of the places", s.descriptors())

many = [attack(s, uid, 1) for uid in range(70000, 70000 + 220)]
ok(hello(s.control()), "220 users connect once each beside: root is answered")
ok(asks(s, VICTIM), "and so is another user")
mine = [s.control() for _ in range(60)]
same([hello(c) for c in mine], [True] * 60, "root has places that nobody else has")
ok(hello(watcher), "and root's idle connection has stayed")
for c in mine:
    c.close()
for child in many:
    child.kill()
greedy.kill()

half_line = Child(UID, lambda: harness.Control(s.dir).line('{"op":"he'))
few = system(wrap=["prlimit", "--nofile=250:250"])
c = few.control()
codes = []
for uid in range(UID, UID + 40):
    codes += [(a or {}).get("code", "lost") if not (a or {}).get("ok") else "ok"
              for a in ask_as(uid, few.dir, *[soft("1M", f"g{uid}-{i}") for i in range(10)])]
ok("full" in codes, "users make grants until there are few descriptors: then they are refused", set(codes))
made = codes.count("ok")
ok(hello(few.control()), "root is answered", made)
answer = few.control().ask("grant_create", name="roots", driver="soft", devices=[{"device": "0", "mem_bytes": 1 << 20}])
ok(answer and answer["ok"], "may make one more", answer)
greedy = [attack(few, uid, 60) for uid in range(UID, UID + 3)]
client = few.client()
same(client.hello(answer["grant"]["socket"] if answer and answer["ok"] else ""), OK, "and begin a program")
again = few.control()
ok(again.ask("grant_delete", name=f"g{UID}-0")["ok"], "and end others' grants")
for child in greedy:
    child.kill()
client.close()
c.close()
few.close()

half = half_line.value()
ok(half and "10 s" in half["error"], "half a line is refused after 10 s", half)
watcher.close()
s.close()
end_deaf()
finish()
