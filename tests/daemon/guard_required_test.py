"""
A node that requires the guard (guard.grants: required): meted serves no program of a grant that the guard does not hold,
whatever that program says of itself. Each way around is tried by a process that the guard does not hold. The software
device stands for NVIDIA's driver; what the guard holds is in tables of the kernel's, as mete-guard pins them
(guard_tables.c), or in its counts (guard_count.c). With the guard's own programs: tests/guard (held).
"""
from harness import *

SOFT = os.path.join(BUILD, "src/softdev")
TABLES, COUNT = (os.path.join(BUILD, "tests/daemon", name) for name in ("guard_tables", "guard_count"))
MIB = 1 << 20
UNGUARDED = 8

folder = tempfile.mkdtemp(prefix="mete-t-required-", dir="/tmp")
config, counts, bpf = (os.path.join(folder, name) for name in ("meted.yaml", "counts", "bpf"))
pins = os.path.join(bpf, "guard")


def rule(word):
    with open(config, "w", encoding="ascii") as f:
        f.write(f"guard:\n  grants: {word}\n")
    os.chmod(config, 0o600)


class Tables:
    """None where this machine lets no such tables be made."""

    def __init__(self):
        self.why = ""
        os.mkdir(bpf)
        self.mounted = not subprocess.run(["mount", "-t", "bpf", "bpf", bpf], stderr=subprocess.DEVNULL, check=False).returncode
        atexit.register(self.end)
        if not self.mounted:
            self.why = "no file system of bpf's may be mounted here"
        elif not os.path.exists(TABLES):
            self.why = "built without libbpf"
        else:
            self.process = subprocess.Popen([TABLES, pins], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            line = self.process.stdout.readline().strip()
            self.why = "" if line == "ready" else line

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        same(self.process.stdout.readline().strip(), "0", " ".join(map(str, words)))

    def end(self):
        if self.mounted:
            self.mounted = False
            if hasattr(self, "process"):
                self.process.kill()
                self.process.wait()
            subprocess.run(["umount", bpf], check=False)


def make(m, name):
    answer = m.control().ask("grant_create", name=name, driver="nvidia", devices=[{"device": "0", "mem_bytes": 64 * MIB}])
    if not answer["ok"]:
        raise SystemExit(f"Bail out! {answer}")
    return answer["grant"]["socket"], answer["grant"]["id"]


def status(m, path, env=None):
    """What a new process is told that attaches; and the process."""
    c = m.client() if env is None else Client({**m.env, **env})
    if env is not None:
        m.clients.append(c)
    return c.hello(path), c


def refused(m, path, what, env=None, expected=UNGUARDED):
    got, c = status(m, path, env)
    same(got, expected, what)
    return c


def test_unguarded(m, path):
    c = refused(m, path, "a process that the guard does not hold is refused")
    texts = [e["text"] for e in m.control().grant("a")["events"]]
    ok(any(f"pid {c.pid} (wire_client) was refused: it is not held by the guard" in t for t in texts), "an event names it", texts)
    ok(f"pid {c.pid} (wire_client) is refused: it is not held by the guard" in m.log() and "mete run" in m.log(),
       "the log too, with what to do")
    journal = m.control().ask("events", tenant="a")["events"]
    ok(any(e["kind"] == "refusal" and str(c.pid) in e["text"] for e in journal), "and the node's journal", journal)
    refused(m, path, "one that calls itself the library of NVML", {"WIRE_CLIENT_LIBRARY": "2"})
    refused(m, path, "one that speaks as an older release is told so in that release's words", {"WIRE_CLIENT_VERSION": "2"}, FULL)
    same(c.ask("reserve", 0, 1)[0] not in (OK,), True, "what it asks for afterwards it does not get")
    same(m.control().grant("a")["devices"][0]["held_bytes"], 0, "nothing is held")


def test_bpf(m, path, number, other, tables):
    c = m.client()
    tables.tell("hold", number, c.pid)
    same(c.hello(path), OK, "a process that the guard's tables hold for the grant is served")
    refused(m, path, "another one beside it is not")
    d = m.client()
    tables.tell("hold", other, d.pid)
    same(d.hello(path), UNGUARDED, "one that is held for another grant is not")
    e = m.client()
    tables.tell("hold", number, e.pid)
    tables.tell("drop", number)
    same(e.hello(path), UNGUARDED, "one whose tenant was dropped is not")
    same(c.ask("hello", path)[0], OK, "who is attached stays")
    tables.tell("hold", number, c.pid)
    os.chmod(pins, 0o777)
    f = m.client()
    tables.tell("hold", number, f.pid)
    same(f.hello(path), UNGUARDED, "tables in a folder that others may write to are not believed")
    ok("whose tables cannot be read" in m.log(), "and the log says so")
    os.chmod(pins, 0o700)
    os.rename(pins, pins + "2")
    os.symlink(pins + "2", pins)
    same(f.hello(path), UNGUARDED, "nor what a link leads to")
    os.unlink(pins)
    os.rename(pins + "2", pins)
    same(f.hello(path), OK, "with a folder of root's own it is served")
    # What forks before: the child is nobody's.
    g = Client({**m.env, "WIRE_CLIENT_FORK": "1"})
    m.clients.append(g)
    tables.tell("hold", number, g.pid)
    same(g.hello(path), UNGUARDED, "a child that was forked before its parent was held is not")


def count(m, number, *more):
    subprocess.run([COUNT, str(number), str(768 * MIB), "0", "0", "0", "0", "0", *more], env=m.env, check=True)


def test_notify(m, path, number):
    count(m, number, "1")
    refused(m, path, "where a supervisor counts for the grant, a process without a filter is refused")
    same(status(m, path, {"WIRE_CLIENT_FILTER": "1"})[0], OK, "one that has a filter is served")
    count(m, number, "2", "/sys/fs/cgroup/mete-nobody")
    refused(m, path, "where a cgroup is limited for the grant, a process outside is refused", {"WIRE_CLIENT_FILTER": "1"})
    os.unlink(os.path.join(counts, str(number)))
    refused(m, path, "when the count is gone, a filter alone is nothing", {"WIRE_CLIENT_FILTER": "1"})


def test_rule_changes(m):
    path, _ = make(m, "b")
    rule("asked")
    m.process.send_signal(signal.SIGHUP)
    before = m.client()
    ok(until(lambda: before.hello(path) == OK), "where the guard is only asked for, everybody is served")
    rule("required")
    m.process.send_signal(signal.SIGHUP)
    ok(until(lambda: status(m, path)[0] == UNGUARDED), "from the rule on new processes are refused")
    same(before.hello(path), OK, "a process that was attached before goes on")
    m.kill()
    m.start()
    same(before.hello(path), OK, "also when meted has been replaced")
    refused(m, path, "and new ones are still refused")


def test_soft(m):
    answer = m.control().ask("grant_create", name="soft", driver="soft", devices=[{"device": "0", "mem_bytes": 64 * MIB}])
    ok(answer["ok"], "a software device is there too", answer)
    if answer["ok"]:
        same(status(m, answer["grant"]["socket"])[0], OK, "a software device, which has no kernel's driver, is not the guard's")


rule("required")
os.mkdir(counts, 0o755)
all_tables = Tables()
# As its service has it: root's files, and no right over the kernel.
bare = ["setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-sys_admin,-bpf,-perfmon"]
if os.geteuid() or not shutil.which("setpriv") or subprocess.run(bare + ["true"], check=False).returncode:
    bare = []
meted = Meted("--config", config, "--libcuda", f"{SOFT}/libcuda.so.1", "--libnvml", f"{SOFT}/libnvidia-ml.so.1", wrap=bare,
              env={"METE_GUARD_COUNTS": counts, "METE_GUARD_PINS": pins})
socket_a, id_a = make(meted, "a")
_, id_other = make(meted, "other")
test_unguarded(meted, socket_a)
if all_tables.why:
    skip("what the tables hold", all_tables.why)
else:
    test_bpf(meted, socket_a, id_a, id_other, all_tables)
test_notify(meted, socket_a, id_a)
test_rule_changes(meted)
test_soft(meted)
for one in list(opened):
    one.kill()
all_tables.end()
shutil.rmtree(folder)
finish()
