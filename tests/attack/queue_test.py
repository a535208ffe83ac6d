"""A tenant who starts many programs behind the wall at once: another tenant's program does not wait until all have a worker."""
from ground import *

import select

CROWD = 16


def connected(programs):
    """How many of them have connected to meted's socket; it need not have accepted them."""
    def has_socket(pid):
        try:
            return any(os.readlink(f"/proc/{pid}/fd/{n}")[len("socket:["):-1] in inodes for n in os.listdir(f"/proc/{pid}/fd"))
        except OSError:  # it is still being begun, and closes what it had open
            return False

    with open("/proc/net/unix") as f:
        inodes = {w[6] for w in map(str.split, f) if w[5] == "03"}
    return sum(has_socket(p.process.pid) for p in programs)


def all_come(programs):
    ok(until(lambda: connected(programs) == len(programs), 60), f"{len(programs)} programs have come")


root_only("a crowd at a wall")
s = system(env={"METE_SOFT_CONTEXT_MEMORY": "1M"})
wall = ask_as(UID, s.dir, soft("1G", "crowd", wall=True))[0]["grant"]["wall"]
other = ask_as(VICTIM, s.dir, soft("1G", "other", wall=True))[0]["grant"]["wall"]
c = s.control()
# Who is first does not depend on how fast the machine begins programs: meted stands until all have come.
s.process.send_signal(signal.SIGSTOP)
crowd = [Program(wall) for _ in range(CROWD)]
all_come(crowd)
client = Program(other)
all_come([client])
s.process.send_signal(signal.SIGCONT)
same(client.status(), 0, "while many of one grant wait for workers, another grant's program gets one")
got = len(select.select([p.process.stdout for p in crowd], [], [], 0)[0])
ok(got < CROWD / 2, "before most of them", got, client.ms)
same([p.status() for p in crowd], [0] * CROWD, "and all of them get theirs")
for p in crowd + [client]:
    p.end()
c.close()
s.close()
finish()
