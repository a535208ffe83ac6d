"""The disk that takes memory of devices (memory.disk): a local user's program gets no file there, his workers do within his bound, and what pages say counts for nothing."""
import tempfile
import threading

from ground import *

sys.path.insert(0, os.path.join(HERE, "..", "memory"))
from memory import MIB, Resider, mete  # noqa: E402

root_only("a disk that users share")
FOLDER = disk_folder()
if not FOLDER:
    skip("a disk that users share", "no folder here has direct writes to files without a name")
    finish()
settings = tempfile.NamedTemporaryFile("w", suffix=".yaml")
settings.write(f"memory: {{pool: 1M, disk: {FOLDER}, disk_size: 64M}}\n")
settings.flush()
s = system("--config", settings.name, env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "128M", "METE_SOFT_CONTEXT_MEMORY": "0"})
c = s.control()
UNITS = 20 * MIB // 512
STORES, IS_THERE = 1 << 31, 1 << 15
RESIDENT, LEAVING, AWAY = range(3)
NO_FILE = [NO_ROOM, 0]


def joined(name):
    client = s.client()
    client.hello(os.path.join(s.dir, "grants", name + ".sock"))
    return client


def list_fds(pid):
    try:
        return [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return []


def taken():
    return c.ask("devices")["disk"]["taken_bytes"]


answers = [c.ask(**soft("24M", "roots", spill=True)), *ask_as(UID, s.dir, soft("24M", "local", spill=True))]
ok(all(a["ok"] for a in answers), "root and a user make grants with --spill", answers)
local, roots = joined("local"), joined("roots")
for client in (local, roots):
    client.ask("place", 0, STORES, 0, UNITS)
    same(client.ask("store", 0, UNITS)[0], BAD, "a program that is not on its way out asks in vain")
ok(local.hold(0, UNITS), "the user's program holds 20 MiB")
local.ask("place", 0, STORES | LEAVING, 0, UNITS)
same(local.ask("store", 0, UNITS), NO_FILE, "says that it leaves, and gets no file: it could write there what it likes")
local.ask("place", 0, STORES | AWAY | IS_THERE, 0x7fffffff, 0)
same((taken(), c.share("local")["disk_bytes"]), (0, 0), "it says that exabytes are on the disk: nothing is counted there")
roots.ask("place", 0, STORES | LEAVING, 0, UNITS)
same(roots.ask("store", 0, UNITS), [OK, 1], "root's program gets a file")
same(taken(), 20 * MIB, "which counts")
same(roots.ask("store", 0, UNITS), [OK, 1], "it asks again, and gets the same one")
same(taken(), 20 * MIB, "which counts once")
same(roots.ask("store", 0, 0x7fffffff)[0], BAD, "more than its quota makes no sense")
same(roots.ask("store", 3, 1)[0], BAD, "nor does a device that it has not")
roots.ask("place", 0, STORES | RESIDENT, 0, UNITS)
ok(until(lambda: not taken()), "it says that it is back: nothing is there any more")
same(os.listdir(FOLDER), [], "no file has had a name")
for client in (local, roots):
    client.kill()

def comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return None


def keepers():
    return [int(p) for p in filter(str.isdigit, os.listdir("/proc")) if comm(p) == "meted-disk" and FOLDER in list_fds(p)]


def store(i):
    askers[i].ask("place", 0, STORES | LEAVING, 0, PIECE)
    order.append((i, askers[i].ask("store", 0, PIECE)[0]))


# Many questions of one grant do not hold up another grant's one, which comes last of all: the disk stands until all have come.
MANY, PIECE = 24, MIB // 512
answers = [c.ask(**soft("32M", name, spill=True)) for name in ("many", "late")]
ok(all(a["ok"] for a in answers), "two more grants", answers)
askers = [joined("many") for _ in range(MANY)] + [joined("late")]
ok(all(a.hold(0, PIECE) for a in askers), "whose programs hold 1 MiB each")
order, threads = [], []
keeper = keepers()
same(len(keeper), 1, "one process serves the disk")
os.kill(keeper[0], signal.SIGSTOP)
for i in range(MANY + 1):
    threads.append(threading.Thread(target=store, args=(i,)))
    threads[-1].start()
    time.sleep(0.02 if i < MANY - 1 else 0.3)
os.kill(keeper[0], signal.SIGCONT)
for t in threads:
    t.join()
at = [i for i, _ in order].index(MANY)
ok(at < MANY - 4 and order[at][1] == OK, "the late one has its file before the many have theirs", at, order)
for a in askers:
    a.kill()
ok(until(lambda: not taken()), "and nothing is left of them", taken())

# Files of many end while the disk stands, and others ask for some: the process that serves it is waited for. More of them would stand there.
FEW, SMALL = 60, 64 * 1024 // 512


def answer_of(asker, answers):
    asker.ask("place", 0, STORES | LEAVING, 0, SMALL)
    answers.append(asker.ask("store", 0, SMALL)[0])


enders, asking, answers, threads = [joined("many") for _ in range(FEW)], [joined("late") for _ in range(2)], [], []
ok(all(a.hold(0, SMALL) for a in enders + asking), "programs of both hold 64 KiB each")
for a in enders:
    answer_of(a, answers)
same(answers, [OK] * FEW, "those of one grant have files")
answers.clear()
os.kill(keeper[0], signal.SIGSTOP)
for a in asking:
    threads.append(threading.Thread(target=answer_of, args=(a, answers)))
    threads[-1].start()
    time.sleep(1.5)
for a in enders:
    a.kill()
for t in threads:
    t.join()
same(answers, [NO_ROOM] * 2, "the disk stands: who asks meanwhile gets none")
time.sleep(1.5)
same(keepers(), keeper, "and there is no second process that serves it")
os.kill(keeper[0], signal.SIGCONT)
for a in asking:
    a.kill()
ok(until(lambda: not taken() and not [f for f in list_fds(keeper[0]) if FOLDER in f and f != FOLDER], 20), "nothing is left of them", taken(), list_fds(keeper[0]))

names = {"one": UID, "two": UID, "other": VICTIM}
answers = [ask_as(uid, s.dir, soft("30M", name, spill=True, wall=True))[0] for name, uid in names.items()]
ok(all(a["ok"] for a in answers), "two users have grants behind the wall, one of them two", answers)
residers = {name: Resider(s, name, 20 * MIB, 1, wall=True) for name in names}
ok(all(r.has("holds") for r in residers.values()), "their programs hold 20 MiB each", [r.lines for r in residers.values()])
answers = {name: mete(s, "set", name, "--suspend") for name in names}
same([answers[name][0] for name in names], [0, 1, 0], "half of the disk is the most of one user: his second one stays")
ok("memory.disk" in answers["two"][1] and "\n" not in answers["two"][1], "in one line", answers["two"])
same([c.share(name)["disk_bytes"] > 0 for name in names], [True, False, True], "and the other user's has its part")
ok(20 * MIB <= taken() / 2 <= 24 * MIB, "which counts", taken())
for name, uid in names.items():
    seen = as_user(VICTIM if uid == UID else UID, lambda: [fd for pid in filter(str.isdigit, os.listdir("/proc")) for fd in list_fds(pid) if FOLDER in fd])
    same(seen, [], f"{name}: another user sees no file of it")
mete(s, "set", "one", "--resume")
mete(s, "set", "other", "--resume")
for r in residers.values():
    r.go_on()
same([r.end() for r in residers.values()], [0] * 3, "every word is what it has to be")
ok(until(lambda: not taken()) and not os.listdir(FOLDER), "nothing is left on the disk")
c.close()
s.close()
finish()
