"""
A tenant who makes meted keep many workers for nobody, with grants of as many sets of devices as there are: each takes memory of
the machine that is in no cgroup of his.
"""
import itertools

from ground import *

SPARE_OF_USER = 8  # src/daemon/workers/pool.h


def sets(count):
    """Requests for walled grants of 512 bytes, each on a set of devices of its own."""
    all_sets = [p for k in (1, 2, 3) for p in itertools.permutations(range(4), k)]
    return [{"op": "grant_create", "driver": "soft", "wall": True, "devices": [{"device": str(i), "mem_bytes": UNIT} for i in p]}
            for p in all_sets[:count]]


def workers():
    """Of meted: how many there are."""
    n = 0
    for pid in os.listdir("/proc"):
        try:
            with open(f"/proc/{pid}/stat") as f:
                name, rest = f.read().rsplit(")", 1)
        except (OSError, ValueError):
            continue
        n += int(rest.split()[1]) == s.process.pid and name.endswith("(mete-worker")
    return n


def most_workers(seconds):
    """Until none has come for some seconds."""
    most, since = 0, time.monotonic()
    while time.monotonic() - since < seconds * PATIENCE:
        if workers() > most:
            most, since = workers(), time.monotonic()
        time.sleep(0.1)
    return most


root_only("many sets of devices")
s = system(env={"METE_SOFT_DEVICES": "4"})
c = s.control()
answers = ask_as(UID, s.dir, *sets(24))
ok(all(a["ok"] for a in answers), "a user may have grants of many sets of devices", [a for a in answers if not a["ok"]][:1])
most = most_workers(4)
ok(0 < most <= SPARE_OF_USER, f"for all of them {SPARE_OF_USER} workers wait at most", most)
path = ask_as(VICTIM, s.dir, {**sets(1)[0], "devices": [{"device": "3", "mem_bytes": 64 << 20}, {"device": "0", "mem_bytes": 64 << 20}]})
client = Program(path[0]["grant"]["wall"])
same(client.status(), 0, "another user's program gets one")
client.end()
c.close()
s.close()
finish()
