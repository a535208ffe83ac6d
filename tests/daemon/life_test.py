"""The life of a grant, and who had a hand in it: one that nobody ever joined ends, also after restarts and upgrades; who made,
ended, cordoned and drained is told by requests, events and the log of actions. life_test.py BUILD"""
from harness import *

METE = os.path.join(BUILD, "src/cli/mete")
MIB = 1 << 20


def names(control):
    return [g["name"] for g in control.ask("grants")["grants"]]


def make(control, name, **fields):
    answer = control.ask("grant_create", name=name, driver="soft", devices=[{"device": "0", "mem_bytes": MIB}], **fields)
    return answer["grant"] if answer["ok"] else answer


def mete(m, *words):
    done = subprocess.run([METE, *words], env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def texts(control, **fields):
    return [e["text"] for e in control.ask("events", **fields)["events"]]


def test_expires(m):
    c = m.control()
    client = m.client()
    joined = make(c, "joined", expires_s=3)
    same(client.hello(joined["socket"]), OK, "a program joins one at once")
    grant = make(c, "short", expires_s=1)
    ok(0 <= grant["expires_in_s"] <= 1 and grant["expires"] > grant["created"], "it is shown", grant)
    long = make(c, "long", expires_s=3000)
    same((make(c, "plain")["expires"], make(c, "never", expires_s=0)["expires_in_s"]), (None, None), "others wait for nobody")
    for wrong in (-1, 1.5, "10m", 10**9):
        same(make(c, "wrong", expires_s=wrong).get("code"), "malformed", f"expires_s {wrong!r} is refused")
    same(c.grant("joined")["expires"], None, "which waits no more")
    ok(until(lambda: "short" not in names(c), 10), "one that nobody joins ends")
    ok(any("no program has joined it within 1 s" in t for t in texts(c, tenant="short")), "an event says so", texts(c, tenant="short"))
    client.kill()
    time.sleep(max(0, joined["expires"] + 1 - time.time()))
    ok("joined" in names(c), "one that was joined stays, also when its program has ended")
    for how in ("kill", "upgrade"):
        left = c.grant("long")["expires_in_s"]
        if how == "kill":
            c.close()
            m.kill()
            m.start()
            c = m.control()
        else:
            same(c.ask("upgrade")["ok"], True, "an upgrade")
        got = c.grant("long")
        ok(left - 30 < got["expires_in_s"] <= left and got["expires"] == long["expires"], f"{how}: it waits no longer than it was to", got)
        same(c.grant("joined")["expires"], None, f"{how}: who was joined stays")
    make(c, "over", expires_s=1)
    c.close()
    m.kill()
    time.sleep(1.2)
    m.start()
    c = m.control()
    ok(until(lambda: "over" not in names(c), 10), "one whose time ran out while there was no meted ends with the next", names(c))
    same(sorted(names(c)), ["joined", "long", "never", "plain"], "all others are there")
    status, out, _ = mete(m, "create", "by-hand", "--mem", "1M", "--expires", "1h", "--json")
    same((status, 3500 < json.loads(out)["grant"]["expires_in_s"] <= 3600), (0, True), "mete create --expires")
    shown, listed = mete(m, "show", "by-hand")[1], mete(m, "ps", "--wide")[1]
    ok("ENDS     in 59m" in shown or "ENDS     in 1h" in shown, "mete show says when", shown)
    ok("(ends in 59m" in listed or "(ends in 1h" in listed, "so does mete ps", listed)
    same([mete(m, "create", "x", "--mem", "1M", "--expires", word)[0] for word in ("soon", "0", "-1", "366d", "")], [2] * 5,
         "another word is refused")
    for name in names(c):
        c.ask("grant_delete", name=name)
    c.close()


def test_containers(m):
    """A container's grant waits ten minutes for it, unless it was said otherwise; a container that begins is its end."""
    c = m.control()
    container = {"files": {"settings": ""}}
    same(500 < make(c, "one", container=container)["expires_in_s"] <= 600, True, "a container's grant waits for ten minutes")
    same(make(c, "kept", container={**container, "keep": True})["expires"], None, "one for several waits for ever")
    same(make(c, "said", container=container, expires_s=7000)["expires_in_s"] > 6000, True, "as long as was said")
    same(make(c, "runs", container=container, runner_pid=os.getpid())["expires"], None, "one that has begun waits for nobody")
    child = subprocess.Popen(["sleep", "100"])
    same(c.ask("grant_bind", name="one", runner_pid=child.pid)["grant"]["expires"], None, "a container begins")
    make(c, "late", container=container, expires_s=1)
    ok(until(lambda: "late" not in names(c), 10), "one without a container ends")
    child.kill()
    child.wait()
    ok(until(lambda: "one" not in names(c), 10), "and the other with its container")
    for name in names(c):
        c.ask("grant_delete", name=name)
    c.close()


def test_who(m):
    c = m.control()
    me = f"uid {os.geteuid()}"
    device = c.ask("device_cordon", device="0", reason="a new fan")["device"]
    same((device["who"], device["reason"]), (me, "a new fan"), "who has cordoned, and why")
    ok(any(t == f"cordoned by {me}: a new fan" for t in texts(c, kind="device")), "an event says it", texts(c, kind="device"))
    device = c.ask("device_drain", device="0", grace_s=5, end=True)["device"]
    same(device["reason"], "a new fan", "a drain without a reason keeps the one that was given")
    device = c.ask("device_drain", device="0", end=True)["device"]
    same((device["reason"], device["who"]), ("a new fan", me), "so does a second one")
    ok(any(t.startswith(f"draining, by {me}: a new fan") for t in texts(c, kind="device")), "who drains is an event", texts(c, kind="device"))
    ok(f"a new fan (by {me})" in mete(m, "devices")[1], "mete devices", mete(m, "devices")[1])
    c.close()
    m.kill()
    m.start()
    c = m.control()
    same(c.ask("devices")["devices"][0]["who"], me, "it is known after a restart")
    device = c.ask("device_uncordon", device="0")["device"]
    same((device["who"], device["reason"]), (None, ""), "back in service")
    ok(f"in service again, by {me}" in texts(c, kind="device"), "an event says by whom", texts(c, kind="device"))
    same(c.ask("policy_set", device="0", policy="fair")["ok"], True, "a policy")
    ok(any(t.endswith(f"by {me}") and "policy fair" in t for t in texts(c, kind="action")), "an event says by whom", texts(c, kind="action"))
    same(c.ask("policy_set", device="0", policy="native")["ok"], True, "and back")
    make(c, "ends")
    same(c.grant("ends")["uid"], os.geteuid(), "who has promised")
    same(c.ask("grant_end", name="ends")["ok"], True, "ended")
    ok(any("is being ended by " + me in t for t in texts(c, tenant="ends")), "an event says by whom", texts(c, tenant="ends"))
    actions = [(a["action"], a["who"].split(",")[0], a["outcome"]) for a in c.ask("audit")["actions"]]
    for action in ("cordon", "drain", "uncordon", "policy", "end"):
        ok((action, me, "done") in actions, f"the log of actions has {action}", actions)
    drain = [a for a in c.ask("audit")["actions"] if a["action"] == "drain"][0]
    same((drain["request"], drain["target"].startswith("5")), ({"grace_s": 5, "end": True}, drain["target"].startswith("5")), "with what was asked")
    # What cannot be written down is not done.
    log = os.path.join(m.dir, "audit.log")
    os.rename(log, log + ".old")
    os.mkdir(log)
    answer = c.ask("device_cordon", device="0")
    same((answer["ok"], answer.get("code"), c.ask("devices")["devices"][0]["state"]), (False, "store", "active"),
         "what cannot be written down is not done")
    c.close()


def test_young(m):
    """A CDI file is written after its grant was made: until then nobody takes the grant for one whose file is gone."""
    path = os.path.join(m.dir, "late.json")
    c = m.control()
    make(c, "late", container={"spec": path})
    end = time.monotonic() + 1
    while time.monotonic() < end:  # each connection's end has meted look for grants that have ended
        m.control().close()
        time.sleep(0.02)
    ok(c.grant("late"), "a grant whose file is not there yet stays")

    def ended():
        m.control().close()
        return not c.grant("late")
    ok(until(ended, 20), "one whose file never came ends")
    c.close()


m = Meted("--soft-only")
test_expires(m)
test_young(m)
test_containers(m)
test_who(m)
m.close()
finish()
