"""Traces over the control socket: what clients note while one is taken comes out, in order, or is counted as lost."""
from harness import *


TURN_CLIENT = os.path.join(BUILD, "tests/daemon/turn_client")


class Trace:
    """A trace that is read as mete does."""

    def __init__(self, m, seconds=30, **fields):
        self.control = m.control()
        self.started = self.control.ask("trace_start", seconds=seconds, **fields)
        if not self.started["ok"]:
            raise SystemExit(f"Bail out! {self.started}")
        self.id = self.started["trace"]
        self.lists = {k: [] for k in ("devices", "tenants", "clients", "names", "notes")}
        self.lines = []
        self.lost = {}
        self.done = False

    def read(self):
        answer = self.control.ask("trace_read", trace=self.id)
        if not answer["ok"]:
            raise SystemExit(f"Bail out! {answer}")
        for k, v in self.lists.items():
            v += answer[k]
        lines = answer["events"].splitlines()
        self.lines += [line.split() for line in lines]
        self.lost, self.done = answer["lost"], answer["done"]
        return lines

    def launches(self):
        """(client, stream, name, submitted, passed, predicted)"""
        return [(int(w[1]), int(w[5]), self.lists["names"][int(w[6])] if int(w[6]) < 4096 else None, int(w[7]), int(w[8]),
                 int(w[9])) for w in self.lines if w[0] == "L"]

    def stop(self):
        answer = self.control.ask("trace_stop", trace=self.id)
        while answer["ok"] and not self.done:
            self.read()
        self.control.close()
        return answer


def attached(m, path):
    c = m.client()
    same(c.hello(path), OK, "a client attaches")
    return c


def test_launches(m):
    path = m.make("one", GIB)
    c = attached(m, path)
    same(c.ask("record", 1, 0, 0, 7, 1, 10, 0, "early"), [0, 0], "nothing is noted before")
    t = Trace(m)
    same(c.ask("tracing"), [1], "now it is")
    for i in range(20):
        c.ask("record", 100, 0, 0, 7, 3, 10, 2, f"kernel_{i % 3}")
        time.sleep(0.005)
    until(lambda: t.read() is None or len(t.launches()) == 2000)
    seen = t.launches()
    same(len(seen), 2000, "all came out")
    same({s[2] for s in seen}, {"kernel_0", "kernel_1", "kernel_2"}, "with their names")
    same(seen[0][2], "kernel_0", "in order")
    ok(all(s[4] - s[3] == 2000 and s[5] == 10000 and s[1] == 3 for s in seen), "with their times", seen[:3])
    ok(all(a[3] < b[3] for a, b in zip(seen[:100], seen[1:100])), "one after the other")
    same(t.lists["clients"], [{"id": 0, "tenant": 0, "pid": c.pid, "command": "wire_client"}], "the client's name")
    same([(d["index"], d["driver"]) for d in t.lists["devices"]], [(0, "soft")], "the device's name")
    same(t.lost, {"overwritten": 0, "full": 0}, "nothing is lost")
    t.stop()
    same(c.ask("tracing"), [0], "and not any more")
    same(c.ask("record", 1, 0, 0, 7, 1, 10, 0, "late"), [0, 2000], "nothing is noted afterwards")
    c.close()


def test_lost(m):
    c = attached(m, m.make("many", GIB))
    t = Trace(m, grants=["many"])
    c.ask("record", 10000, 0, 0, 7, 3, 1, 0, "flood")
    until(lambda: t.read() is None or len(t.launches()) + t.lost["overwritten"] == 10000)
    t.stop()
    ok(t.lost["overwritten"] > 0, "a ring that is written too fast loses records", t.lost)
    same(len(t.launches()) + t.lost["overwritten"], 10000, "and every one of them is counted")
    t = Trace(m, grants=["many"])
    noted = 0
    while noted < 80000:
        noted += c.ask("record", 1500, 0, 0, 7, 3, 1, 0, "flood")[0]
        time.sleep(0.012)
    t.stop()
    ok(t.lost["full"] > 0, "so does a queue that nobody reads", t.lost)
    same(len(t.launches()) + t.lost["overwritten"] + t.lost["full"], noted, "and they are counted too")
    c.close()


