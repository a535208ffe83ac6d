"""
A user's thousands of processes, seated at a device, whose doorbell is rung all the time: the thread that gives turns works
no longer than it may (half of a core), and another user's tenant on the same device has what is guaranteed to it. How much
less the thread works depends on the machine (0.25 to 0.47 of a core have been seen), so that is printed and not judged.
"""
from ground import *

GRANTS, SECONDS = 4, 4
PROCESSES = int(sys.argv[2]) if len(sys.argv) > 2 else 2000  # all together
root_only("programs of another user")
s = system()


def grant(uid, name, **words):
    answer = ask_as(uid, s.dir, {"op": "grant_create", "name": name, "driver": "soft", "devices": [
        {"device": "0", "mem_bytes": 1 << 20, **words}]})[0]
    return answer["grant"]["socket"]


def had(path):
    """What part of the time a tenant with 50 % has its kernels, how long it waits for a turn at most, and the thread's part of a core."""
    before, began = turns_spent(s), time.monotonic()
    done = turn_client(path, "1000", "0", str(SECONDS), nice=-15).communicate("", timeout=60)[0].split()[-4:]
    return int(done[1]) / 1e6 / SECONDS, int(done[3]) / 1e3, (turns_spent(s) - before) / (time.monotonic() - began)


victim = grant(VICTIM, "victim", cores=50, policy="burst")
crowds = [turn_client(grant(UID, f"crowd{i}", policy="fair"), "crowd", str(PROCESSES // GRANTS), "3600", nice=19) for i in range(GRANTS)]
for c in crowds:
    while c.stdout.readline() not in ("stands\n", ""):
        pass
share, waits, part = had(victim)
print(f"# beside {PROCESSES} processes: {share:.3f} of the time, waits of {waits:.0f} ms at most, the thread {part:.2f} of a core", flush=True)
ok(all(c.poll() is None for c in crowds), "the crowds stand")
ok(part < 0.55, f"beside {PROCESSES} processes whose doorbells ring the thread works no longer than it may", part)
ok(share > 0.42, "and a tenant with 50 % of the same device has them", share, waits)
ok(s.control().ask("grants", name="victim")["ok"], "root is answered")
for c in crowds:
    c.kill()
    c.communicate()
s.close()
finish()
