"""
A user who is many: useradd(8) gives everybody 65536 subordinate ids, each of which he can be in a user namespace of his own.
What bounds a user bounds all of them together.
"""
import ctypes

from ground import *

CLONE_NEWUSER = 0x10000000
FIRST, COUNT = 300000, 65536
GROUP = 61600
PLACE = "/etc/subuid"


def be_many(acts):
    """What each act returns, done by one id each of the user's own, in a user namespace that he has made."""
    made, told = os.pipe(), os.pipe()
    child = Child(UID, inside, made, told, acts)
    os.read(made[0], 1)
    for which in ("uid", "gid"):  # as newuidmap(1) does it for him
        with open(f"/proc/{child.pid}/{which}_map", "w", encoding="ascii") as f:
            f.write(f"0 {UID} 1\n1 {FIRST} {COUNT}\n")
    os.write(told[1], b"x")
    return child.value()


def inside(made, told, acts):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER):
        raise OSError(ctypes.get_errno(), "unshare")
    os.write(made[1], b"x")
    os.read(told[0], 1)
    values = []
    for i, act in enumerate(acts):
        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            os.setresgid(i + 1, i + 1, i + 1)
            os.setresuid(i + 1, i + 1, i + 1)
            with os.fdopen(write, "wb") as out:
                pickle.dump(act(), out)
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as answer:
            values.append(pickle.loads(answer.read()))
        os.waitpid(pid, 0)
    return values


def asking(*requests):
    def act():
        c = harness.Control(s.dir)
        answers = [c.ask(**r) for r in requests]
        c.close()
        return [a["code"] if not a["ok"] else "ok" for a in answers]
    return act


root_only("subordinate ids")
place = tempfile.mkdtemp(prefix="mete-subordinate-", dir="/tmp")
atexit.register(shutil.rmtree, place, True)
ids, settings = os.path.join(place, "subuid"), os.path.join(place, "meted.yaml")
with open(ids, "w", encoding="ascii") as f:
    f.write(f"nonsense\n0:{FIRST + 2 * COUNT}:{COUNT}\n{UID}:{FIRST}:{COUNT}\n{VICTIM}:{FIRST + COUNT}:{COUNT}\n")
with open(settings, "w", encoding="ascii") as f:
    f.write(f"limits:\n  grants: 3\n  mem: 50\n")
wrap = ["unshare", "--mount", "sh", "-c", f'mount --bind {ids} {PLACE} && exec "$@"', "sh"]
if not os.path.exists(PLACE) or harness.subprocess.run(wrap + ["true"], stderr=harness.subprocess.DEVNULL, check=False).returncode:
    harness.skip("subordinate ids", f"there is no {PLACE}, or nothing can be mounted there")
    finish()
s = system("--config", settings, wrap=wrap)
try:
    same(be_many([asking(soft("7G", "a")), asking(soft("2G", "b")), asking(soft("1G", "c"), soft("1M", "d"))]),
         [["ok"], ["over-limit"], ["ok", "over-limit"]], "half of a device is promised to a user's ids together, not more")
    same(be_many([asking({"op": "grant_delete", "name": "a"}), asking(soft("1M", "e"), soft("1M", "f"), soft("1M", "g"))]),
         [["ok"], ["ok", "ok", "over-limit"]], "and so with the number of grants")
    same(be_many([asking({"op": "grant_delete", "name": "e"})]), [["not-yours"]], "each is its own id's all the same")
    same(ask_as(UID, s.dir, soft("1M", "own"))[0].get("code"), "over-limit", "they are the user's, who may have no more")
    same([a["ok"] for a in ask_as(VICTIM, s.dir, soft("7G", "other"))], [True], "another user has what is his")
    same([a["ok"] for a in ask_as(FIRST + 2 * COUNT, s.dir, soft("1M", "h"), soft("1M", "i"), soft("1M", "j"), soft("1M", "k"))],
         [True] * 3 + [False], "root's subordinate ids are not root")
except (OSError, RuntimeError) as e:
    harness.skip("subordinate ids", f"no user namespace: {e}")
s.close()

# A group's word bounds its members as well when they act by such an id: meted asks for the groups, and waits for no answer.
people, groups = [os.path.join(place, name) for name in ("passwd", "group")]
for path, own in ((people, f"intern:x:{UID}:{UID}::/:/bin/sh\n"), (groups, f"interns:x:{GROUP}:intern\n")):
    with open(os.path.join("/etc", os.path.basename(path)), encoding="utf-8") as f:
        text = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(text + own)
with open(ids, "w", encoding="ascii") as f:
    f.write(f"intern:{FIRST}:{COUNT}\n")
with open(settings, "w", encoding="ascii") as f:
    f.write(f"limits:\n  grants: 9\n  groups:\n    interns: {{grants: 2}}\n")
wrap[-2] = "".join(f"mount --bind {a} {b} && " for a, b in ((ids, PLACE), (people, "/etc/passwd"), (groups, "/etc/group"))) + 'exec "$@"'
s = system("--config", settings, wrap=wrap)
try:
    same(be_many([asking(soft("1M", "a"), soft("1M", "b"), soft("1M", "c"))]), [["ok", "ok", "over-limit"]],
         "a group's bound holds for its members' ids as well")
    Child.groups = [GROUP]
    same(ask_as(UID, s.dir, soft("1M", "own"))[0].get("code"), "over-limit", "and for the member, together")
except (OSError, RuntimeError) as e:
    harness.skip("subordinate ids of a group's member", f"no user namespace: {e}")
s.close()

os.unlink(people)
os.mkfifo(people)  # a service of names that never answers
began = time.monotonic()
s = system(wrap=wrap)
same([a["ok"] for a in ask_as(UID, s.dir, soft("1M"))], [True], "a service of names that hangs holds nobody up")
ok(time.monotonic() - began < 5 * PATIENCE, "nor a start for long", time.monotonic() - began)
with open(ids, "a", encoding="ascii") as f:
    f.write(f"{VICTIM}:{FIRST + COUNT}:{COUNT}\n")
time.sleep(1.2)
began = time.monotonic()
same([a["ok"] for a in ask_as(UID, s.dir, soft("1M"), soft("1M"))], [True, True], "nor when subordinate ids change")
ok(time.monotonic() - began < PATIENCE, "at once", time.monotonic() - began)
s.close()
finish()
