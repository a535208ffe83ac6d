#!/usr/bin/env python3
"""
What goes through workers is counted for their tenant: calls and bytes, each way by itself, also when meted is killed or
started anew, and when the worker has ended.

    traffic_test.py BUILD
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../daemon"))
sys.dont_write_bytecode = True
from harness import *  # noqa: E402,F403
from http_client import Local, get  # noqa: E402

CLIENT = os.path.join(BUILD, "tests/remote/wall_client")
CALL_BYTES = 24  # of a ping at least, and of its answer


class Client:
    def __init__(self, path, *words):
        self.process = subprocess.Popen([CLIENT, path, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline().split(" ", 2)

    def ping(self, n):
        for _ in range(n):
            self.process.stdin.write("p\n")
            self.process.stdin.flush()
            if self.process.stdout.readline().split()[0] != "0":
                raise SystemExit("Bail out! a ping is not answered")

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def counted(m, tenant):
    """{(name, way): value} of a tenant's remote metrics."""
    c = m.control()
    text = c.ask("metrics")["text"]
    c.close()
    return {(name, way): int(value) for name, way, value in re.findall(
        rf'^mete_tenant_remote_(\w+){{tenant="{tenant}",way="(\w+)"}} (\d+)$', text, re.M)}


def settled(m, tenant, way, calls):
    """The counts once so many calls are among them."""
    until(lambda: counted(m, tenant).get(("calls_total", way), 0) >= calls, 10)
    return counted(m, tenant)


def files(m):
    folder = os.path.join(m.dir, "workers")
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def test_counts(m, walls):
    same(counted(m, "a"), {}, "a tenant that never had a worker has no line")
    local = Client(walls["a"])
    local.ping(20)
    got = settled(m, "a", "wall", 21)
    same(got.get(("calls_total", "wall")), 21, "requests are counted, each once")
    same(got.get(("sessions", "wall")), 1, "and who is connected")
    ok(got[("received_bytes_total", "wall")] >= 21 * CALL_BYTES and got[("sent_bytes_total", "wall")] >= 21 * CALL_BYTES,
       "bytes both ways", got)
    before = got
    relay = Client(walls["a"], "relayed")
    relay.ping(5)
    got = settled(m, "a", "relay", 6)
    same((got.get(("calls_total", "relay")), got.get(("sessions", "relay"))), (6, 1), "a relay by itself")
    same({k: v for k, v in got.items() if k[1] == "wall"}, before, "the other way is as it was")
    same(counted(m, "b"), {}, "and so is another tenant")
    node = json.loads(get(Local(m.dir), "/api/v1/node")[1])
    remote = {t["name"]: t["remote"] for t in node["tenants"]}
    same((remote["a"]["relay"]["calls"], remote["a"]["wall"]["sessions"], remote["b"]), (6, 1, {}), "the same in the node's JSON")
    return local, relay


def drawn(m, what):
    """The seconds of the last ten minutes in which something went through, as (received, sent) bytes a second."""
    series = json.loads(get(Local(m.dir), f"/api/v1/history?{what}&series=received,sent&span=600")[1])["series"]
    return [(r, s) for r, s in zip(series["received"], series["sent"]) if r or s]


def test_flow(m):
    """The history: what there was in each second, of the tenant, of nobody else, and of the node."""
    ok(until(lambda: drawn(m, "tenant=a"), 10), "what goes through is in the tenant's history")
    got = counted(m, "a")
    total = sum(got[("received_bytes_total", way)] for way in ("wall", "relay"))
    seen = sum(r for r, _ in drawn(m, "tenant=a"))
    ok(until(lambda: total * 0.8 < sum(r for r, _ in drawn(m, "tenant=a")) < total * 1.2, 10), "in bytes a second", seen, total)
    same(drawn(m, "node=1"), drawn(m, "tenant=a"), "and in the node's")
    same(drawn(m, "tenant=b"), [], "not in another tenant's")
    same(get(Local(m.dir), "/api/v1/history?device=0&series=received")[0], 400, "a device has none")
    return drawn(m, "node=1")


def test_restarts(m, local, relay):
    before = test_flow(m)
    m.kill(signal.SIGTERM)
    m.start()
    got = settled(m, "a", "relay", 6)
    same((got.get(("calls_total", "wall")), got.get(("calls_total", "relay"))), (21, 6), "the next meted goes on, and counts nothing twice")
    same([drawn(m, what)[:len(before)] for what in ("tenant=a", "node=1")], [before, before], "and knows what was when")
    m.kill()
    m.start()
    local.ping(10)
    got = settled(m, "a", "wall", 10)
    ok(10 <= got[("calls_total", "wall")] <= 31, "after a kill too", got)
    until(lambda: counted(m, "a").get(("sessions", "relay")) == 1, 10)
    same(counted(m, "a").get(("sessions", "relay")), 1, "its workers are found")
    before = counted(m, "a")
    relay.ping(3)
    relay.end()
    ok(until(lambda: counted(m, "a").get(("sessions", "relay")) == 0, 10), "a worker has ended", counted(m, "a"))
    same(counted(m, "a")[("calls_total", "relay")] - before[("calls_total", "relay")], 3, "with all that went through it")


def keeps(m, local):
    """Value: a kill, once what was counted has been written down, loses nothing of it."""
    store = os.path.join(m.dir, "history.db")
    local.ping(5)
    before = settled(m, "a", "wall", counted(m, "a")[("calls_total", "wall")])
    counted_ns = time.time_ns()
    ok_written = until(lambda: os.stat(store).st_mtime_ns > counted_ns, 10)
    m.kill()
    m.start()
    return ok_written and counted(m, "a")[("calls_total", "wall")] >= before[("calls_total", "wall")]


def test_kept(m, local):
    """Within a second, not with the next history; a write that was on its way then may be the one that is seen."""
    ok(any(keeps(m, local) for _ in range(3)), "what is counted is soon kept", counted(m, "a"))


def test_left(m, local):
    """Nothing lies about: not of workers that ended, nor of those that ended while no meted was there."""
    m.kill()
    local.end()
    with open(os.path.join(m.dir, "workers/idle-77.traffic"), "w", encoding="ascii") as f:
        f.write("of a worker that is no more")
    m.start()
    ok(until(lambda: all(os.path.exists(os.path.join(m.dir, "workers", n.replace(".traffic", ""))) for n in files(m)), 10),
       "no file without its worker", files(m))
    c = m.control()
    for name in ("a", "b"):
        ok(until(lambda: c.ask("grant_delete", name=name)["ok"], 20), f"{name} is deleted")
    ok(until(lambda: not files(m), 20), "nothing is left when the grants are gone", files(m))
    c.close()


m = Meted("--soft-only")
c = m.control()
walls = {}
for name in ("a", "b"):
    answer = c.ask("grant_create", name=name, driver="soft", devices=[{"device": "0", "mem_bytes": 64 << 20}], wall=True)
    walls[name] = answer["grant"]["wall"]
c.close()
local, relay = test_counts(m, walls)
test_restarts(m, local, relay)
test_kept(m, local)
test_left(m, local)
m.close()
finish()
