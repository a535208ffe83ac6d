"""
A tenant who connects to the wall and says nothing, or who has many programs: contexts of workers take memory of the
device, and no promise to others may suffer by that.
"""
from ground import *

CONTEXT = 300 << 20
FULL = 3  # WALL_FULL


def most_used(seconds):
    end, most = time.monotonic() + seconds * PATIENCE, 0
    while time.monotonic() < end:
        most = max(most, count_of.used())
        time.sleep(0.1)
    return most


def silent(path, ready, count=60):
    """Connects and says nothing; how long it took until the first connection was closed."""
    ends = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(count)]
    for end in ends:
        end.connect(path)
    os.write(ready, b"!")
    os.close(ready)
    began = time.monotonic()
    ends[0].settimeout(20)
    closed = ends[0].recv(1) == b""
    return closed, time.monotonic() - began


root_only("a silent client of a wall")
s = system(env={"METE_SOFT_CONTEXT_MEMORY": "300M"})
c = s.control()
count_of = judge(s)
s.make("promised", 14 * GIB)
wall = ask_as(UID, s.dir, soft("512M", "silent", wall=True))[0]["grant"]["wall"]
other = ask_as(VICTIM, s.dir, soft("512M", "other", wall=True))[0]["grant"]["wall"]
ok(until(lambda: count_of.used() == 2 * CONTEXT, 10), "two workers wait", count_of.used())
read, write = os.pipe()
attacker = Child(UID, silent, wall, write)
os.close(write)
os.read(read, 1)
os.close(read)
client = Program(other)
most = most_used(4)
same(client.status(), 0, "while many say nothing at a wall, another tenant's program gets a worker")
ok(client.ms < 3000 * PATIENCE, "at once", client.ms)
ok(most <= 2 * GIB, "and of the device no more is taken than is promised to nobody", most)
closed, seconds = attacker.value()
ok(closed and seconds < 3 * PATIENCE, "who says nothing is dropped after about a second", closed, seconds)
client.end()

programs = [Program(wall) for _ in range(12)]
most = most_used(3)
statuses = sorted(p.status() for p in programs)
same(statuses, [0] + [FULL] * 11, "of many programs those get a worker for whose contexts the quota has room")
ok(any("no room for a context" in p.text for p in programs), "the others are told so", [p.text for p in programs])
ok(most <= 2 * GIB, "and again no promise is touched", most)

s.make("rest", 16 * GIB - 15 * GIB)
same(len(c.ask("grants")["grants"]), 4, "all of the device is promised")
ok(until(lambda: count_of.used() <= CONTEXT, 3), "workers that wait make room", count_of.used())
for p in programs:
    p.end()
ok(until(lambda: count_of.used() == 0, 5), "and without clients nothing is taken", count_of.used())
late = Program(wall)
same(late.status(), 0, "a program gets a worker all the same, whose context is charged to its grant")
same(c.share("silent")["held_bytes"], CONTEXT, "as it stands in its account")
late.end()
ok(until(lambda: c.share("silent")["held_bytes"] == 0, 5), "until it ends")
count_of.close()
c.close()
s.close()
finish()
