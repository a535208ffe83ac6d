#!/usr/bin/env python3
"""
Walls: the second socket of a grant, the pool of workers behind it, what a worker may still do, and who notices whose end.

    wall_test.py BUILD
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../daemon"))
sys.dont_write_bytecode = True
import harness  # noqa: E402
from harness import *  # noqa: E402,F403

CLIENT = os.path.join(BUILD, "tests/remote/wall_client")
METE = os.path.join(BUILD, "src/cli/mete")
CONTEXT = 3 << 20


class Client:
    def __init__(self, path):
        self.process = subprocess.Popen([CLIENT, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        words = self.process.stdout.readline().rstrip("\n").split(" ", 2)
        self.status, self.ms, self.text = int(words[0]), float(words[1]), words[2]

    def ping(self):
        """The result, or None when the client has ended."""
        try:
            self.process.stdin.write("p\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self.process.stdout.readline()
        return int(line.split()[0]) if line else None

    def kill(self):
        self.process.kill()
        self.end()

    def end(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()
        self.process.stdout.close()


def workers(m):
    """Pids of the workers of this meted."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
            with open(f"/proc/{pid}/environ", "rb") as f:
                own = f"METE_SOFT_DIR={m.dir}/soft".encode() in f.read().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"mete-worker") and own:
            found.append(int(pid))
    return sorted(found)


def idle(m, c, n):
    """Waits until n workers wait beside those that have clients."""
    def busy():
        return sum(len(g["processes"]) for g in c.ask("grants")["grants"])
    return until(lambda: len(workers(m)) - busy() == n, 10)


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def grant_made(m, name, quota, **fields):
    c = m.control()
    answer = c.ask("grant_create", name=name, driver="soft", devices=[{"device": "0", "mem_bytes": quota}], wall=True, **fields)
    c.close()
    if not answer["ok"]:
        raise SystemExit(f"Bail out! {answer}")
    return answer["grant"]


def test_pool(m, c):
    ok(not workers(m), "without a walled grant there is no worker")
    grant = grant_made(m, "a", 64 << 20)
    ok(grant["wall"].endswith("/grants/a@wall.sock"), "the grant names its second socket", grant)
    ok(idle(m, c, 2), "two workers wait", workers(m))
    same(c.share("a")["held_bytes"], 0, "waiting workers are charged to nobody's grant")
    one = Client(grant["wall"])
    same((one.status, one.text), (0, "a"), "a client gets a worker")
    rows = c.grant("a")["processes"]
    same(len(rows), 1, "which is the grant's one process")
    same(rows[0]["command"], "wall_client", "and has the client's name")
    same(c.share("a")["held_bytes"], CONTEXT, "its context, made before, is charged to the grant")
    ok(idle(m, c, 2), "the pool is filled up again")
    one.end()
    ok(until(lambda: not c.grant("a")["processes"], 2), "the client ends, and so does its account")
    same(c.share("a")["held_bytes"], 0, "nothing is held any more")
    return grant


def test_sandbox(m, c, grant):
    one = Client(grant["wall"])
    pid = c.grant("a")["processes"][0]["pid"]
    s = status_of(pid)
    same(s.get("Seccomp"), "2", "a worker runs under a filter of system calls")
    same(s.get("NoNewPrivs"), "1", "it can gain no privileges")
    if os.geteuid() == 0:
        ok("0" not in s["Uid"].split(), "it is not root", s["Uid"])
        same(int(s["CapEff"], 16) | int(s["CapPrm"], 16), 0, "it has no capabilities")
    same(os.getsid(pid), pid, "it has a session of its own")
    with open(f"/proc/{pid}/limits", encoding="ascii") as f:
        ok(any(l.split()[:5] == ["Max", "core", "file", "size", "0"] for l in f), "it leaves no core")
    for task in os.listdir(f"/proc/{pid}/task"):
        if status_of(f"{pid}/task/{task}").get("Seccomp") != "2":
            ok(False, "every thread of it runs under the filter")
    one.end()


def test_deaths(m, c, grant):
    one, two = Client(grant["wall"]), Client(grant["wall"])
    same((one.status, two.status), (0, 0), "two clients of one grant")
    one.kill()
    ok(until(lambda: len(c.grant("a")["processes"]) == 1, 1), "a client is killed: its worker ends within a second")
    same(c.share("a")["held_bytes"], CONTEXT, "the other one's account stands")
    same(two.ping(), 0, "and the other one goes on")
    pid = c.grant("a")["processes"][0]["pid"]
    began = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    same(two.ping(), -1, "a worker is killed: its client learns of it")
    ok(time.monotonic() - began < 1, "within a second")
    ok(until(lambda: not c.grant("a")["processes"], 2), "and the account is closed")
    two.end()
    ok(idle(m, c, 2), "the pool is as it was", workers(m))


def test_restart(m, c, grant):
    one = Client(grant["wall"])
    pid = c.grant("a")["processes"][0]["pid"]
    c.close()
    m.process.kill()
    m.process.wait()
    m.process.stderr.close()
    same(one.ping(), 0, "meted is killed: the worker goes on")
    ok(until(lambda: workers(m) == [pid], 3), "workers that waited have ended", workers(m), pid)
    m.start()
    c = m.control()
    ok(until(lambda: [p["pid"] for p in c.grant("a")["processes"]] == [pid], 3), "a new meted knows the worker")
    same(c.share("a")["held_bytes"], CONTEXT, "and what it holds")
    ok(idle(m, c, 2), "the pool is there again", workers(m))
    two = Client(grant["wall"])
    same(two.status, 0, "new clients are let in")
    two.end()
    same(one.ping(), 0, "the old one is still there")
    one.end()
    ok(until(lambda: not c.grant("a")["processes"], 2), "and ends as any other")
    left = lambda: [n for n in os.listdir(os.path.join(m.dir, "workers")) if not n.endswith(".traffic")]
    ok(until(lambda: len(left()) == 2, 5), "no socket of a worker is left", left())
    return c


