"""meted is replaced while it serves: clients, requests, connections and doorbells go on; what cannot take over does not."""
import resource
import sqlite3

from harness import *

NEXT = os.path.join(BUILD, "tests/daemon/meted_next")
DOOMED = os.path.join(BUILD, "tests/daemon/meted_doomed")
VERSION = subprocess.run([METED, "--version"], stdout=subprocess.PIPE, text=True).stdout.split()[1]


def figures(m, name):
    g = m.control().grant(name)
    return [(d["quota_bytes"], d["held_bytes"], d["granted_bytes"], d["shared_bytes"], d["peak_bytes"], d["refused"])
            for d in g["devices"]], sorted((p["pid"], p["attached"]) for p in g["processes"]), g["attached_total"]


def upgrade(m, **fields):
    answer = m.control().ask("upgrade", **fields)
    if not ok(answer and answer["ok"], "the upgrade is done", answer, m.log()):
        return None
    return answer


def test_taken_over(m):
    """To the same version, to the next, which changes the store; and again."""
    path = m.make("kept", devices=[{"device": "1", "mem_bytes": 1000 * UNIT}, {"device": "0", "mem_bytes": 77 * UNIT}])
    a, b = m.client(), m.client()
    a.hello(path), b.hello(path)
    a.hold(0, 300)
    a.hold(1, 7)
    a.ask("share", "k", 0, 100)
    b.ask("import", "k", 0)
    same(b.reserve(0, 900)[0], NO_ROOM, "something is refused")
    before, pid, other = figures(m, "kept"), m.process.pid, m.control()
    events = [e["text"] for e in m.control().grant("kept")["events"]]
    for binary, version in ((None, VERSION), (NEXT, VERSION + "+next"), (NEXT, VERSION + "+next")):
        answer = upgrade(m, **({"binary": binary} if binary else {}))
        if not answer:
            return
        print(f"# {answer}")
        same((answer["version"], answer["pid"]), (version, pid), "to what was asked for, in the same process")
        hello = other.ask("hello")
        same((hello["version"], hello["pid"]), (version, pid), "a connection from before goes on")
        same(figures(m, "kept"), before, "every figure is as it was, and everybody attached")
        same([e["text"] for e in m.control().grant("kept")["events"]], events, "and the grant's events")
        same(b.reserve(0, 10), [OK, 10], "a client asks on the connection that it has")
        same(b.reserve(1, 1000)[0], NO_ROOM, "quotas hold")
        before = figures(m, "kept")
        events = [e["text"] for e in m.control().grant("kept")["events"]]
        same(subprocess.run(["ls", f"/proc/{pid}/fd"], stdout=subprocess.PIPE).returncode, 0, "it lives")
    db = sqlite3.connect(f"{m.dir}/mete.db.v{store_version(m) - 1}")
    same(db.execute("SELECT count(*) FROM grants").fetchone()[0], 1, "a copy of the store from before is kept")
    db.close()
    a.kill(), b.kill()
    ok(until(lambda: not m.control().grant("kept")["processes"]), "deaths are seen")
    same(figures(m, "kept")[0][0][1:4], (0, 0, 0), "and all is given back")
    # Back: the next one's store is not for us.
    answer = m.control().ask("upgrade", binary=METED)
    ok(not answer["ok"] and "is of a later meted" in answer["error"] and "mete.db.v" in answer["error"], "a downgrade is refused", answer)
    print("#", answer["error"])
    ok(m.control().ask("hello")["version"].endswith("+next"), "and nothing has happened")
    ok(m.control().ask("grant_delete", name="kept")["ok"], "delete")


def store_version(m):
    with open(f"{m.dir}/mete.db", "rb") as f:
        f.seek(60)
        return int.from_bytes(f.read(4), "big")


def test_waiting(m):
    """A request waits for room that another process is about to give back, when meted is replaced."""
    path = m.make("waiting", 100 * UNIT)
    a, b = m.client(), m.client()
    a.hello(path), b.hello(path)
    a.ask("measuring", 0, 1)
    same(a.reserve(0, 0, 0, ALL), [OK, 100], "and has all")
    b.tell("reserve", 0, 50, 50, 0)
    time.sleep(0.05)
    upgrade(m)
    a.ask("take", 0, 10)
    a.ask("measuring", 0, 0)
    same(b.answer(), [OK, 50], "the one that waits is answered by the next meted")
    a.kill(), b.kill()
    until(lambda: not m.control().grant("waiting")["processes"])
    m.control().ask("grant_delete", name="waiting")


