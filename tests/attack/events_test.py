"""A local user has so many refusals, and so much about his own grants, written down that nothing else is left among the events."""
from ground import *

root_only("refusals of another user")
LINES = 1024
s = system()
c = s.control()
same(c.ask("device_cordon", device="0", reason="smells")["ok"], True, "root takes a device out of service")
same(c.ask("device_uncordon", device="0")["ok"], True, "and gives it back")
same(c.ask(**soft("64M", "important"))["ok"], True, "and makes a grant")
same([a["ok"] for a in ask_as(VICTIM, s.dir, soft("64M", "others"), {"op": "grant_create", "driver": "soft", "devices": [
    {"device": "0", "mem_bytes": 900 << 30}]})], [True, False], "another user makes one, and is refused one without a name")


def kept():
    """How many of the events are root's doing, and how many there are."""
    events = s.control().ask("events")["events"]
    words = ("smells", "in service", "made by uid 0", "started", f"made by uid {VICTIM}", f"uid {VICTIM}: device 0")
    return sorted({w for w in words for e in events if w in e["text"]}), len(events)


def churn(first):
    """Requests that wait for as many different amounts of room, and are given up."""
    control = harness.Control(s.dir)
    waited = 0
    for n in range(first, first + 2 * LINES):
        share = {"driver": "soft", "devices": [{"device": "0", "mem_bytes": 16 * GIB - n * UNIT}]}
        waited += control.ask("grant_create", known=True, wait=True, **share)["code"] == "waiting"
        control.ask("grant_create", known=True, **share)
    control.close()
    return waited


def flood(first):
    """Refusals of grants of as many names; a device is asked for that has never so much."""
    control = harness.Control(s.dir)
    refused = 0
    for n in range(first, first + 2 * LINES):
        answer = control.ask(**soft("900G", f"none-{n}"), known=True)
        refused += not answer["ok"]
    control.close()
    return refused


before, _ = kept()
same(len(before), 6, "which are events")
same(as_user(UID, flood, 0), 2 * LINES, "a user is refused thousands of grants, each of another name")
same(kept(), (before, LINES), "root's events are still there, and the other user's")
same(as_user(UID, churn, 0), 2 * LINES, "his requests wait thousands of times, each for another amount")
same(kept(), (before, LINES), "all of these events are still there")


def stored():
    """Lines in history.db, which is meted's own while it runs: looked at when it has left."""
    import sqlite3
    with sqlite3.connect(os.path.join(s.dir, "history.db")) as db:
        return db.execute("SELECT count(*) FROM journal").fetchone()[0]


s.kill(signal.SIGTERM)
ok(stored() <= LINES, "no more are kept on the disk", stored())
s.start()
same(kept()[0], before, "and are there when meted begins again")
same(as_user(UID, churn, 10000), 2 * LINES, "thousands of requests more wait")
same(kept(), (before, LINES), "they stay: meted knows whose events there were")
same(as_user(UID, flood, 10000), 2 * LINES, "thousands more")
same(kept(), (before, LINES), "root's events stay")
s.kill(signal.SIGTERM)
ok(stored() <= LINES, "as do the lines on the disk", stored())
s.start()
c = s.control()
c.ask("grant_delete", name="important")
s.close()
finish()
