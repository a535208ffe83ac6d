"""
What closes a worker in behind its filter of system calls: namespaces, no files, a user that nobody else is, no privilege.
Whoever takes a worker over can do nothing to another tenant's.
"""
from fence import *

root_only("a worker's fence")
os.setgroups([0, 61900])  # what meted has, a worker must give up
s = system()
c = s.control()
walls = {name: ask_as(who, s.dir, soft("512M", name, wall=True))[0]["grant"]["wall"]
         for name, who in (("mine", UID), ("theirs", VICTIM))}
clients = [Program(wall) for wall in walls.values()]
same([p.status() for p in clients], [0, 0], "programs of two tenants have workers")
mine, theirs = (worker_of(c, name) for name in walls)
held = c.ask("hello")["fence"]["held"]

for name in SPACES:
    if not gives(name):
        skip(f"a namespace of its own: {name}", "this machine, or a sanitizer's thread, refuses it")
        continue
    same(len({space(pid, name) for pid in (mine, theirs, s.process.pid)}), 3, f"a namespace of its own: {name}")
    ok(name in held, "and meted says so", held)
if gives("network"):
    with open(f"/proc/{mine}/net/dev", encoding="ascii") as f:
        same([line.split(":")[0].strip() for line in f.readlines()[2:]], ["lo"], "its network has nothing in it")

roots = {task: os.listdir(f"/proc/{mine}/task/{task}/root") for task in os.listdir(f"/proc/{mine}/task")}
same([task for task, names in roots.items() if names], [], "no thread has files")
same(os.listdir(f"/proc/{mine}/cwd"), [], "nor does it stand anywhere else")
made = try_to(lambda: os.open(f"/proc/{mine}/root/file", os.O_CREAT | os.O_WRONLY, 0o600))
ok(made in ("EROFS", "ENOENT"), "and none can be made there, even by root", made)
if gives("mounts"):
    with open(f"/proc/{mine}/mounts", encoding="ascii") as f:
        same([line.split()[1:3] for line in f], [["/", "tmpfs"]], "nothing is mounted where it is")

status = list(tasks(mine))
same({t[key] for t in status for key in ("CapPrm", "CapEff", "CapInh", "CapAmb")}, {"0" * 16}, "no thread has a privilege")
same({t["NoNewPrivs"] for t in status}, {"1"}, "nor can get one")
same({t["Seccomp"] for t in status}, {"2"}, "each has the filter")
uids = {tuple(t["Uid"].split()) for t in status}
same(len(uids), 1, "all are one user")
ok(uid(mine) != uid(theirs) and min(uid(mine), uid(theirs)) >= 69632, "whom no other worker is", uid(mine), uid(theirs))
same({t["Groups"].strip() for t in status}, {""}, "without groups")
if landlock() >= 6:
    ok({"scope", "landlock"} <= set(held), "the kernel's rules are on", held)

ok(uid(mine) != UID and uid(mine) != VICTIM, "nor is any user of the machine")
same(set(as_user(uid(mine), touch, theirs).values()), {"EPERM", "EACCES"},
     "as that user nobody signals, traces or reads another tenant's worker")
same(os.path.exists(f"/proc/{theirs}"), True, "which is still there")
said = harness.subprocess.run([os.path.join(harness.BUILD, "src/cli/mete"), "doctor", "--json"], capture_output=True, text=True,
                              env={**s.env, "METE_RUNTIME_DIR": s.dir})
line = [check for check in json.loads(said.stdout)["checks"] if check["name"] == "workers' fence"]
ok(len(line) == 1 and all(word in line[0]["detail"] for word in held), "mete doctor says what they have", said.stdout, said.stderr)
for p in clients:
    p.end()
ok(until(lambda: not c.grant("mine")["processes"]), "their programs' end is theirs")
c.close()
s.close()
finish()
