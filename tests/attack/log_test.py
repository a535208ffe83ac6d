"""A local user has so many lines written to meted's log that those about other users would be left out, or the disk fills."""
from ground import *

AT_ONCE, A_SECOND = 40, 10
METE = os.path.join(BUILD, "src/cli/mete")
root_only("lines about another user")
s = system("--http", "127.0.0.1:0")
mine = ask_as(UID, s.dir, soft("1M", "loud"))[0]["grant"]["socket"]
others = ask_as(VICTIM, s.dir, soft("1M", "quiet"))[0]["grant"]["socket"]


def babble(path, until_ns):
    """Requests that are none, and packets that are none, without an end."""
    said = 0
    while time.monotonic_ns() < until_ns:
        c = harness.Control(s.dir)
        e = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        e.connect(path)
        for _ in range(20):
            said += c.line("nonsense\n") is not None
        try:
            e.send(b"nonsense")
        except OSError:
            pass
        c.close()
        e.close()
    return said


def lines(*words):
    return [l for l in s.log().splitlines() if any(w in l for w in words)]


began = time.monotonic()
attacker = Child(UID, babble, mine, time.monotonic_ns() + 4 * 10**9)
ok(until(lambda: len(lines(f"uid {UID} ", "grant loud")) >= AT_ONCE), "a user causes as many lines as he may")
client = s.client()
client.hello(others)
for i in range(5):
    client.ask("event", 0, f"word-{i}-of-another")
    time.sleep(0.1)
said = attacker.value()
ok(until(lambda: len(lines("of-another")) == 5), "what is said about another user meanwhile is written", lines("of-another"))
bound = AT_ONCE + A_SECOND * (time.monotonic() - began + 1)
ok(said > 4 * bound, "he has done much more than is written", said, bound)
ok(len(lines(f"uid {UID} ", "grant loud")) <= 2 * bound, "his lines are bounded", len(lines(f"uid {UID} ")), bound)


def churn():
    c = harness.Control(s.dir)
    return [c.ask(**soft("1M", "brief"), known=True)["ok"] and c.ask("grant_delete", name="brief")["ok"] for _ in range(2 * AT_ONCE)]


time.sleep(0.2)
before, began = len(lines("grant brief")), time.monotonic()
same(as_user(UID, churn), [True] * 2 * AT_ONCE, "he makes and deletes grants")
bound = AT_ONCE + A_SECOND * (time.monotonic() - began + 1)
ok(len(lines("grant brief")) - before <= bound, "those lines are bounded as well", len(lines("grant brief")), bound)
ok(until(lambda: ask_as(UID, s.dir, soft("1M", "last"))[0]["ok"] and lines("more lines about uid"), 10), "that some were left out is said")
s.make("roots", 1 << 20)
for _ in range(2 * AT_ONCE):
    s.control().ask("grant_set", name="roots", devices=[{"device": "0", "mem_bytes": 1 << 20}])
same(len(lines("grant roots: changed by uid 0")), 2 * AT_ONCE, "of root's all are written")


# In a container of root's may be anybody's image.
def words(path, count):
    for _ in range(count):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as e:
            e.connect(path)
            e.send(b"nonsense")


path = s.make("container", 1 << 20)
before, began = len(lines("grant container: ")), time.monotonic()
words(path, 10 * AT_ONCE)
ok(until(lambda: len(lines("grant container: ")) - before >= AT_ONCE), "what a program of root's sends is written")
s.control().ask("devices")
bound = AT_ONCE + A_SECOND * (time.monotonic() - began + 1)
ok(len(lines("grant container: ")) - before <= bound, "its lines are bounded too", len(lines("grant container: ")), bound)
ok(until(lambda: words(path, 1) or lines("more lines about programs of grant"), 10), "that some were left out is said")


# At the HTTP port a peer has no number of a user: each connection above those of one source is a line.
def crowd(port, until_ns):
    ends, made = [], 0
    while time.monotonic_ns() < until_ns:
        ends.append(socket.create_connection(("127.0.0.1", port), timeout=5))
        made += 1
        if len(ends) > 100:
            for end in ends:
                end.close()
            ends.clear()
    return made


FAULTS = 5
port = int(s.control().ask("hello")["http"].rsplit(":", 1)[1])
socket.create_connection(("127.0.0.1", port)).close()  # loads what the attacker's process could not read
began = time.monotonic()
attacker = Child(UID, crowd, port, time.monotonic_ns() + (FAULTS + 2) * 10**9)
ok(until(lambda: len(lines("http: ")) >= AT_ONCE), "a peer of the HTTP port causes lines as well")
for _ in range(FAULTS):
    time.sleep((1.3 - time.monotonic()) % 1)  # half a second later it is a line: late in a second of which lines are counted
    subprocess.run([METE, "soft", "fault", "0", "--xid", "63"], env=s.env, check=True)
made = attacker.value()
bound = 2 * AT_ONCE * (time.monotonic() - began + 1)
ok(len(lines("http: ")) < min(bound, made / 2), "which are bounded", made, len(lines("http: ")), bound)
ok(until(lambda: len(lines("Xid 63")) == FAULTS), "and of the faults of the device meanwhile each is written", lines("Xid 63"))
s.close()
finish()