def test_clients_come_and_go(m):
    path = m.make("busy", GIB)
    t = Trace(m, grants=["busy"])
    first = attached(m, path)
    first.ask("record", 5, 0, 0, 7, 1, 10, 0, "first")
    first.kill()
    until(lambda: t.read() is None or len(t.launches()) == 5)
    same([s[2] for s in t.launches()], ["first"] * 5, "what it noted just before it was killed is there")
    second = attached(m, path)
    second.ask("record", 3, 0, 1, 8, 1, 10, 50, "second")
    second.ask("stand", 0, 0, 2)
    time.sleep(0.02)
    t.stop()
    same([s[2] for s in t.launches()[5:]], ["second"] * 3, "who came later too")
    same([c["id"] for c in t.lists["clients"]], [0, 1], "each has its number")
    waits = [w for w in t.lines if w[0] == "W"]
    ok(len(waits) == 1 and waits[0][1:4] == ["1", "0", "0"] and int(waits[0][5]) - int(waits[0][4]) >= 20000000,
       "who stands at the gate when it ends is told", waits)
    second.close()


def test_cheat(m):
    """A page is its client's to write: meted must not believe it."""
    path = m.make("cheat", GIB)
    c = attached(m, path)
    t = Trace(m, grants=["cheat"])
    c.ask("record", 2, 9, 0, 7, 1, 10, 0, "no such device")
    c.ask("record", 2, 0, 7, 7, 1, 10, 0, "no such engine")
    c.ask("record", 1, 0, 0, 7, 1, 10, 0, "\033[2J\"\\ evil " + "x" * 60)
    until(lambda: t.read() is None or t.launches())
    same([s[2] for s in t.launches()], ["?[2J\"\\ evil " + "x" * 35], "a name is cut and cleaned")
    for head in (0xffffffff, 0x80000000, 5, 2048, 4095):
        c.ask("head", head)
        time.sleep(0.02)
        t.read()
    ok(t.control.ask("hello")["ok"], "a head that jumps does no harm")
    c.ask("cut", os.path.join(m.dir, "pages", [p for p in m.pages() if f"-{c.pid}-" in p][0]))
    time.sleep(0.05)
    ok(m.control().ask("hello")["ok"], "nor does a page that is cut short")
    t.stop()
    c.kill()
    c = attached(m, path)
    t = Trace(m, grants=["cheat"])
    for i in range(60):
        for k in range(80):
            c.ask("record", 1, 0, 0, 7, 1, 10, 0, f"name {i} {k}")
    t.stop()
    names = [s[2] for s in t.launches()]
    ok(len(names) + t.lost["overwritten"] == 4800 and names.count(None) in (4800 - 4096, 0),
       "too many different names are \"other\"", names.count(None), t.lost)
    c.close()


def test_several(m):
    """Traces do not disturb one another, nor a restart."""
    c = attached(m, m.make("shared", GIB))
    traces = [Trace(m, grants=["shared"]) for _ in range(8)]
    a = m.control().ask("trace_start", seconds=1)
    same((a["ok"], a["code"]), (False, "busy"), "the ninth is refused")
    c.ask("record", 10, 0, 0, 7, 1, 10, 0, "k")
    for t in traces[:-1]:
        t.stop()
    same([len(t.launches()) for t in traces[:-1]], [10] * 7, "each has them all")
    same(c.ask("tracing"), [1], "the last one still reads")
    m.kill()
    same(c.ask("tracing"), [1], "meted is killed while it traces")
    m.start()
    same(c.ask("tracing"), [0], "its successor reads nothing, and says so")
    t = Trace(m, seconds=1, grants=["shared"])
    c.ask("record", 10, 0, 0, 7, 1, 10, 0, "k")
    ok(until(lambda: t.read() is None or t.done), "a trace ends by itself")
    same(len(t.launches()), 10, "and has everything")
    same(c.ask("tracing"), [0], "and lets the client rest")
    a = t.control.ask("trace_read", trace=t.id)
    same((a["ok"], a["code"]), (False, "unknown-trace"), "what was read to its end is gone")
    t.control.close()
    c.close()


