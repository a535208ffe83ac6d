"""A local user has so many refusals written down that nothing else is left among the events."""
from ground import *

root_only("refusals of another user")
LINES = 1024
s = system()
c = s.control()
same(c.ask("device_cordon", device="0", reason="smells")["ok"], True, "root takes a device out of service")
same(c.ask("device_uncordon", device="0")["ok"], True, "and gives it back")
same(c.ask(**soft("64M", "important"))["ok"], True, "and makes a grant")


def kept():
    """How many of the events are root's doing, and how many there are."""
    events = s.control().ask("events")["events"]
    words = ("smells", "in service", "made by uid 0", "started")
    return sorted({w for w in words for e in events if w in e["text"]}), len(events)


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
ok(len(before) >= 3, "which are events", before)
same(as_user(UID, flood, 0), 2 * LINES, "a user is refused thousands of grants, each of another name")
same(kept(), (before, LINES), "root's events are still there")


def stored():
    """Lines in history.db, which is meted's own while it runs: looked at when it has left."""
    import sqlite3
    with sqlite3.connect(os.path.join(s.dir, "history.db")) as db:
        return db.execute("SELECT count(*) FROM journal").fetchone()[0]


s.kill(signal.SIGTERM)
ok(stored() <= LINES, "no more are kept on the disk", stored())
s.start()
same(kept()[0], before, "and are there when meted begins again")
same(as_user(UID, flood, 10000), 2 * LINES, "thousands more")
same(kept(), (before, LINES), "root's events stay")
s.kill(signal.SIGTERM)
ok(stored() <= LINES, "as do the lines on the disk", stored())
s.start()
c = s.control()
c.ask("grant_delete", name="important")
s.close()
finish()