def test_half_a_request(m):
    c, d = m.control(), m.control()
    c.socket.sendall(b'{"op":"he')
    d.socket.sendall(b'{"op":"hello"}\n{"op":"grants"}\n{"op"')
    time.sleep(0.05)
    upgrade(m)
    same(c.line('llo"}\n')["pid"], m.process.pid, "a line that was half sent is answered")
    ok(json.loads(d.file.readline())["pid"] == m.process.pid and "grants" in json.loads(d.file.readline()),
       "answers that were not read are there")
    same(d.line(':"hello"}\n')["pid"], m.process.pid, "and the line behind them")


def test_zero_byte(m):
    """What any user may send unfinished is in nobody's way."""
    with socket.socket(socket.AF_UNIX) as hostile:
        hostile.connect(os.path.join(m.dir, "control.sock"))
        hostile.send(b"\0")
        m.control().ask("hello")  # it has been read by now
        pid = m.process.pid
        ok(upgrade(m)["ok"], "a zero byte in an unfinished line does not stop an upgrade")
        same(m.control().ask("hello")["pid"], pid, "the next meted is the same process")


def test_refused(m):
    """What cannot take over is told, and meted goes on."""
    script = os.path.join(m.dir, "script")
    for what, text, reason in (("no such file", None, "No such file"), ("no program", "", "Permission denied"),
                               ("a program that is no meted", "#!/bin/sh\necho hello\n", "does not say what it is"),
                               ("one that fails", "#!/bin/sh\necho out of luck >&2\nexit 3\n", "out of luck"),
                               ("one that dies", "#!/bin/sh\nkill -9 $$\n", "signal 9"),
                               ("one that reads another handover", "#!/bin/sh\necho '{\"version\":\"9\",\"handover\":[7,9],\"store\":1}'\n",
                                "does not know this handover")):
        if text is not None:
            with open(script, "w") as f:
                f.write(text)
            os.chmod(script, 0o700 if text else 0o600)
        answer = m.control().ask("upgrade", binary=script)
        ok(not answer["ok"] and answer["code"] == "upgrade" and reason in answer["error"], f"{what}: refused", answer)
        print("#", answer["error"])
    ok(not m.control().ask("upgrade", binary="relative")["ok"], "a relative path is refused")
    answer = m.control().ask("upgrade", check=True)
    same((answer["ok"], answer["version"]), (True, VERSION), "a check alone")
    ok("has taken over" not in m.log(), "changes nothing")
    c, d = m.control(), m.control()
    c.socket.sendall(b'{"op":"upgrade"}\n')
    time.sleep(0.01)
    second = d.ask("upgrade")
    ok(not second["ok"] and "under way" in second["error"] or second["ok"], "two at once: one is told to wait", second)
    ok(json.loads(c.file.readline())["ok"], "and the other is done")


def test_signal(m):
    m.process.send_signal(signal.SIGUSR2)
    ok(until(lambda: "has taken over" in m.log()), "SIGUSR2 does it too", m.log())
    same(m.control().ask("hello")["pid"], m.process.pid, "and meted serves")


