"""
HTTP from people who mean no good: what is no HTTP at all, headers and bodies without end, slow ones, a thousand connections,
other sites' pages, paths that lead out. meted answers with one status each or hangs up, serves others meanwhile, and nobody
gets in.
"""
import random
import re
import threading

from http_client import Local, get
from harness import *

if "http_none.c" in open(os.path.join(BUILD, "build.ninja")).read():
    skip("HTTP", "built without it")
    finish()

LONG = bool(os.environ.get("METE_TEST_LONG"))
FIRST_LINES = (b"GET /api/v1/node HTTP/1.1", b"POST /api/v1/tenants/a/end HTTP/1.1", b"GET /metrics HTTP/1.0", b"HEAD / HTTP/1.1")


def port_of(m):
    return int(m.control().ask("hello")["http"].rsplit(":", 1)[1])


class Raw:
    """A connection on which anything is said."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)

    def say(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            pass
        return self

    def hear(self, answers=1, seconds=30):
        """What comes until so many answers have begun, or the other side hangs up."""
        got = b""
        self.socket.settimeout(seconds)
        try:
            while got.count(b"HTTP/1.") < answers or not got.endswith(b"\n"):
                data = self.socket.recv(65536)
                if not data:
                    break
                got += data
        except OSError:
            pass
        return got

    def close(self):
        self.socket.close()


def statuses(answer):
    return [int(part[2:5]) for part in answer.split(b"HTTP/1.")[1:] if part[2:5].isdigit()]


def ask(port, data, answers=1):
    raw = Raw(port).say(data)
    got = raw.hear(answers)
    raw.close()
    return got


def request(line, *headers, host=b"localhost", body=b""):
    return b"\r\n".join([line, *([b"Host: " + host] if host is not None else []), *headers, b"", body])


def intact(m):
    """The tenant is as it was, and meted serves."""
    c = m.control()
    grant = c.grant("a")
    c.close()
    return grant and grant["devices"][0]["quota_bytes"] == GIB and get(Local(m.dir), "/healthz")[0] == 200


def test_refused(m, port):
    """One status each."""
    token = (b"Authorization: Bearer " + b"0" * 64,)
    act = b"POST /api/v1/tenants/a/end HTTP/1.1"
    for what, data, want in (
            ("a method that is none", request(b"BREW / HTTP/1.1"), (405, 501)),
            ("a method that is not for it", request(b"PUT /metrics HTTP/1.1", b"Content-Length: 0"), (405,)),
            ("CONNECT", request(b"CONNECT example.com:443 HTTP/1.1"), (400, 404, 405)),
            ("another version", b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", (400, 505)),
            ("no Host", request(b"GET /api/v1/node HTTP/1.1", host=None), (400, 403)),
            ("another site by its name (DNS rebinding)", request(b"GET /api/v1/node HTTP/1.1", host=b"evil.example"), (403,)),
            ("a Host that only begins well", request(b"GET /api/v1/node HTTP/1.1", host=b"localhost.evil.example"), (403,)),
            ("two Hosts", request(b"GET /api/v1/node HTTP/1.1", b"Host: evil.example", host=b"evil.example"), (400, 403)),
            ("the whole address in the line", request(b"GET http://evil.example/metrics HTTP/1.1", host=b"evil.example"), (400, 403, 404)),
            ("a length that is none", request(act, b"Content-Length: many"), (400,)),
            ("a length below 0", request(act, b"Content-Length: -1"), (400,)),
            ("a length beyond all numbers", request(act, b"Content-Length: 99999999999999999999999"), (400, 413)),
            ("a chunk that is none", request(act, b"Transfer-Encoding: chunked", body=b"xyz\r\n"), (400,)),
            ("headers of 100 KB", request(b"GET / HTTP/1.1", b"X: " + b"y" * 100000), (413, 414, 431)),
            ("a thousand headers", request(b"GET / HTTP/1.1", *[b"X%d: y" % i for i in range(5000)]), (413, 431)),
            ("a line of 100 KB", request(b"GET /" + b"a" * 100000 + b" HTTP/1.1"), (414, 431, 413)),
            ("an action without a token", request(act, b"Content-Length: 0"), (401,)),
            ("an action with a wrong one", request(act, *token, b"Content-Length: 0"), (401,)),
            ("an action from another site's form", request(
                act, b"Origin: https://evil.example", b"Content-Type: text/plain", b"Cookie: token=1", b"Content-Length: 2", body=b"{}"), (401,)),
            ("an action by GET", request(b"GET /api/v1/tenants/a/end HTTP/1.1"), (405,)),
            ("a browser that asks first (CORS)", request(
                b"OPTIONS /api/v1/tenants/a/end HTTP/1.1", b"Origin: https://evil.example", b"Access-Control-Request-Method: POST",
                b"Access-Control-Request-Headers: authorization"), (401, 404, 405))):
        got = ask(port, data)
        ok(statuses(got)[:1] and statuses(got)[0] in want and b"access-control-allow" not in got.lower(), f"{what}: {want[0]}", got[:300])
    for path in ("/../../etc/passwd", "/console/../../../etc/passwd", "/console/..%2f..%2f..%2fetc%2fpasswd", "/console/%2e%2e/%2e%2e/etc/passwd",
                 "//etc/passwd", "/console//etc/passwd", "/console/console.js%00.css", "/console/....//", "/api/v1/tenants/../../metrics",
                 "/console/" + "%41" * 3000):
        got = ask(port, request(b"GET " + path.encode() + b" HTTP/1.1"))
        ok(statuses(got)[:1] and statuses(got)[0] in (400, 404, 405, 414) and b"root:" not in got, f"no way out by {path[:60]}", got[:300])
    ok(intact(m), "all is as it was")


def test_smuggled(m, port):
    """Requests behind each other, and two lengths: what is inside a body is no request."""
    inner = request(b"POST /api/v1/tenants/a/end HTTP/1.1", b"Content-Length: 0")
    got = ask(port, b"".join(request(b"GET /healthz HTTP/1.1") for _ in range(20)), 20)
    same(statuses(got), [200] * 20, "requests one behind the other are answered one by one")
    both = request(b"POST /healthz HTTP/1.1", b"Content-Length: 4", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + inner)
    same([s for s in statuses(ask(port, both, 2)) if s < 400], [], "of two lengths nobody has any good")
    hidden = request(b"POST /healthz HTTP/1.1", b"Content-Length: %d" % len(inner), body=inner)
    same(len(statuses(ask(port, hidden + request(b"GET /nope HTTP/1.1"), 2))), 2, "a body is a body")
    ok(intact(m), "all is as it was")


def test_garbage(m, port):
    rnd = random.Random(5)
    begin = time.monotonic()
    tried = 0
    good = True
    open_ones = []
    while tried < 150 or (LONG and time.monotonic() - begin < 60):
        data = bytearray(request(rnd.choice(FIRST_LINES), b"Content-Length: 8", b"Authorization: Bearer x", body=b'{"a": 1}'))
        if tried % 3 == 0:
            data = bytearray(rnd.randbytes(rnd.randrange(1, 3000)))
        for _ in range(rnd.randrange(8)):
            data[rnd.randrange(len(data))] = rnd.choice((0, 10, 13, 32, 58, 255, rnd.randrange(256)))
        raw = Raw(port).say(bytes(data))
        try:
            raw.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        open_ones.append(raw)
        tried += 1
        if tried % 75:
            continue
        time.sleep(0.5)  # for answers, where there are any
        for raw in open_ones:
            got = raw.hear(seconds=0.01)
            raw.close()
            good &= not got or got.startswith(b"HTTP/1.")
        open_ones = []
    ok(good, "garbage gets an HTTP answer or none")
    ok(intact(m), "and changes nothing")


def test_slow(m, port):
    """Who dribbles holds a place for 15 s at most, and nobody else up."""
    began = time.monotonic()
    slow = [Raw(port).say(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ") for _ in range(20)]
    body = Raw(port).say(request(b"POST /healthz HTTP/1.1", b"Content-Length: 60000", body=b"{"))
    worst = 0
    while time.monotonic() - began < 1.5:
        for s in slow + [body]:
            s.say(b"y")
        at = time.monotonic()
        good = get(Local(m.dir), "/healthz")[0] == 200 and statuses(ask(port, request(b"GET /healthz HTTP/1.1"))) == [200]
        worst = max(worst, time.monotonic() - at if good else 1e9)
        time.sleep(0.1)
    ok(worst < 2, "others are served meanwhile", worst)
    if LONG:
        def ended(s):
            s.say(b"y")
            s.socket.settimeout(0.05)
            try:
                return s.socket.recv(1) == b""
            except TimeoutError:
                return False
            except OSError:
                return True
        ok(until(lambda: all([ended(s) for s in slow + [body]]), 40), "who dribbles on is hung up on")
    for s in slow + [body]:
        s.close()
    reader = Raw(port)
    reader.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for _ in range(200):
        reader.say(request(b"GET /metrics HTTP/1.1"))
    same(get(Local(m.dir), "/healthz")[0], 200, "who asks and does not read holds nobody up")
    reader.close()


def test_many(m, port):
    """A thousand connections."""
    descriptors = m.descriptors()
    held = []

    def connect():
        for _ in range(125):
            try:
                held.append(socket.create_connection(("127.0.0.1", port), timeout=1))
            except OSError:
                return

    threads = [threading.Thread(target=connect) for _ in range(8)]
    for t in threads:
        t.start()
    same(get(Local(m.dir), "/healthz")[0], 200, "http.sock is served while a thousand connect")
    c = m.control()
    ok(c.grant("a"), "and so is the control socket")
    c.close()
    most = m.descriptors()
    for s in held:
        s.close()
    for t in threads:
        t.join()
    for s in held:
        s.close()
    ok(most < descriptors + 300, "meted takes a bounded number of them", descriptors, most)
    ok(until(lambda: m.descriptors() <= descriptors + 2, 30), "and gives all back", descriptors, m.descriptors())
    ok(until(lambda: statuses(ask(port, request(b"GET /healthz HTTP/1.1"))) == [200], 30), "the port is served as before")


m = Meted("--http", "127.0.0.1:0", "--soft-only")
port = port_of(m)
m.make("a", quota=GIB)
c = m.control()
c.ask("token_new")
memory = lambda: int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{m.process.pid}/status").read())[1])
before = memory()
test_refused(m, port)
test_smuggled(m, port)
test_garbage(m, port)
test_slow(m, port)
test_many(m, port)
ok(intact(m) and memory() < before + 40000, "meted is as it was, and not much larger", before, memory())
same([e["text"] for e in c.ask("events")["events"] if e["kind"] == "action"], [], "nobody has done anything")
c.close()
m.close()
finish()