def test_away(m, c, grant):
    """A device that was lost is back: no client gets a worker whose context is from before."""
    def state(name):
        return lambda: c.ask("devices")["devices"][0]["state"] == name

    def fault(word):
        same(subprocess.run([METE, "soft", "fault", "0", word], env=m.env).returncode, 0, f"mete soft fault 0 {word}")

    before = set(workers(m))
    fault("--lost")
    ok(until(state("lost"), 10), "the device is lost")
    fault("--back")
    ok(until(state("active"), 20), "and back")
    ok(until(lambda: len(workers(m)) == 2 and not before & set(workers(m)), 10), "the workers that wait are new", before, workers(m))
    one = Client(grant["wall"])
    same((one.status, one.ping()), (0, 0), "a client gets one of them")
    one.end()


def test_refusals(m, c):
    small = grant_made(m, "small", 2 << 20)
    one = Client(small["wall"])
    same(one.status, 3, "a quota without room for a context: the client is refused")
    ok("small" in one.text and "memory" in one.text, "with a line that says so", one.text)
    one.end()
    gone = grant_made(m, "gone", 32 << 20)
    one = Client(gone["wall"])
    same(one.status, 0, "a grant with a client")
    same(c.ask("grant_delete", name="gone").get("code"), "busy", "is not deleted under it")
    one.end()
    ok(until(lambda: c.ask("grant_delete", name="gone")["ok"], 3), "but when it has ended")
    ok(not os.path.exists(gone["wall"]), "and the socket is gone")


def test_no_worker(m):
    """A worker that cannot be started: clients are told, and meted goes on."""
    broken = tempfile.mkdtemp(prefix="mete-t-", dir="/tmp")
    try:
        os.makedirs(os.path.join(broken, "libexec/mete"))
        os.makedirs(os.path.join(broken, "bin"))
        for path, text in (("libexec/mete/mete-worker", "#!/nowhere/at-all\n"), ("libexec/mete/ends", "#!/bin/sh\nexit 1\n")):
            with open(os.path.join(broken, path), "w", encoding="ascii") as f:
                f.write(text)
            os.chmod(os.path.join(broken, path), 0o755)
        shutil.copy(METED, os.path.join(broken, "bin/meted"))
        for what in ("does not start", "ends at once"):
            harness.METED = os.path.join(broken, "bin/meted")
            other = Meted("--soft-only", env={"METE_LIBDIR": libdir(broken)})
            grant = grant_made(other, "x", 1 << 20)
            one = Client(grant["wall"])
            same(one.status, 6, f"a worker that {what}: the client is told")
            ok("no worker can be started" in one.text, "in one line", one.text)
            one.end()
            ok(other.process.poll() is None and other.control().ask("hello")["ok"], "and meted goes on")
            other.close()
            os.replace(os.path.join(broken, "libexec/mete/ends"), os.path.join(broken, "libexec/mete/mete-worker"))
            with open(os.path.join(broken, "libexec/mete/ends"), "w", encoding="ascii") as f:
                f.write("")
    finally:
        harness.METED = METED
        shutil.rmtree(broken)


def libdir(folder):
    """The libraries of this build where an installed meted looks for them."""
    path = os.path.join(folder, "lib")
    os.makedirs(path, exist_ok=True)
    for name, source in (("soft", "src/softdev"), ("shim", "src/shim")):
        if not os.path.islink(os.path.join(path, name)):
            os.symlink(os.path.join(BUILD, source), os.path.join(path, name))
    return path


def test_attach_time(m, c, grant):
    times = []
    patience = float(os.environ.get("METE_TEST_PATIENCE", "1"))
    # On a busy machine the best of many tries is what the way itself takes.
    while len(times) < 9 or (min(times) > 20 * patience and len(times) < 100):
        idle(m, c, 2)
        one = Client(grant["wall"])
        times.append(one.ms)
        one.end()
    print(f"# attach to ready: best {min(times):.1f}, median {sorted(times)[len(times) // 2]:.1f} ms of {len(times)}")
    ok(min(times) <= 20 * patience, "attach to ready takes at most 20 ms", times)


def main():
    m = Meted("--soft-only", env={"METE_SOFT_CONTEXT_MEMORY": "3M"})
    c = m.control()
    grant = test_pool(m, c)
    test_sandbox(m, c, grant)
    test_deaths(m, c, grant)
    test_attach_time(m, c, grant)
    c = test_restart(m, c, grant)
    test_away(m, c, grant)
    test_refusals(m, c)
    c.ask("grant_delete", name="a")
    c.ask("grant_delete", name="small")
    test_no_worker(m)
    ok(until(lambda: not workers(m), 3), "with the last walled grant the pool ends", workers(m))
    c.close()
    m.process.terminate()
    m.process.wait()
    m.process.stderr.close()
    finish()


if __name__ == "__main__":
    main()
