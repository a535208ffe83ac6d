"""
A local user sends a grant to another device, by which what others are promised there, or his own limits, would be passed
over; and says at his wall that his programs keep more memory in the host's than there is.
"""
import struct
import tempfile

from ground import *

root_only("moves of another user's grants")
HALF = (512 << 20) // 512  # units of the account
settings = tempfile.NamedTemporaryFile("w", suffix=".yaml")
settings.write("limits: {mem: 40, cores: 60}\n")
settings.flush()


def walled(name, cores=None, mem="1G", device="0"):
    share = {"device": device, "mem_bytes": size_bytes(mem), **({"cores": cores, "policy": "burst"} if cores else {})}
    return {"op": "grant_create", "name": name, "driver": "soft", "wall": True, "devices": [share]}


def move(name, device):
    return {"op": "grant_move", "name": name, "device": device}


def code(answer):
    return "ok" if answer["ok"] else answer["code"]


def device_of(s, name):
    return s.control().share(name)["index"]


def promised(s, device):
    return s.control().ask("devices", known=True)["devices"][device]["promised_cores"]


s = system()
same(code(ask_as(VICTIM, s.dir, walled("victim", cores=70, device="1"))[0]), "ok", "a user is guaranteed 70 % of a device")
answers = ask_as(UID, s.dir, walled("greedy", cores=50), walled("small", cores=20), walled("twin", cores=20), move("greedy", "1"))
same([code(a) for a in answers], ["ok", "ok", "ok", "over-promised"], "another's grant of 50 % cannot go there")
answers = ask_as(UID, s.dir, move("small", "1"), move("twin", "1"))
ok(code(answers[0]) == "ok", "one of 20 % can", answers)
TWO = ("small", "twin")
ok(until(lambda: 1 in [device_of(s, n) for n in TWO]), "of two that are sent at once one goes")
ok(until(lambda: {s.control().grant(n)["suspension"]["state"] for n in TWO} <= {"none", "refused"}), "the other finds")
same((sorted(device_of(s, n) for n in TWO), promised(s, 1)), ([0, 1], 90.0), "that the time has gone, and stays")
GONE, STAYED = sorted(TWO, key=lambda n: -device_of(s, n))
c = s.control()
same(code(c.ask("grant_delete", name="victim")), "ok", "the other user's grant ends")
same(code(ask_as(UID, s.dir, {"op": "grant_set", "name": GONE, "devices": [{"cores": 0, "policy": "native"}]})[0]), "bad-share",
     "a share of nothing is none")
same(code(ask_as(UID, s.dir, {"op": "grant_delete", "name": GONE})[0]), "ok", "nothing is guaranteed on that device any more")
same(code(c.ask("policy_set", device="1", native="allow")), "ok", "root lets programs without a share run there unheld")
same(code(ask_as(UID, s.dir, move(STAYED, "1"))[0]), "native-runs", "no guarantee can be taken there")
c.close()
s.close()

s = system("--config", settings.name)
answers = ask_as(UID, s.dir, walled("here", cores=40, mem="4G"), walled("there", cores=40, mem="4G", device="1"), move("here", "1"))
same([code(a) for a in answers], ["ok", "ok", "over-limit"], "what a user may promise of a device bounds a grant that goes there")
ok("limits.mem" in answers[-1]["error"], "the refusal names the key", answers[-1])
answers = ask_as(UID, s.dir, {"op": "grant_set", "name": "here", "devices": [{"mem_bytes": 1 << 20}]}, move("here", "1"))
same([code(a) for a in answers], ["ok", "over-limit"], "and so does the time that may be guaranteed to him")
ok("limits.cores" in answers[-1]["error"], "the refusal names the key", answers[-1])
s.close()

# What a client at the wall says that it keeps.
s = system(env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "1G"})
with open(os.path.join(BUILD, "api/cuda_remote.h")) as f:
    FINGERPRINT = int(re.search(r"FINGERPRINT UINT32_C\((\w+)\)", f.read())[1], 16)
BRINGS = 8


def knock(count):
    """Clients of a suspended grant's wall that say they keep an exabyte each."""
    ends = []
    for _ in range(count):
        ends.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        ends[-1].connect(os.path.join(s.dir, "grants", "liar@wall.sock"))
        ends[-1].send(struct.pack("<IIIIi32sQQ48s", 0x6d657465, 1, FINGERPRINT, BRINGS, os.getpid(), b"liar", 0, 1 << 63, b""))
    time.sleep(3600)


def joined(name):
    client = s.client()
    client.hello(os.path.join(s.dir, "grants", name + ".sock"))
    return client


c = s.control()
same(code(c.ask(**soft("1G", "roots", spill=True))), "ok", "root makes a grant with --spill")
same(code(ask_as(VICTIM, s.dir, soft("512M", "sure"))[0]), "ok", "a user is promised half of the device")
roots = joined("roots")
roots.ask("place", 0, 0, 0, 0)
ok(roots.hold(0, 2 * HALF), "root's program is lent all of it, for it can leave")
roots.ask("place", 0, 0, 0, 2 * HALF)
answers = ask_as(UID, s.dir, walled("liar", mem="1M"), {"op": "grant_suspend", "name": "liar"})
same([code(a) for a in answers], ["ok", "ok"], "another user suspends a grant behind a wall")
liars = Child(UID, knock, 3)
ok(until(lambda: s.control().share("liar")["away_bytes"]), "whose programs say that they keep exabytes in the host's memory")
same(c.share("liar")["away_bytes"], 1 << 20, "which is believed up to the grant's quota")
sure = joined("sure")
ok(until(lambda: sure.hold(0, HALF) or roots.ask("wish", 0)[0], 10), "root's program is asked to leave for whom the memory is promised to")
liars.kill()
c.close()
s.close()
finish()
