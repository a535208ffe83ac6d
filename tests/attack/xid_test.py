"""
A user's program causes an error of the device and ends, and many short processes of his end after it: the error, which the
driver reports a moment later by the process's number, is still put down to his grant.
"""
from ground import *

METE = os.path.join(BUILD, "src/cli/mete")
MANY = 150
root_only("programs of another user")
s = system()
same([a["ok"] for a in ask_as(UID, s.dir, soft("64M", "guilty"))], [True], "a user makes a grant")
path = os.path.join(s.dir, "grants", "guilty.sock")
guilty = s.client()
same(guilty.hello(path), OK, "a program of his begins")


def faults():
    return [e for e in s.control().ask("events", kind="fault")["events"]]


def report(number):
    subprocess.run([METE, "soft", "fault", "0", "--xid", number], env=s.env, check=True)


# Where the device is, as the driver's log names it.
LOG = os.path.join(s.env["METE_SOFT_DIR"], "kernel.log")
report("63")
ok(until(faults, 10), "the device reports an error of its own")
with open(LOG, encoding="ascii") as log:
    PCI = log.read().split("Xid (")[1].split(")")[0]
guilty.kill()

began = time.monotonic()
subprocess.run([harness.WIRE_CLIENT, "burst", path, str(MANY)], user=UID, group=UID, extra_groups=[], stdout=subprocess.DEVNULL,
               stdin=subprocess.DEVNULL, check=True)
ok(until(lambda: s.control().grant("guilty")["attached_total"] >= MANY), "it ends, and many short ones after it")
if time.monotonic() - began > 4:
    skip("whose error it was", "this machine is too slow for so many programs in so little time")
else:
    with open(LOG, "a", encoding="ascii") as f:
        f.write(f"4,1,1,-;NVRM: Xid ({PCI}): 31, pid={guilty.pid}, name=guilty, Ch 0000001e\n")
    report("31")
    ok(until(lambda: any("Xid 31" in e["text"] for e in faults()), 10), "then the driver reports what it did")
    same({e["tenant"] for e in faults() if str(guilty.pid) in e["text"]}, {"guilty"}, "which is put down to his grant")
s.close()
finish()
