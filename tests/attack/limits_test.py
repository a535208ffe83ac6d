"""
What a user may create and promise has bounds that the operator sets (limits: of meted.yaml); root has none, and nobody
takes what another user has.
"""
from ground import *

GROUP = 61500


def code(answer):
    return "ok" if answer["ok"] else answer["code"]


def settings(text):
    with open(FILE, "w", encoding="utf-8") as f:
        f.write("limits:\n" + text)
    return FILE


def reload(text):
    settings(text)
    seen = s.log().count("have changed") + s.log().count(" now")
    os.kill(s.process.pid, signal.SIGHUP)
    until(lambda: s.log().count("have changed") + s.log().count(" now") > seen)


root_only("limits of users")
place = tempfile.mkdtemp(prefix="mete-limits-", dir="/tmp")
atexit.register(shutil.rmtree, place, True)
FILE = os.path.join(place, "meted.yaml")

s = system()
answers = ask_as(UID, s.dir, *[soft("1M", f"greedy-{i}") for i in range(70)])
same([code(a) for a in answers], ["ok"] * 64 + ["over-limit"] * 6, "a user makes 70 grants: 64 by default")
ok("limits.grants" in answers[-1]["error"] and "mete delete" in answers[-1]["error"], "the refusal names key and remedy",
   answers[-1])
same(code(ask_as(VICTIM, s.dir, soft("1M", "other"))[0]), "ok", "another user makes one")
for i in range(80):
    s.make(f"root-{i}", 1 << 20)
ok(True, "root makes 80")
ask_as(UID, s.dir, {"op": "grant_delete", "name": "greedy-3"})
same(code(ask_as(UID, s.dir, soft("1M", "again"))[0]), "ok", "who deletes one may make another")
s.close()

s = system("--config", settings("  grants: 3\n  all_grants: 5\n  mem: 50\n  cores: 30\n  processes: 2\n"))
c = s.control()
first, more, rest = ask_as(UID, s.dir, soft("7G", "a"), soft("2G", "b"),
                           {"op": "grant_create", "name": "b", "driver": "soft", "devices": [{"device": "0"}]})
same([code(first), code(more), code(rest)], ["ok", "over-limit", "ok"], "half of a device is promised to a user, not more")
ok("limits.mem" in more["error"], "the refusal names the key", more)
same(rest["grant"]["devices"][0]["quota_bytes"], GIB, "who asks for what is left gets what the limit leaves")
grown, = ask_as(UID, s.dir, {"op": "grant_set", "name": "a", "devices": [{"device": "0", "mem_bytes": 8 * GIB}]})
same(code(grown), "over-limit", "nor by growing")
shrunk = ask_as(UID, s.dir, {"op": "grant_set", "name": "a", "devices": [{"device": "0", "mem_bytes": 2 * GIB}]},
                {"op": "grant_set", "name": "a", "devices": [{"device": "0", "mem_bytes": 7 * GIB}]})
same([code(a) for a in shrunk], ["ok", "ok"], "within the limit it goes down and up")
cores = ask_as(UID, s.dir, *[{"op": "grant_set", "name": n, "devices": [{"device": "0", "cores": p, "policy": "fixed"}]}
                             for n, p in (("a", 20), ("b", 20), ("b", 10))])
same([code(a) for a in cores], ["ok", "over-limit", "ok"], "time is guaranteed up to the limit")
ok("limits.cores" in cores[1]["error"], "the refusal names the key", cores[1])
same(code(c.ask("grant_set", name="b", devices=[{"device": "0", "cores": 40}])), "ok", "root may give more")

path = ask_as(VICTIM, s.dir, soft("1G", "programs"))[0]["grant"]["socket"]
clients = [s.client() for _ in range(3)]
same([x.hello(path) for x in clients], [OK, OK, FULL], "a grant has as many processes as it may")
ok("limits.processes" in s.log(), "the log names the key")
clients[0].kill()
ok(until(lambda: s.client().hello(path) == OK), "one ends: another may begin")
before = s.descriptors()
ends = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(300)]
for end in ends:
    end.connect(path)
ok(until(lambda: "the oldest is closed" in s.log()) and s.descriptors() <= before + 66,
   "of connections that say nothing a grant has 64", before, s.descriptors())
for end in ends:
    end.close()
