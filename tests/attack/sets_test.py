"""
A tenant who makes meted keep many workers for nobody, with grants of as many sets of devices as there are: each takes memory of
the machine that is in no cgroup of his. The operator's settings of how many wait, and of what all take.
"""
import itertools

from ground import *

ALL_BYTES = 10 << 20

SPARE_OF_USER = 8  # src/daemon/workers/pool.h


def sets(count):
    """Requests for walled grants of 512 bytes, each on a set of devices of its own."""
    all_sets = [p for k in (1, 2, 3) for p in itertools.permutations(range(4), k)]
    return [{"op": "grant_create", "driver": "soft", "wall": True, "devices": [{"device": str(i), "mem_bytes": UNIT} for i in p]}
            for p in all_sets[:count]]


def workers():
    """Of meted: the processes."""
    found = []
    for pid in os.listdir("/proc"):
        try:
            with open(f"/proc/{pid}/stat") as f:
                name, rest = f.read().rsplit(")", 1)
        except (OSError, ValueError):
            continue
        if int(rest.split()[1]) == s.process.pid and name.endswith("(mete-worker"):
            found.append(int(pid))
    return found


def most_workers(seconds):
    """Until none has come for some seconds."""
    most, since = 0, time.monotonic()
    while time.monotonic() - since < seconds * PATIENCE:
        n = len(workers())
        if n > most:
            most, since = n, time.monotonic()
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

file = os.path.join(tempfile.mkdtemp(prefix="mete-sets-", dir="/tmp"), "meted.yaml")
atexit.register(shutil.rmtree, os.path.dirname(file), True)


def with_workers(**settings):
    with open(file, "w", encoding="ascii") as f:
        f.write("workers:\n" + "".join(f"  {key}: {value}\n" for key, value in settings.items()))
    return system("--config", file, env={"METE_SOFT_CONTEXT_MEMORY": "0"})


for idle in (0, 3):
    s = with_workers(idle=idle)
    path = ask_as(UID, s.dir, soft("1M", wall=True))[0]["grant"]["wall"]
    until(lambda: len(workers()) >= idle, 10)
    same(most_workers(1), idle, f"workers.idle {idle}: so many wait")
    client = Program(path)
    same(client.status(), 0, "and a program gets one")
    until(lambda: len(workers()) >= idle, 10)
    same(most_workers(1), idle, "and as many wait again")
    client.end()
    s.close()


def own_bytes(pid):
    with open(f"/proc/{pid}/statm") as f:
        _, resident, shared, *_ = map(int, f.read().split())
    return (resident - shared) * os.sysconf("SC_PAGESIZE")


def start(path, most):
    """Programs behind a wall, one after the other, until one is refused."""
    programs = []
    while len(programs) < most:
        p = Program(path)
        if p.status():
            p.end()
            return programs, p.text
        programs.append(p)
    return programs, None


if SANITIZED:  # whose memory for freed memory is no measure of a worker's
    finish()
s = with_workers(memory_all=ALL_BYTES)
wall, other = [ask_as(uid, s.dir, soft("1M", wall=True))[0]["grant"]["wall"] for uid in (UID, VICTIM)]
until(lambda: len(workers()) >= 2)
time.sleep(0.5)
bytes_each = max(own_bytes(p) for p in workers())
most = ALL_BYTES // bytes_each
programs, why = start(wall, most + 2)
ok(0 < len(programs) <= most // 2 + 1 and why,
   f"a user's workers fit into half of workers.memory_all ({len(programs)} of {bytes_each} bytes each)", most, why)
more, why = start(other, most + 2)
ok(len(more) > 0, f"another user's programs have workers as well ({len(more)})", why)
ok((len(programs) + len(more)) * bytes_each <= ALL_BYTES, "all of them together fit into it", len(programs), len(more), bytes_each)
for p in programs + more:
    p.end()
s.close()
finish()
