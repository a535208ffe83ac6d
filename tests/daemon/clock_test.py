"""
The wall clock is set forward by years and back by days while tenants compute: one event each time, nothing is lost, all is
as long ago as before, a drain keeps its patience over a kill, and nobody's turns or accounts notice.
"""
import atexit
import sqlite3
import struct

from http_client import Local, get
from harness import *

if "http_none.c" in open(os.path.join(BUILD, "build.ninja")).read():
    skip("the clock", "built without HTTP, by which histories are read")
    finish()

TURN_CLIENT = os.path.join(BUILD, "tests/daemon/turn_client")
PATIENCE = 30 * float(os.environ.get("METE_TEST_PATIENCE", "1"))
DAY = 86400
YEARS = 3652 * DAY


class Clock:
    """meted's wall clock, off by a number of seconds."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
        self.path = os.path.join(self.folder, "clock")
        self.off = 0
        with open(self.path, "wb") as f:
            f.write(bytes(8))
        self.env = {"METE_TEST_CLOCK": self.path, "LD_PRELOAD": os.path.join(BUILD, "tests/daemon/libwrong_clock.so")}

    def set(self, off):
        self.off = off
        with open(self.path, "r+b") as f:
            f.write(struct.pack("=q", off))

    def now(self):
        return time.time() + self.off


class Computing:
    """A tenant that computes all the time."""

    def __init__(self, path):
        self.process = subprocess.Popen([TURN_CLIENT, path, "0", "1000", "0", "600"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        atexit.register(self.end)  # also when the test stops half-way

    def busy_us(self):
        self.process.stdin.write("?\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline().split()[1])

    def goes_on(self, what):
        before = self.busy_us()
        ok(until(lambda: self.busy_us() > before + 5000, PATIENCE), f"{what}: who computes goes on")

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def events(m, **query):
    c = m.control()
    found = c.ask("events", **query)
    c.close()
    return found


def read(m, path):
    connection = Local(m.dir)
    status, body, _ = get(connection, path)
    connection.close()
    return json.loads(body) if status == 200 else None


def samples(m):
    """How many seconds of the last two minutes the tenant has been seen to hold what it holds."""
    held = read(m, "/api/v1/history?tenant=a&series=held&span=120")["series"]["held"]
    return sum(value == 100 * UNIT for value in held)


def check_ages(m, clock, began, what):
    node = read(m, "/api/v1/node")
    tenant = next(t for t in node["tenants"] if t["name"] == "a")
    c = m.control()
    device = c.ask("device_health", device="1")["device"]
    c.close()
    up = time.monotonic() - began
    ok(abs(node["time"] - clock.now()) < PATIENCE, f"{what}: the node's time is the clock's", node["time"], clock.now())
    for name, since in (("meted's start", node["started"]), ("the drain", device["since"])):
        ok(-3 <= node["time"] - since <= up + PATIENCE, f"{what}: {name} is as long ago as it was", node["time"] - since, up)
    ok(-3 <= node["time"] - tenant["last_active"] <= PATIENCE, f"{what}: the tenant was there just now", tenant)


def jump(m, clock, off, what):
    by, last, before = off - clock.off, events(m)["last"], samples(m)
    clock.set(off)
    found = until(lambda: events(m, after=last)["events"], PATIENCE)
    ok(found and f"the clock jumped by {by:+}" in found[0]["text"], f"{what}: it is an event", found)
    ok(until(lambda: samples(m) > before, PATIENCE), f"{what}: the history goes on, and has what it had", samples(m), before)
    found = events(m, after=last)["events"]
    same(len(found), 1, f"{what}: there is no other event")


def refuse(m, client, more, what):
    """A refusal like one before is counted there; after one at a later time it is a line of its own."""
    before = len(events(m, kind="refusal")["events"])
    same(client.reserve(0, 8 * GIB // UNIT)[0], NO_ROOM, f"{what}: who asks for too much is refused")
    found = events(m, kind="refusal")["events"]
    same(len(found), before + more, f"{what}: and of that there is a line")
    ok(all(e["first_time"] <= e["time"] for e in found), f"{what}: none begins after its end", found)


def written(m):
    """What meted knows by now is in the file, once it has been written twice: the first time may have begun before."""
    path = os.path.join(m.dir, "history.db")
    for i in range(2):
        before = os.stat(path).st_mtime_ns
        m.make(f"written{i}", UNIT)
        m.control().ask("grant_delete", name=f"written{i}")
        until(lambda: os.stat(path).st_mtime_ns != before and not os.stat(f"{path}-journal").st_size, PATIENCE)


def restart(m, clock, number, what):
    """With what was kept."""
    before = samples(m)
    if number == signal.SIGKILL:
        written(m)
    m.kill(number)
    db = sqlite3.connect(os.path.join(m.dir, "history.db"))
    chunks = [n for n, in db.execute("SELECT chunk FROM history WHERE level = 1")]
    db.close()
    ok(chunks and all(abs(n * 600 - clock.now()) < DAY for n in chunks), f"{what}: what is kept has the new times",
       chunks, clock.now() / 600)
    m.start()
    c = m.control()
    ok(until(lambda: c.share("a")["held_bytes"] == 100 * UNIT, PATIENCE), f"{what}: accounts are as they were", c.grant("a"))
    same(c.ask("device_health", device="1")["device"]["state"], "draining", f"{what}: the drain goes on")
    ok(any("the clock jumped" in e["text"] for e in c.ask("events")["events"]), f"{what}: so do events")
    c.close()
    if number == signal.SIGTERM:
        ok(samples(m) >= before - 1, f"{what}: and the history", samples(m), before)


clock, began = Clock(), time.monotonic()
m = Meted("--soft-only", env=clock.env)
path, staying = m.make("a", quota=GIB), m.make("b", devices=[{"device": "1", "mem_bytes": GIB}])
a, b = m.client(), m.client()
a.hello(path)
a.hold(0, 100)
b.hello(staying)
busy = Computing(m.make("c", devices=[{"device": "0", "mem_bytes": 1 << 20, "cores": 30}]))
until(lambda: m.control().ask("devices")["devices"], PATIENCE)
m.control().ask("device_drain", device="1", reason="later", grace_s=3600, end=True)
ok(until(lambda: samples(m) >= 1, PATIENCE), "there is a history")
refuse(m, a, 1, "before")

jump(m, clock, YEARS, "years ahead")
check_ages(m, clock, began, "years ahead")
busy.goes_on("years ahead")
refuse(m, a, 0, "years ahead")
restart(m, clock, signal.SIGKILL, "years ahead, killed")
a.hello(path)
b.hello(staying)
ok(until(lambda: samples(m) >= 1, PATIENCE), "years ahead, killed: there is a history again")

jump(m, clock, -3 * DAY, "days back")
busy.goes_on("days back")
refuse(m, a, 1, "days back")
restart(m, clock, signal.SIGTERM, "days back, ended")
same(b.hello(staying), OK, "whose device is being drained has not been ended")
a.hello(path)
same(a.reserve(0, 100)[0], OK, "and who holds memory gets more")
busy.goes_on("days back, ended")
busy.end()
m.close()
shutil.rmtree(clock.folder)
finish()