def test_goes_back(m):
    """The next one fails after execve(): the one before is there again, with everything."""
    path = m.make("back", 1000 * UNIT)
    a = m.client()
    a.hello(path)
    a.hold(0, 300)
    before = figures(m, "back")
    # The next release's store needs a page more than there is room for, which shows only when it is written.
    resource.prlimit(m.process.pid, resource.RLIMIT_FSIZE, (os.path.getsize(f"{m.dir}/mete.db"), resource.RLIM_INFINITY))
    answer = m.control().ask("upgrade", binary=NEXT)
    resource.prlimit(m.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print("#", answer)
    ok(answer and not answer["ok"] and "could not take over" in answer["error"], "it says so", answer, m.log())
    same(figures(m, "back"), before, "the one before serves again, nothing is lost")
    same(a.reserve(0, 10), [OK, 10], "a client asks on the connection that it has")
    same(m.control().ask("hello")["version"], VERSION, "it is the old version")
    upgrade(m)
    a.kill()
    until(lambda: not m.control().grant("back")["processes"])
    ok(m.control().ask("grant_delete", name="back")["ok"], "delete")


def children(pid):
    """The first option of each child. One --watch is the next meted's own: it may have started it, or will."""
    found = []
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        for child in file.read().split():
            try:
                with open(f"/proc/{child}/cmdline", "rb") as line:
                    found.append((line.read().split(b"\0") + [b""])[1].decode())
            except OSError:
                pass
    return found


def test_dies(m):
    """The next one dies on its way: the one before is there again, under another pid, with everything."""
    script = os.path.join(m.dir, "script")
    with open(script, "w") as f:
        f.write(f'#!/bin/sh\ncase "$*" in *--check-upgrade*) exec {METED} "$@";; esac\nkill -9 $$\n')
    os.chmod(script, 0o700)
    path = m.make("dies", 1000 * UNIT)
    a = m.client()
    a.hello(path)
    a.hold(0, 300)
    before, other, store = figures(m, "dies"), m.control(), store_version(m)
    first = m.process.pid
    for what, binary in (("at once", script), ("when its store is of the next version and turns are its", DOOMED), ("once more", script)):
        answer = m.control().ask("upgrade", binary=binary)
        print("#", answer)
        ok(answer and not answer["ok"] and "ended before it served" in answer["error"], f"{what}: it says so", answer, m.log())
        hello = other.ask("hello")
        ok(hello["pid"] != first and hello["version"] == VERSION, f"{what}: the one before serves, on a connection from before", hello)
        same(open(f"{m.dir}/meted.lock").read(), str(hello["pid"]), f"{what}: and says so to whoever looks for it")
        same(figures(m, "dies"), before, f"{what}: nothing is lost")
        same(a.reserve(0, 10), [OK, 10], f"{what}: a client asks on the connection that it has")
        before = figures(m, "dies")
        same(store_version(m), store, f"{what}: the store is as it was")
        first = hello["pid"]
        os.kill(first, 0)
    ok(m.control().ask("grant_create", name="new", driver="soft", devices=[{"device": "0", "mem_bytes": 512}])["ok"], "it makes grants")
    same(upgrade(m, binary=NEXT)["pid"], first, "a good one takes over from it")
    a.kill()
    ok(until(lambda: not m.control().grant("dies")["processes"]), "deaths are seen")
    ok(until(lambda: sorted(children(first)) in ([], ["--watch"]), 30), "no child is left over", children(first))
    os.kill(first, signal.SIGTERM)
    ok(until(lambda: not alive(first)), "it leaves")


def test_hangs(m):
    """The next one does nothing at all."""
    if "METE_TEST_LONG" not in os.environ:
        return skip("a next one that hangs", "it is given 15 s (METE_TEST_LONG)")
    script = os.path.join(m.dir, "script")
    with open(script, "w") as f:
        f.write(f'#!/bin/sh\ncase "$*" in *--check-upgrade*) exec {METED} "$@";; esac\nkill -STOP $$\n')
    os.chmod(script, 0o700)
    answer = m.control().ask("upgrade", binary=script)
    print("#", answer)
    ok(answer and "did not serve in time" in answer["error"], "it is ended, and the one before goes on", answer)
    pid = m.control().ask("hello")["pid"]
    os.kill(pid, signal.SIGTERM)
    ok(until(lambda: not alive(pid)), "it leaves")


def test_many(m):
    """Ten in a row, with processes that come and go as fast as they can."""
    path = m.make("many", 4096 * UNIT)
    pool = os.path.join(m.dir, "pool")
    with open(pool, "wb") as f:
        f.truncate(64 * 64)
    descriptors = m.descriptors()
    hammers = [subprocess.Popen([WIRE_CLIENT, "hammer", path, pool, str(i), "4096", "4", str(i)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True) for i in range(4)]
    for i in range(10):
        answer = upgrade(m)
        if not answer:
            break
        print(f"# {answer['pause_ms']:.1f} ms")
    rows = [[int(w) for w in h.stdout.readline().split()[1:]] for h in hammers]
    print("#", rows)
    ok(all(r and r[0] > 10 for r in rows), "they all worked", rows)
    same([r[2:] for r in rows], [[0, 0]] * 4, "never too much, and no connection was lost")
    share = m.control().share("many")
    same(share["held_bytes"], sum(r[1] for r in rows) * UNIT, "what they hold is what meted says")
    for h in hammers:
        h.communicate()
    ok(until(lambda: m.control().share("many")["granted_bytes"] == 0), "all is given back")
    ok(until(lambda: m.descriptors() <= descriptors + 1), "descriptors do not add up", descriptors, m.descriptors())
    ok(m.control().ask("grant_delete", name="many")["ok"], "delete")


def main():
    for test in (test_taken_over, test_waiting, test_half_a_request, test_zero_byte, test_refused, test_signal, test_goes_back, test_dies, test_hangs, test_many):
        m = Meted("--soft-only")
        test(m)
        m.close()
    finish()


main()
