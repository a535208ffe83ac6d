"""
Each grant's workers have a cgroup with its bounds, which they enter before they hear their client; it lasts over a meted
that is killed and one that is replaced, ends what is left when the grant ends, and leaves nothing behind.
"""
from fence import *

root_only("cgroups of workers")


def find_mount():
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        for line in f:
            words = line.split()
            if " - cgroup2 " in line and words[3] == "/":
                return words[4]
    return None


def cgroup_of(pid):
    with open(f"/proc/{pid}/cgroup", encoding="ascii") as f:
        return next(line.strip()[3:] for line in f if line.startswith("0::"))


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


mount = find_mount()
folder = mount and os.path.join(mount, f"mete-test-{os.getpid()}")
try:
    os.mkdir(folder or "/nowhere/at all")
except OSError as e:
    skip("cgroups of workers", f"none of version 2 can be made here: {e.strerror}")
    finish()


@harness.atexit.register
def remove():
    for name in os.listdir(folder):
        if name.startswith("grant-"):
            with open(os.path.join(folder, name, "cgroup.kill"), "w", encoding="ascii") as f:
                f.write("1")
            until(lambda name=name: "populated 0" in read(os.path.join(folder, name, "cgroup.events")))
            os.rmdir(os.path.join(folder, name))
    os.rmdir(folder)


def groups():
    return sorted(name for name in os.listdir(folder) if name.startswith("grant-"))


place = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
config = os.path.join(place, "meted.yaml")


def write(memory, tasks):
    with open(config, "w", encoding="ascii") as f:
        f.write(f"workers:\n  cgroup: {folder}\n  memory: {memory}\n  tasks: {tasks}\n")


write("3G", 900)
s = system("--config", config)
c = s.control()
wall, other = (ask_as(who, s.dir, soft("512M", name, wall=True))[0]["grant"]["wall"] for name, who in (("mine", UID), ("theirs", VICTIM)))


def waiting():
    """The cgroups of workers without a client."""
    with open(f"/proc/{s.process.pid}/task/{s.process.pid}/children", encoding="ascii") as f:
        pids = f.read().split()
    return {os.path.basename(cgroup_of(pid)) for pid in pids if os.path.exists(f"/proc/{pid}/cgroup")}


ok(until(lambda: set(groups()) <= waiting() and groups(), 20), "workers wait in the cgroups of those who may want one next", waiting())
clients = [Program(wall), Program(wall), Program(other)]
same([p.status() for p in clients], [0, 0, 0], "programs of two tenants have workers")
mine = [p["pid"] for p in c.grant("mine")["processes"]]
theirs = worker_of(c, "theirs")
same(len({cgroup_of(pid) for pid in mine}), 1, "workers of a grant share a cgroup")
ok(cgroup_of(mine[0]) != cgroup_of(theirs) and cgroup_of(mine[0]).startswith(folder[len(mount):]), "which another grant's are not in",
   cgroup_of(mine[0]), cgroup_of(theirs))
same(len(groups()), 2, "there is one for each grant")
ok("cgroup" in c.ask("hello")["fence"]["held"], "and meted says so")


def limits():
    one = mount + cgroup_of(mine[0])
    return [read(os.path.join(one, name)) for name in ("memory.max", "pids.max")]


if os.path.exists(os.path.join(mount + cgroup_of(mine[0]), "memory.max")):
    same(limits(), [str(3 << 30), "900"], "with its bounds")
    write("2G", 800)
    s.process.send_signal(signal.SIGHUP)
    ok(until(lambda: limits() == [str(2 << 30), "800"]), "which a reload changes")
else:
    skip("with its bounds", "the controllers for memory and pids are not in version 2 here")
    ok("no controller \"memory\"" in s.log(), "that is said in the log", s.log())

c.close()
s.kill()
same([os.path.exists(f"/proc/{pid}") for pid in (*mine, theirs)], [True] * 3, "workers outlive a meted that is killed")
none = os.path.join(folder, groups()[0][:-16] + "00000000000000aa")
others = os.path.join(folder, "grant-00000000-00000000000000aa")
os.mkdir(none)
os.mkdir(others)
stray = harness.subprocess.Popen(["sleep", "600"])
with open(os.path.join(none, "cgroup.procs"), "w", encoding="ascii") as f:
    f.write(str(stray.pid))
s.start()
c = s.control()
ok(until(lambda: stray.poll() is not None), "the next one kills what is in a cgroup of no grant")
ok(until(lambda: not os.path.exists(none)), "and removes it", groups())
ok(os.path.exists(others), "but not one of another meted's")
os.rmdir(others)
more = Program(wall)
same(more.status(), 0, "a program comes")
same(len({cgroup_of(p["pid"]) for p in c.grant("mine")["processes"]}), 1, "into the cgroup that is there")
ok(ask_as(UID, s.dir, {"op": "grant_end", "name": "mine"})[0]["ok"], "a grant ends")
ok(until(lambda: len(groups()) == 1, 15), "and its cgroup", groups())
ok("a waiting worker ended" not in s.log(), "but no worker that waits", s.log())
for p in (*clients, more):
    p.end()
ok(until(lambda: not c.grant("theirs")["processes"]), "the other's program ends")
c.close()
s.close()
same(groups(), [], "a meted that leaves leaves no empty cgroup")
shutil.rmtree(place)
finish()
