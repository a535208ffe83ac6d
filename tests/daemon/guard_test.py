"""
One ledger: what the guard counts beside what programs say, as meted, mete ps and the metrics show it. The counts are
written by mete-guard's own functions (guard_count.c); with the guard itself it is tried in the guest (tests/guard).
"""
from harness import *

COUNT = os.path.join(BUILD, "tests/daemon/guard_count")
METE = os.path.join(BUILD, "src/cli/mete")
MIB = 1 << 20


def count(m, grant, quota, used, refused=0, killed=0, *ago):
    subprocess.run([COUNT, str(grant), str(quota), str(used), str(refused), str(killed), *map(str, ago)], env=m.env, check=True)


def written(grant, used):
    """The bytes of such a count."""
    with tempfile.TemporaryDirectory(dir="/tmp") as elsewhere:
        os.chmod(elsewhere, 0o755)
        subprocess.run([COUNT, str(grant), str(768 * MIB), str(used), "3", "1"], env={**os.environ, "METE_GUARD_COUNTS": elsewhere}, check=True)
        with open(os.path.join(elsewhere, str(grant)), "rb") as f:
            return f.read()


def guard_of(m, name, wanted):
    return until(lambda: (g := m.control().grant(name)["guard"]) and wanted(g) and g)


def texts(m, name):
    return [e["text"] for e in m.control().grant(name)["events"]]


def test_ledger(m):
    path = m.make("a", 256 * MIB)
    m.make("other", 256 * MIB)
    number = m.control().grant("a")["id"]
    same(m.control().grant("a")["guard"], None, "who is not guarded has no count")
    c = m.client()
    c.hello(path)
    c.hold(0, 100 * MIB // UNIT)
    count(m, number, 768 * MIB, 100 * MIB)
    g = guard_of(m, "a", lambda g: g["said_bytes"])
    same((g["front"], g["stale"], g["used_bytes"], g["said_bytes"], g["difference_bytes"], g["quota_bytes"]),
         ("notify", False, 100 * MIB, 100 * MIB, 0, 768 * MIB), "both sides of the ledger are shown")
    same(m.control().grant("other")["guard"], None, "and nobody else's")
    count(m, number, 768 * MIB, 600 * MIB)
    guard_of(m, "a", lambda g: g["difference_bytes"] == 500 * MIB)
    same([t for t in texts(m, "a") if "guard" in t], [], "what is within the reserve for contexts is no event")
    count(m, number, 768 * MIB, 700 * MIB)
    guard_of(m, "a", lambda g: g["difference_bytes"] == 600 * MIB)
    ok(any("the guard counts 700 MiB, the programs say 100 MiB" in t and "calls the driver itself" in t
           for t in texts(m, "a")), "more is an event", texts(m, "a"))
    events = m.control().ask("events", tenant="a")["events"]
    ok(any(e["kind"] == "fault" and "700 MiB" in e["text"] for e in events), "of the node's journal too", events)
    count(m, number, 768 * MIB, 100 * MIB)
    guard_of(m, "a", lambda g: g["difference_bytes"] == 0)
    ok(any("within the reserve" in t for t in texts(m, "a")), "and so is its end", texts(m, "a"))


def test_refusals(m):
    number = m.control().grant("a")["id"]
    count(m, number, 768 * MIB, 100 * MIB, 3)
    guard_of(m, "a", lambda g: g["refused"] == 3)
    ok(any("refused 3 calls and ended 0 processes, the last of pid 4711: the quota" in t for t in texts(m, "a")),
       "a refusal of the guard is an event that names the process and the reason", texts(m, "a"))
    count(m, number, 768 * MIB, 100 * MIB, 3, 1)
    guard_of(m, "a", lambda g: g["killed"] == 1)
    ok(any("refused 0 calls and ended 1 processes" in t for t in texts(m, "a")), "and so is a process that it ended")


def test_shown(m):
    shown = subprocess.run([METE, "ps", "--verbose"], env={**m.env, "METE_RUNTIME_DIR": m.dir}, capture_output=True, text=True).stdout
    ok("guard (notify): a: counts 100 MiB of 768 MiB, the programs say 100 MiB: 0 B more; 3 calls refused, 1 processes ended" in
       shown, "mete ps --verbose has a line for it", shown)
    plain = subprocess.run([METE, "ps"], env={**m.env, "METE_RUNTIME_DIR": m.dir}, capture_output=True, text=True).stdout
    ok("guard" not in plain, "mete ps has not", plain)
    text = m.control().ask("metrics")["text"]
    for name, value in (("used_bytes", 100 * MIB), ("quota_bytes", 768 * MIB), ("difference_bytes", 0), ("refused_total", 3),
                        ("killed_total", 1), ("stale", 0)):
        ok(f'mete_tenant_guard_{name}{{tenant="a"}} {value}\n' in text, f"metrics: {name}")
    ok('mete_tenant_guard_used_bytes{tenant="other"}' not in text, "metrics: of guarded tenants alone")


def test_ungated(m):
    number = m.control().grant("other")["id"]
    count(m, number, 768 * MIB, 10 * MIB, 0, 0, 0, 2)
    ok(until(lambda: any("2 channel groups, and no program is attached" in t for t in texts(m, "other"))),
       "channels of a tenant without an attached program are an event", texts(m, "other"))
    count(m, m.control().grant("a")["id"], 768 * MIB, 100 * MIB, 3, 1, 0, 2)
    guard_of(m, "a", lambda g: g["channel_groups"] == 2)
    time.sleep(1.2)
    ok(not any("no program is attached" in t for t in texts(m, "a")), "with one they are not")


def test_stale(m):
    number = m.control().grant("a")["id"]
    count(m, number, 768 * MIB, 700 * MIB, 3, 1, 60)
    ok(guard_of(m, "a", lambda g: g["stale"]), "a count that nobody writes any more is stale")
    count_file = os.path.join(m.env["METE_GUARD_COUNTS"], str(number))
    later = written(number, 500 * MIB)
    os.chmod(m.env["METE_GUARD_COUNTS"], 0o777)
    with open(count_file, "r+b") as f:
        f.write(later)
    time.sleep(1.2)
    same(m.control().grant("a")["guard"]["used_bytes"], 700 * MIB, "a folder that others may write to is not believed")
    os.chmod(m.env["METE_GUARD_COUNTS"], 0o755)
    ok(guard_of(m, "a", lambda g: g["used_bytes"] == 500 * MIB), "and is when they may not any more")
    with open(count_file, "r+b") as f:
        f.truncate(0)
    time.sleep(1.2)
    same(m.control().grant("a")["guard"]["used_bytes"], 500 * MIB, "nor is a file believed that was cut short")
    os.unlink(count_file)
    ok(until(lambda: m.control().grant("a")["guard"] is None), "a count that is gone is gone")


folder = tempfile.mkdtemp(prefix="mete-t-guard-", dir="/tmp")
meted = Meted(env={"METE_GUARD_COUNTS": folder})
for test in (test_ledger, test_refusals, test_shown, test_ungated, test_stale):
    test(meted)
shutil.rmtree(folder)
finish()
