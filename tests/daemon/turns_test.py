"""
Turns as meted gives them: shares, terms that change, deaths, stops, cheats, and meted's own death in the middle.

The clients sleep where others would compute, on a machine that has other things to do: what is asked for here is what
must hold in any case. How exact shares are is measured elsewhere.
"""
from harness import *

TURN_CLIENT = os.path.join(BUILD, "tests/daemon/turn_client")


class Worker:
    def __init__(self, path, seconds=600, kernel_us=1000, pause_us=0):
        command = [TURN_CLIENT, path, "0", str(kernel_us), str(pause_us), str(seconds)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline()

    def busy_ms(self, word="?"):
        """What it has computed so far."""
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return int(line.split()[1]) / 1000 if line.startswith("at") else None

    def pages(self, m):
        return [p for p in m.pages() if f"-{self.process.pid}-" in p]

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Case:
    """Tenants with their workers; everything ends with it."""

    def __init__(self, m, *tenants, workers=1, **work):
        self.m, self.control = m, m.control()
        self.names, self.workers = [], []
        for i, terms in enumerate(tenants):
            path = m.make(f"t{i}", devices=[dict(device="0", mem_bytes=1 << 20, **terms)], overcommit=True)
            self.names.append(f"t{i}")
            self.workers += [Worker(path, **work) for _ in range(workers)]

    def share(self, i):
        return self.control.share(self.names[i])

    def set(self, i, **terms):
        return self.control.ask("grant_set", name=self.names[i], devices=[terms])

    def progress(self, seconds, *which):
        """How much of the next seconds each computes."""
        before = [self.workers[i].busy_ms() for i in which]
        began = time.monotonic()
        time.sleep(seconds)
        after = [self.workers[i].busy_ms() for i in which]
        length = (time.monotonic() - began) * 1000
        return [(b - a) / length for a, b in zip(before, after)]

    def soon(self, good, seconds, *which):
        """The progress over the first of a few such spans in which it is good: the machine has other things to do."""
        for _ in range(8):
            got = self.progress(seconds, *which)
            if good(*got):
                return True
        print(f"#   {got}")
        return False

    def reconnect(self):
        self.control.close()
        self.control = self.m.control()

    def close(self):
        for w in self.workers:
            w.end()
        until(lambda: not any(self.control.grant(n)["processes"] for n in self.names))
        for n in self.names:
            self.control.ask("grant_delete", name=n)
        self.control.close()


def test_shares(m):
    c = Case(m, dict(cores=30))
    ok(c.soon(lambda got: 0.2 < got < 0.34, 1.2, 0), "alone, no more than its limit and about that")
    ok(until(lambda: 15 < c.share(0)["share_1s"] < 34, 8), "which meted has measured")
    s = c.share(0)
    same(s["tier"], "T2", "by the turns that it gives")
    ok(s["wanted_10s"] > 80 and s["wait_10s"] > 40 and s["turns"] > 3 and s["charged_ms"] > 100, "with the rest", s)
    ok(abs(c.control.grant("t0")["processes"][0]["devices"][0]["share_10s"] - s["share_10s"]) < 10,
       "and its process has it all")
    c.close()
    c = Case(m, dict(policy="weighted", weight=100), dict(policy="weighted", weight=300), workers=2)
    ok(c.soon(lambda a1, a2, b1, b2: b1 + b2 > 1.5 * (a1 + a2), 1, 0, 1, 2, 3),
       "weights count, and all processes of a tenant together")
    sums = []
    ok(until(lambda: sums.append(sum(c.share(i)["share_1s"] for i in (0, 1))) or 60 < sums[-1] < 103, 10),
       "the engine's time is given out once", sums)
    c.close()


def test_native(m):
    c = Case(m, dict())
    ok(c.soon(lambda got: got > 0.6, 0.3, 0), "native: nobody is held up")
    s = c.share(0)
    same((s["tier"], s.get("share_1s")), ("none", None), "nor measured")
    c.close()


def test_changes(m):
    c = Case(m, dict(cores=20))
    ok(c.soon(lambda got: 0.05 < got < 0.3, 0.7, 0), "held to 20 %")
    ok(c.set(0, policy="native")["ok"], "native now")
    ok(c.soon(lambda got: got > 0.6, 0.3, 0), "and free at once")
    ok(c.set(0, cores=20)["ok"], "held again")
    ok(c.soon(lambda got: 0.05 < got < 0.3, 0.7, 0), "at once")
    ok(c.set(0, frozen=True)["ok"], "frozen")
    time.sleep(0.05)
    same(c.progress(0.3, 0)[0], 0, "nothing runs")
    ok(c.set(0, frozen=False)["ok"], "thawed")
    ok(c.soon(lambda got: got > 0.05, 0.5, 0), "and it goes on")
    c.close()


def test_death_and_stop(m):
    """In the middle of a turn, with work in flight: the others go on."""
    for what, number in (("dies", signal.SIGKILL), ("is stopped", signal.SIGSTOP)):
        c = Case(m, dict(policy="fair"), dict(policy="fair"), kernel_us=3000)
        time.sleep(0.3)
        best = 0
        for _ in range(4):
            c.workers[0].signal(number)
            best = max(best, c.progress(0.25, 1)[0])
            if number == signal.SIGKILL:
                c.workers[0].end()
                c.workers[0] = Worker(c.control.grant("t0")["socket"], kernel_us=3000)
            else:
                c.workers[0].signal(signal.SIGCONT)
            time.sleep(0.05)
        ok(best > 0.6, f"who {what} holds nobody up", best)
        ok(c.soon(lambda got: got > 0.1, 0.4, 0), "and has its turns again afterwards")
        c.close()


def test_death_of_the_last(m):
    """In the middle of a kernel, and nobody else is there: nothing is charged any more."""
    c = Case(m, dict(cores=100), kernel_us=20000)
    time.sleep(0.3)
    c.workers[0].signal(signal.SIGKILL)
    ok(until(lambda: not c.control.grant("t0")["processes"]), "the only program of a device is killed while it computes")
    time.sleep(0.05)
    before = c.share(0)["charged_ms"]
    time.sleep(0.5)
    same(c.share(0)["charged_ms"], before, "its grant is charged for nothing afterwards")
    c.close()


def ticks(m):
    """What meted has used of the processor, in hundredths of a second."""
    fields = open(f"/proc/{m.process.pid}/stat").read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_idle(m):
    """A grant whose programs have gone costs nothing."""
    c = Case(m, dict(cores=50), dict(policy="fair"))
    time.sleep(0.2)
    for w in c.workers:
        w.end()
    until(lambda: not any(c.control.grant(n)["processes"] for n in c.names))
    before = ticks(m)
    time.sleep(0.5)
    ok(ticks(m) - before < 10, "without clients meted sleeps", ticks(m) - before)
    c.close()


def wakes(m, seconds):
    """How often the thread that gives turns has slept."""
    folder = f"/proc/{m.process.pid}/task"

    def read(tid, name):
        with open(f"{folder}/{tid}/{name}", encoding="ascii", errors="replace") as f:
            return f.read()

    def slept():
        threads = [t for t in os.listdir(folder) if read(t, "comm") == "meted turns\n"]
        return int(read(threads[0], "status").split("\nvoluntary_ctxt_switches:")[1].split()[0])

    before = slept()
    time.sleep(seconds)
    return slept() - before


def test_still(m):
    """Programs that do nothing are looked at once a second; what one does then is seen as ever."""
    c = Case(m, dict(cores=50), dict(policy="fair"), pause_us=60_000_000, seconds=600)
    counts = []
    ok(until(lambda: counts.append(wakes(m, 2)) or counts[-1] < 10, 20), "two idle programs hardly wake it", counts)
    c.close()
    c = Case(m, dict(cores=90), kernel_us=300_000, pause_us=700_000)
    ok(until(lambda: 20 < (c.share(0)["share_1s"] or 0) < 40, 12), "what is done between pauses is measured", c.share(0))
    c.close()


def test_cheat(m):
    c = Case(m, dict(policy="fair"), dict(policy="fair"))
    c.workers[0].end()
    c.workers[0] = Worker(c.control.grant("t0")["socket"], kernel_us="cheat", seconds=4)
    ok(c.soon(lambda got: got > 0.2, 0.4, 1), "a page full of nonsense, and a bell that never rests: another still has its share")
    before, began = ticks(m), time.monotonic()
    time.sleep(0.5)
    used = (ticks(m) - before) / 100 / (time.monotonic() - began)
    ok(used < 0.75, "and meted leaves the processor to others", used)
    same(c.workers[0].process.wait(20), 0, "the cheat is through")
    ok(c.soon(lambda got: got > 0.6, 0.4, 1), "and then all")
    c.close()


def test_restart_while_busy(m):
    """Whose kernel ran before meted died, while it was away and after it came is charged for all of it."""
    c = Case(m, dict(policy="fair"), kernel_us=2500000)
    ok(until(lambda: c.share(0)["charged_ms"] > 300), "a long kernel runs")
    m.kill()
    time.sleep(0.2)
    m.start()
    c.reconnect()
    first = c.share(0)["charged_ms"]
    ok(first > 400, "what ran without meted is charged", first)
    time.sleep(0.3)
    got = c.share(0)["charged_ms"] - first
    ok(got > 200, "and what runs now", got)
    c.close()


def test_restart_owes_nothing(m):
    """What a limited tenant used while meted was away goes to its account, and is no debt that it waits for."""
    c = Case(m, dict(cores=80), kernel_us=2000)
    time.sleep(0.5)
    worked = 0
    for _ in range(10):
        m.kill()
        done = c.workers[0].busy_ms()
        time.sleep(0.5)
        worked = c.workers[0].busy_ms() - done
        m.start()
        back = time.monotonic()
        if worked > 300:  # its gate was open
            break
        c.reconnect()
        time.sleep(0.2)
    ok(worked > 300, "it works on through its open gate", worked)
    done = c.workers[0].busy_ms()
    ok(until(lambda: c.workers[0].busy_ms() > done + 20), "it goes on")
    took = time.monotonic() - back
    ok(took < 0.4 * PATIENCE, "and has no debt to wait for", took)
    c.reconnect()
    ok(c.share(0)["charged_ms"] > worked, "but is charged", worked, c.share(0)["charged_ms"])
    c.close()


def stays_behind(c, what, end):
    """Value: true when it would have been seen that nothing was kept: so little was served meanwhile."""
    w = c.workers[0]
    ok(until(lambda: w.busy_ms("behind") > 250, 20), f"it is behind before {what}")
    clock, before, done, began = w.busy_ms("clock"), w.busy_ms("behind"), w.busy_ms(), time.monotonic()
    end()
    c.reconnect()
    after, clock_after, served = w.busy_ms("behind"), w.busy_ms("clock"), w.busy_ms() - done
    took = 1000 * (time.monotonic() - began)
    # What it is served meanwhile makes up for it, the more when the others are not back yet.
    ok(after > before - served - 60, f"and as much after {what}", before, after, served, took)
    ok(abs(clock_after - clock) < took + 60, "by the clock as well", clock, clock_after, took)
    return before - served - 60 > took / 2


def test_restart_behind(m):
    """What a tenant is behind its guarantee by outlives meted: killed, asked to leave and replaced by the next one."""
    def upgrade():
        c.control.ask("upgrade")

    def killed(number=signal.SIGKILL):
        m.kill(number)
        m.start()

    c = Case(m, dict(policy="burst", cores=50), dict(policy="fair"), kernel_us=1000)
    long = Worker(m.make("long", devices=[dict(device="0", mem_bytes=1 << 20, policy="fair")]), kernel_us=1500000)
    for what, end in (("a kill", killed), ("an end", lambda: killed(signal.SIGTERM)), ("an upgrade", upgrade)):
        if not any(stays_behind(c, what, end) for _ in range(5)):
            print(f"# each time {what} took so long that the tenant may have been served what it was behind by", flush=True)
    long.end()
    c.close()


def test_restart(m):
    """meted dies with turns open: accounts go on, and so do the programs, under the next one too."""
    c = Case(m, dict(cores=30), dict(policy="weighted", weight=50), kernel_us=1000)
    time.sleep(0.7)
    for _ in range(3):
        before = [c.share(i)["charged_ms"] for i in (0, 1)]
        done = [w.busy_ms() for w in c.workers]
        m.kill()
        time.sleep(0.05)
        m.start()
        c.reconnect()
        after = [c.share(i)["charged_ms"] for i in (0, 1)]
        # What ran when it was killed had been counted up to that moment, and is charged when it ends: a kernel.
        ok(all(b > a - 2 for a, b in zip(before, after)), "nothing of the account is lost", before, after)
        ok(until(lambda: all(w.busy_ms() > d + 20 for w, d in zip(c.workers, done))), "everybody goes on", done)
    ok(c.soon(lambda a, b: a < 0.36 and b > 0.25, 0.7, 0, 1), "with their shares")
    attached = [p["attached"] for i in (0, 1) for p in c.control.grant(f"t{i}")["processes"]]
    same(attached, [True, True], "connected again")
    m.kill(signal.SIGTERM)
    m.start()
    c.reconnect()
    ok(c.soon(lambda got: got > 0.1, 0.3, 1), "likewise when it is asked to leave")
    c.close()


def test_lost_end(m):
    """The end of a kernel found the ring of edges full, when meted was away or did not look: nobody computes for ever."""
    c = Case(m, dict(cores=30), dict(policy="weighted", weight=50), kernel_us=1000)
    time.sleep(0.3)
    for _ in range(3):
        m.kill()
        done = c.workers[0].busy_ms("fill")
        m.start()
        c.reconnect()
        ok(until(lambda: c.workers[0].busy_ms() > done + 20), "it goes on under the next meted", done)
        m.process.send_signal(signal.SIGSTOP)
        done = c.workers[0].busy_ms("fill")
        m.process.send_signal(signal.SIGCONT)
        ok(until(lambda: c.workers[0].busy_ms() > done + 20), "and under one that had not looked", done)
    ok(c.soon(lambda a, b: a < 0.36 and b > 0.25, 0.7, 0, 1), "with their shares")
    c.close()


m = Meted("--soft-only")
for test in [test_shares, test_native, test_changes, test_death_and_stop, test_death_of_the_last, test_idle, test_still, test_cheat,
             test_restart, test_restart_while_busy, test_restart_owes_nothing, test_restart_behind, test_lost_end]:
    print(f"# {test.__name__}", flush=True)
    test(m)
m.close()
finish()
