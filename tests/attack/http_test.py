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
    """The statuses, to the first refusal."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    statuses = []
    while len(statuses) < count and 429 not in statuses[-1:]:
        statuses.append(get(connection=c))
    return statuses


def read_answer(file):
    """Its status."""
    status, size = int(file.readline().split()[1]), 0
    for line in iter(file.readline, b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
    file.read(size)
    return status


def ask_dear(seconds):
    """Asks for what takes long to write, on several connections at once; the statuses."""
    ends, statuses = [], []
    for _ in range(6):
        one = socket.socket()
        one.connect(("127.0.0.1", port))
        ends.append((one, one.makefile("rb")))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for one, _ in ends:
            one.sendall(b"GET /api/v1/node HTTP/1.1\r\nHost: localhost\r\n\r\n")
        statuses += [read_answer(file) for _, file in ends]
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

# Several processes: on a busy machine one does not come to ask as often as it may.
statuses = sum((child.value() for child in [Child(UID, ask_often, 1500) for _ in range(4)]), [])
ok(200 in statuses and 429 in statuses, "who asks without end and without the token is told to ask less often",
   statuses.count(200), statuses.count(429))
same(as_user(VICTIM, get), 200, "that is not another user's loss")
same(set(ask_often(1500)), {200}, "and root may")

for i in range(300):
    s.make(f"grant-{i}", 1 << 20)
many = [Child(UID, ask_dear, 6) for _ in range(4)]
statuses = sum((child.value() for child in many), [])
ok(200 in statuses and 429 in statuses, "who asks without end for what takes long is told to ask less often",
   statuses.count(200), statuses.count(429))
same(as_user(VICTIM, get, "/api/v1/node"), 200, "others are answered")
c.close()
s.close()
finish()
