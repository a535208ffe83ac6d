"""The journal: what happened on the node, its filters, its counting of repeats, and what is refused."""
from harness import *


def texts(c, **query):
    return [e["text"] for e in c.ask("events", **query)["events"]]


def test_lines(m):
    c = m.control()
    first = c.ask("events")
    same(([e["kind"] for e in first["events"]], first["last"]), (["daemon"], first["events"][-1]["id"]), "its start")
    ok(str(m.process.pid) in first["events"][0]["text"], "with its pid", first)
    path = m.make("one", quota=GIB)
    c.ask("grant_set", name="one", devices=[{"mem_bytes": 2 * GIB}])
    new = c.ask("events", after=first["last"])
    same([(e["kind"], e["tenant"]) for e in new["events"]], [("grant", "one")] * 2, "a grant is made and changed")
    same(c.ask("devices")["devices"][0]["uuid"], new["events"][1]["device"], "on which device")
    same(c.ask("events", after=new["last"])["events"], [], "nothing more")
    ids = [e["id"] for e in c.ask("events")["events"]]
    same(ids, sorted(set(ids)), "ids grow")
    same(len(c.ask("events", limit=1)["events"]), 1, "as many as asked for")
    same(texts(c, limit=1), [new["events"][-1]["text"]], "the newest")
    return path


def test_repeats(m, path):
    c = m.control()
    before = c.ask("events")["last"]
    client = m.client()
    client.hello(path)
    for _ in range(50):
        same(client.reserve(0, 8 * GIB // UNIT)[0], NO_ROOM, "refused") if _ == 0 else client.reserve(
            0, 8 * GIB // UNIT)
    events = c.ask("events", after=before)["events"]
    same([(e["kind"], e["tenant"], e["count"]) for e in events], [("refusal", "one", 50)], "repeats are counted")
    same(len(c.ask("events", kind="refusal", tenant="one", device="0")["events"]), 1, "found by all that it has")
    same(texts(c, kind="fault"), [], "not as another kind")
    same(texts(c, tenant="other"), [], "nor another tenant's")
    same(texts(c, device="1"), [], "nor another device's")


def test_bounded(m):
    c = m.control()
    for i in range(600):  # two lines each
        c.ask("grant_create", name=f"n{i}", driver="soft", devices=[{"device": "0", "mem_bytes": 512}])
        c.ask("grant_delete", name=f"n{i}")
    events = c.ask("events")["events"]
    same((len(events), events[-1]["tenant"]), (1024, "n599"), "the newest are kept")


def test_refusals(m):
    c = m.control()
    for fields, code in (({"after": -1}, "malformed"), ({"after": "x"}, "malformed"), ({"limit": 1.5}, "malformed"),
                         ({"kind": "x"}, "malformed"), ({"tenant": 1}, "malformed"), ({"device": 0}, "malformed"),
                         ({"device": "99"}, "unknown-device"), ({"device": "GPU-6d65"}, "ambiguous-device")):
        answer = c.ask("events", **fields)
        same((answer["ok"], answer.get("code")), (False, code), f"{fields}: {code}")
    ok(c.ask("events", limit=10 ** 15)["ok"], "a large limit is none")


def test_restart(directory):
    """What happened under a grant is known to the next meted too; not what happened under another one of its name."""
    m = Meted("--soft-only", directory=directory)
    m.make("one", quota=GIB)
    m.control().ask("grant_set", name="one", devices=[{"mem_bytes": 3 * GIB}])
    m.control().ask("grant_delete", name="one")
    time.sleep(1.1)  # a grant's time has whole seconds
    path = m.make("one", quota=GIB)
    client = m.client()
    client.hello(path)
    for _ in range(5):
        client.reserve(0, 8 * GIB // UNIT)
    client.kill()
    events = [(e["text"], e["count"]) for e in m.control().grant("one")["events"]]
    ok(len(events) >= 2, "there are events", events)
    same(m.kill(signal.SIGTERM), 0, "meted leaves")
    m.start()
    after = [(e["text"], e["count"]) for e in m.control().grant("one")["events"]]
    same(after[-1], events[-1], "after a restart the last one is there")
    ok(after[0][0].startswith(events[0][0]) and len(after) == len(events), "and the first, of this grant", after)
    m.close()


with tempfile.TemporaryDirectory(prefix="mete-t-", dir="/tmp") as folder:
    test_restart(folder)
m = Meted()
until(lambda: m.control().ask("devices")["devices"])
test_repeats(m, test_lines(m))
test_bounded(m)
test_refusals(m)
m.close()
finish()