def test_turns(m):
    """Turns and busy intervals of two tenants that share an engine."""
    workers, names = [], ("left", "right")
    for name in names:
        path = m.make(name, devices=[{"device": "1", "mem_bytes": 1 << 20, "cores": 50}])
        workers.append(subprocess.Popen([TURN_CLIENT, path, "0", "1000", "0", "60"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True))
        workers[-1].stdout.readline()
    time.sleep(0.3)
    t = Trace(m, seconds=1, grants=list(names))
    until(lambda: t.read() is None or t.done)
    same(sorted(x["name"] for x in t.lists["tenants"]), list(names), "both are named")
    for tenant in (0, 1):
        turns = [w for w in t.lines if w[0] == "T" and w[1:4] == [str(tenant), "0", "0"]]
        states = [w[4] for w in turns]
        ok(states.count("1") > 5 and states.count("0") > 5, "turns are given and end", turns[:9])
        ok(all(int(a[5]) <= int(b[5]) for a, b in zip(turns, turns[1:])), "in the order of their times")
        same({w[9] for w in turns if w[4] == "0"} - {"over", "taken", "idle"}, set(), "for known reasons")
        same({w[9] for w in turns[1:] if w[4] == "1"}, {"given"}, "given, and one may be from before")
    for client in (0, 1):
        edges = [w for w in t.lines if w[0] == "E" and w[1] == str(client)]
        while edges and edges[0][4] == "1":
            edges.pop(0)  # how it stood when the trace began may be told twice
        ok(len(edges) > 10 and all(a[4] != b[4] for a, b in zip(edges, edges[1:])), "edges begin and end by turns",
           edges[:9])
        busy = sum(int(b[5]) - int(a[5]) for a, b in zip(edges, edges[1:]) if a[4] == "1")
        ok(0.1e9 < busy < 0.8e9, "the engine is busy with each for about half of the time, less on a busy machine", busy)
    same(t.lost, {"overwritten": 0, "full": 0}, "nothing is lost")
    t = Trace(m, grants=["left"])
    workers[0].kill()
    workers[0].wait()
    ok(until(lambda: t.read() is None or any(w[0] == "G" for w in t.lines)), "the end of a client is told")
    same({w[1] for w in t.lines}, {"0"}, "and nothing of the other tenant")
    t.stop()
    for worker in workers:
        worker.kill()
        worker.wait()
        worker.stdin.close()
        worker.stdout.close()


def test_refusals(m):
    c = m.control()
    for fields, code, part in (({}, "malformed", "seconds"), ({"seconds": 0}, "malformed", "seconds"),
                               ({"seconds": 3601}, "malformed", "3600"), ({"seconds": "1"}, "malformed", "seconds"),
                               ({"seconds": 1, "grants": "x"}, "malformed", "list"),
                               ({"seconds": 1, "grants": [7]}, "malformed", "list"),
                               ({"seconds": 1, "grants": ["none"]}, "unknown-grant", "no grant none")):
        a = c.ask("trace_start", **fields)
        ok(not a["ok"] and a["code"] == code and part in a["error"], f"{fields}: {code}", a)
    for op in ("trace_read", "trace_stop"):
        for trace in (0, -1, "x", None, 1 << 62):
            a = c.ask(op, trace=trace)
            ok(not a["ok"] and a["code"] == "unknown-trace", f"{op} {trace}", a)
    t = Trace(m, seconds=3600)
    c.close()
    before = m.descriptors()
    t.control.close()
    ok(until(lambda: m.descriptors() < before), "a trace whose reader is gone keeps no descriptor")


m = Meted()
test_launches(m)
test_lost(m)
test_clients_come_and_go(m)
test_cheat(m)
test_turns(m)
test_several(m)
test_refusals(m)
m.close()
finish()
