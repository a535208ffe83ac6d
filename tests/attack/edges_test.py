"""
Many processes of a user say all the time that their work began and ended, and when, a little late, as programs of several
processes do: the thread that gives turns keeps its bound of processor time, and others their turns on another device.
"""
from ground import *

MANY, SECONDS = 200, 4
root_only("programs of another user")
s = system()


def grant(uid, name, device, **words):
    answer = ask_as(uid, s.dir, {"op": "grant_create", "name": name, "driver": "soft", "known": name != "loud", "devices": [
        {"device": device, "mem_bytes": 1 << 20, **words}]})[0]
    return answer["grant"]["socket"]


def share(clients):
    """How much of the time these had, all together."""
    began = time.monotonic()
    done = [c.communicate("", timeout=60)[0].split()[-4:] for c in clients]
    return sum(int(d[1]) for d in done) / 1e6 / SECONDS, time.monotonic() - began


loud = grant(UID, "loud", "1", policy="fair")
pair = [grant(VICTIM, "one", "0", cores=50, policy="burst"), grant(VICTIM + 1, "other", "0", cores=50, policy="burst")]
alone, _ = share([turn_client(p, "1000", "0", str(SECONDS)) for p in pair])
crowd = [turn_client(loud, "late", "0", "3600", nice=19) for _ in range(MANY)]
for c in crowd:
    c.stdout.readline()
before, began = turns_spent(s), time.monotonic()
beside, _ = share([turn_client(p, "1000", "0", str(SECONDS)) for p in pair])
part = (turns_spent(s) - before) / (time.monotonic() - began)
ok(part < 0.6, f"beside {MANY} processes that note edges without an end the thread has no more than half a core", part)
# Whose processor the machine is has its part in it.
ok(beside > alone * 0.75, "and two tenants of another device have their turns", beside, alone)
ok(s.control().ask("grants", name="loud")["ok"], "root is answered")
for c in crowd:
    c.kill()
    c.communicate()
s.close()
finish()
