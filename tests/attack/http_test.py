"""A local user takes the places of the HTTP port, or asks without end: others are served all the same."""
import http.client

from ground import *


def get(path="/healthz", connection=None):
    """The status; 0: it was closed."""
    c = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        c.request("GET", path)
        answer = c.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException):
        return 0


def hold(count, ready):
    """Connects and says nothing, again and again."""
    ends = []
    for _ in range(count):
        ends.append(socket.create_connection(("127.0.0.1", port), timeout=5))
    os.write(ready, b"!")
    os.close(ready)
    while os.getppid() != 1:
        time.sleep(0.05)


def attack(uid, count):
    read, write = os.pipe()
    child = Child(uid, hold, count, write)
    os.close(write)
    os.read(read, 1)
    os.close(read)
    return child


def ask_often(count):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    return [get(connection=c) for _ in range(count)]


def ran_ns():
    """How long meted's loop has run."""
    with open(f"/proc/{s.process.pid}/task/{s.process.pid}/schedstat") as f:
        return int(f.read().split()[0])


def ask_dear(seconds):
    """Asks for what takes long to write; the statuses."""
    c, end, statuses = http.client.HTTPConnection("127.0.0.1", port, timeout=20), time.monotonic() + seconds, []
    while time.monotonic() < end:
        statuses.append(get("/api/v1/node", c))
    return statuses


root_only("the HTTP port")
s = system("--http", "127.0.0.1:0")
c = s.control()
port = int(c.ask("hello")["http"].rsplit(":", 1)[1])
kept = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
same(get(connection=kept), 200, "root has a connection")
before = s.descriptors()
greedy = attack(UID, 300)
same([as_user(VICTIM, get) for _ in range(3)], [200] * 3, "one user connects 300 times: another is answered")
same(get(), 200, "and so is root")
ok(until(lambda: s.descriptors() - before <= 40), "that user has 32 places", s.descriptors() - before)
many = [attack(uid, 30) for uid in range(70000, 70008)]
same([as_user(VICTIM, get) for _ in range(3)], [200] * 3, "eight more do so: another is answered")
ok(until(lambda: s.descriptors() - before <= 140), "all together have a bound", s.descriptors() - before)
same(get(connection=kept), 200, "root's connection has stayed")
for child in [greedy] + many:
    child.kill()

statuses = as_user(UID, ask_often, 1500)
ok(200 in statuses and 429 in statuses, "who asks without end and without the token is told to ask less often",
   statuses.count(200), statuses.count(429))
same(as_user(VICTIM, get), 200, "that is not another user's loss")
same(set(ask_often(1500)), {200}, "and root may")

if os.path.exists("/proc/self/schedstat"):
    for i in range(200):
        s.make(f"grant-{i}", 1 << 20)
    many = [Child(UID, ask_dear, 8) for _ in range(4)]
    time.sleep(4)
    began, before = time.monotonic_ns(), ran_ns()
    time.sleep(3)
    part = (ran_ns() - before) / (time.monotonic_ns() - began)
    statuses = sum((child.value() for child in many), [])
    # On a machine that does much else the askers do not come to a quarter.
    ok(part < 0.25 or 429 in statuses, "who asks without end for what takes long is told to ask less often", part,
       statuses.count(200), statuses.count(429))
    ok(part < 0.6 and 200 in statuses, "and has a part of meted's time", part, statuses.count(200), statuses.count(429))
    same(as_user(VICTIM, get, "/api/v1/node"), 200, "others are answered")
c.close()
s.close()
finish()