ok(until(lambda: s.descriptors() <= before), "which leave nothing behind", before, s.descriptors())
same([code(a) for a in ask_as(VICTIM, s.dir, soft("1M"), soft("1M"), soft("1M"))], ["ok", "ok", "over-limit"], "three grants")
crowd = [code(ask_as(uid, s.dir, soft("1M"))[0]) for uid in range(70000, 70004)]
same(crowd, ["over-limit"] * 4, "many users together have a bound as well")
ok(c.ask("grant_create", name="roots", driver="soft", devices=[{"device": "1", "mem_bytes": 1 << 20}])["ok"], "that is not root's")

reload(f"  grants: 3\n  users:\n    {UID}: {{grants: 4}}\n  groups:\n    {GROUP}: {{grants: 5}}\n")
same([code(a) for a in ask_as(UID, s.dir, soft("1M"), soft("1M"), soft("1M"))], ["ok", "ok", "over-limit"],
     "a user's own word, after a reload")
refused = ask_as(UID, s.dir, soft("1M"))[0]["error"]
ok(f"limits.users.{UID}.grants" in refused, "is what the refusal names", refused)
same([code(a) for a in ask_as(VICTIM, s.dir, soft("1M"))], ["over-limit"], "others have what all have")
Child.groups = [GROUP]
same([code(a) for a in ask_as(VICTIM, s.dir, soft("1M"), soft("1M"), soft("1M"))], ["ok", "ok", "over-limit"],
     "the members of a group what the group has")
same(code(ask_as(UID, s.dir, soft("1M"))[0]), "over-limit", "a user's own word comes before the groups'")


def seen(uid, limit, of="user"):
    """What a user is told of a bound: how much there is, how much may be, and by which setting."""
    rows = ask_as(uid, s.dir, {"op": "limits"})[0]["limits"]
    return [(r["have"], r["most"], r["key"]) for r in rows if r["limit"] == limit and r["of"] == of][0]


same(seen(UID, "grants"), (4, 4, f"limits.users.{UID}.grants"), "a user sees what holds for them")
same(seen(VICTIM, "grants"), (5, 5, f"limits.groups.{GROUP}.grants"), "also by a group")
reload("  mem: 25\n  cores: 40\n")
own = sum(d["quota_bytes"] for g in c.ask("grants")["grants"] for d in g["devices"] if g["uid"] == VICTIM and d["index"] == 0)
same(seen(VICTIM, "mem", "device 0 (soft)"), (own, 4 << 30, "limits.mem"), "memory, of each device")
same(seen(VICTIM, "cores", "device 1 (soft)"), (0, 40, "limits.cores"), "and time")
same(seen(0, "grants")[1], None, "root has no bound")
answer = ask_as(VICTIM, s.dir, soft("8G", wait=True))[0]
same((answer["code"], answer["for"], answer["place"]), ("waiting", "over-limit", 1), "who is at a bound may wait for their own")
same(c.ask("grants")["waiting"], [], "as long as they are connected")
c.close()
s.close()

s = system("--config", settings("  processes: 2\n"))
paths = [a["grant"]["socket"] for a in ask_as(UID, s.dir, *[soft("1M") for _ in range(5)])]
clients = [s.client() for _ in range(10)]
same([x.hello(p) for x, p in zip(clients, paths * 2)], [OK] * 8 + [FULL] * 2,
     "all grants of a user have as many processes as four may have")
other = ask_as(VICTIM, s.dir, soft("1M"))[0]["grant"]["socket"]
clients += [s.client()]
same(clients[-1].hello(other), OK, "another user's are not among them")
walled, gone = ask_as(70000, s.dir, {**soft("1M", "gone"), "wall": True}, {"op": "grant_suspend", "name": "gone"})
c = s.control()
ok(gone["ok"] and until(lambda: c.grant("gone")["suspension"]["state"] == "away"), "a user suspends a grant", gone)
clients = [s.client() for _ in range(3)]
for client in clients[:2]:
    client.tell("hello", walled["grant"]["socket"])
until(lambda: len(c.grant("gone")["suspension"]["waiting"]) == 2)
same(clients[2].hello(walled["grant"]["socket"]), FULL, "programs that wait until it is resumed count as its processes")
same(sorted(c.grant("gone")["suspension"]["waiting"]), sorted(client.pid for client in clients[:2]), "and no more of them wait")
for client in clients:
    client.close()
c.close()
s.close()
finish()
