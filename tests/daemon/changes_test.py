"""The request "changes": it waits until a grant or a device has changed, misses nothing, and costs no place that somebody needs.
changes_test.py BUILD"""
import select

from harness import *


def ask_later(c, **fields):
    c.socket.sendall((json.dumps({"op": "changes", **fields}) + "\n").encode())


def there(c, seconds=0):
    """The answer to ask_later(); None: it is not there within the time."""
    if not select.select([c.socket], [], [], seconds)[0]:
        return None
    line = c.file.readline()
    return json.loads(line) if line else {"ended": True}


def create(c, name, **fields):
    answer = c.ask("grant_create", name=name, driver="soft", devices=[{"device": "0", "mem_bytes": GIB, **fields.pop("terms", {})}], **fields)
    ok(answer["ok"], f"{name} is made", answer)


def test_changes(m):
    """Each kind of change is told, and nothing else."""
    c, w = m.control(), m.control()
    ok(c.ask("devices")["devices"], "the drivers have been asked")
    seen = w.ask("changes")["seen"]
    same(w.ask("changes", seen=seen, within_s=0), {"seen": seen, "changed": False, "ok": True}, "nothing has changed")
    container = subprocess.Popen(["sleep", "600"])
    atexit.register(container.kill)
    steps = (("a grant", lambda: create(c, "one", container={})),
             ("a label", lambda: c.ask("grant_label", name="one", labels={"pod": "p"})),
             ("a container", lambda: c.ask("grant_bind", name="one", runner_pid=container.pid)),
             ("a size", lambda: c.ask("grant_set", name="one", devices=[{"mem_bytes": GIB // 2}])),
             ("a cordon", lambda: c.ask("device_cordon", device="1", reason="why")),
             ("another reason", lambda: c.ask("device_cordon", device="1", reason="this is why")),
             ("its end", lambda: c.ask("device_uncordon", device="1")),
             ("a device for native programs", lambda: c.ask("policy_set", device="1", native="allow")),
             ("the end of a grant", container.kill))
    for what, step in steps:
        ask_later(w, seen=seen, within_s=60)
        for op in ("devices", "grants", "events", "metrics"):
            c.ask(op)
        same(there(w, 0.05), None, f"{what}: it waits while others only look")
        step()
        answer = there(w, 20 * PATIENCE)
        ok(answer and answer["changed"] and answer["seen"] != seen, f"{what} is a change", answer)
        # One step may be several changes.
        while answer["changed"]:
            seen = answer["seen"]
            answer = w.ask("changes", seen=seen, within_s=0)


def test_programs(m):
    """That a program comes and goes is told; what it holds is not."""
    c, w = m.control(), m.control()
    create(c, "busy")
    seen = w.ask("changes")["seen"]
    ask_later(w, seen=seen, within_s=60)
    client = m.client()
    client.hello(c.grant("busy")["socket"])
    answer = there(w, 20 * PATIENCE)
    ok(answer and answer["changed"], "a program attached", answer)
    seen = answer["seen"]
    ask_later(w, seen=seen, within_s=60)
    client.hold(0, 100)
    until(lambda: c.share("busy")["held_bytes"], 10)
    same(there(w, 0.1), None, "what it holds is no change")
    client.close()
    m.clients.remove(client)
    ok(there(w, 20 * PATIENCE), "it has gone")


def test_missed(m):
    """What happened between two requests, and while meted was away."""
    c, w = m.control(), m.control()
    seen = w.ask("changes")["seen"]
    create(c, "between")
    answer = w.ask("changes", seen=seen, within_s=60)
    ok(answer["changed"], "a change before the request is told at once", answer)
    seen = answer["seen"]
    m.kill()
    m.start()
    until(lambda: m.control().ask("devices")["devices"], 20)
    w = m.control()
    same(w.ask("changes", seen=seen, within_s=0)["changed"], False, "a restart is no change")
    m.control().ask("grant_delete", name="between")
    ok(w.ask("changes", seen=seen, within_s=0)["changed"], "what changed after it is")


def test_upgrade(m):
    """Who waits goes on waiting at the next meted."""
    w = m.control()
    seen = w.ask("changes")["seen"]
    ask_later(w, seen=seen, within_s=300)
    answer = m.control().ask("upgrade")
    ok(answer["ok"], "another meted takes over", answer)
    create(m.control(), "after")
    answer = there(w, 20 * PATIENCE)
    ok(answer and answer.get("changed") and answer["seen"] != seen, "and tells what has changed", answer)
    m.control().ask("grant_delete", name="after")


def test_time(m):
    w = m.control()
    seen = w.ask("changes")["seen"]
    began = time.monotonic()
    answer = w.ask("changes", seen=seen, within_s=1)
    ok(not answer["changed"] and 0.9 < time.monotonic() - began, "it is answered when its time is over", answer)
    for fields in ({"seen": "x"}, {"seen": "0" * 15 + "g"}, {"seen": " " * 16}, {"within_s": -1}, {"within_s": 301}, {"within_s": 1.5}):
        answer = w.ask("changes", **fields)
        same((answer["ok"], answer.get("code")), (False, "malformed"), f"{fields} is refused")


def test_many(m):
    """All that wait are told, and one that ends is forgotten."""
    c = m.control()
    seen = c.ask("changes")["seen"]
    many = [m.control() for _ in range(200)]
    for w in many:
        ask_later(w, seen=seen, within_s=300)
    many.pop().close()
    create(c, "all")
    told = [there(w, 20 * PATIENCE) for w in many]
    same(len({a["seen"] for a in told if a and a["changed"]}), 1, "all are told the same")
    c.ask("grant_delete", name="all")
    for w in many:
        w.close()


def test_places():
    """Who waits keeps no place from another connection of his, and none from another user."""
    if os.geteuid():
        skip("places of other users", "needs root")
        return
    m = Meted("--system", "--config", "", "--soft-only")
    os.chmod(m.dir, 0o755)

    def connect(uid):
        os.seteuid(uid)
        try:
            return m.control()
        finally:
            os.seteuid(0)
    many = [connect(65534) for _ in range(64)]
    c = m.control()
    c.ask("devices")  # the drivers have been asked: that is a change as well
    seen = c.ask("changes")["seen"]
    for w in many:
        ask_later(w, seen=seen, within_s=300)
    more = [connect(65534) for _ in range(8)]
    ok(all((w.ask("hello") or {}).get("ok") for w in more), "a user's next connection gets the place of one that waits")
    ended = [w for w in many if (there(w) or {}).get("ended")]
    same((len(ended), ended), (8, many[:8]), "the one that has waited longest is closed")
    m.close()


m = Meted()
for test in (test_changes, test_programs, test_missed, test_upgrade, test_time, test_many):
    test(m)
m.close()
test_places()
finish()
