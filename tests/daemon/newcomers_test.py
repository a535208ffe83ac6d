"""
A guarantee holds beside rows of newcomers: programs that come under a grant of their own, bring one long kernel of which
nobody knows how long it takes, and go. The device's own clock judges. On a machine whose processors are busy the tenant
cannot keep the device busy, not even alone: a share is tried again then, and where that is so each time, it is not judged.
While the tenant, or meted, waits for a processor that something else has, nobody asks for the tenant's part: that much is allowed.
"""
from harness import *

import threading

METE = os.path.join(BUILD, "src/cli/mete")
NEWCOMER = os.path.join(BUILD, "tests/daemon/newcomer")
TRIES = 3
LATE_MOST = 0.15  # of the share: so much a busy machine explains
FIRST = ("nice", "-n", "-15") if os.getuid() == 0 else ()  # the tenant, before what else the machine has to do


def program(m, kernel_ms, options, *words, before=()):
    """A newcomer of that length, under a grant of its own, ready to launch."""
    p = subprocess.Popen([*before, METE, "run", "--soft", "--mem", "1M", *options, "--", NEWCOMER, *words], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True, start_new_session=True,
                         env={**m.env, "METE_RUNTIME_DIR": m.dir, "METE_SOFT_DURATION": f"once={kernel_ms}ms"})
    if p.stdout.readline() != "ready\n":
        raise SystemExit(f"Bail out! a newcomer does not begin: {p.communicate()}")
    return p


def kill(p):
    os.killpg(p.pid, signal.SIGKILL)
    p.communicate()


def go(p):
    p.stdin.write("\n")
    p.stdin.flush()
    return p


def done(p):
    """Waits for its end; how long its kernel took it, in ms."""
    words = p.stdout.readline().split()
    p.communicate()
    return int(words[2]) / 1e3


class Row:
    """Newcomers one after the other: the next one is made ready meanwhile."""

    def __init__(self, m, kernel_ms):
        self.m, self.kernel_ms, self.waits, self.stop = m, kernel_ms, [], False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def next(self):
        return program(self.m, self.kernel_ms, ("--policy", "fair"), "1")

    def run(self):
        ready = self.next()
        while not self.stop:
            p, ready = go(ready), self.next()
            self.waits.append(done(p))
        kill(ready)

    def end(self):
        self.thread.join()
        return self.waits


def clock(m):
    """The device's clock: what each process was served, and the time of all of it, in ns."""
    out = subprocess.run([METE, "soft", "devices", "--json"], env=m.env, stdout=subprocess.PIPE, check=True).stdout
    t = json.loads(out)["devices"][0]["time"]
    return t, {p["pid"]: p["served_ns"] for p in t["processes"]}


def share_of(m, pid, seconds):
    """
    What part of what the device serves a process has, how much of the time the device is idle, and how much of it the process or
    meted waits for a processor. A process that is attached has a line of its own there only when its first work has been served.
    """
    until(lambda: pid in clock(m)[1], 60)
    before, served = clock(m)
    began, waited = time.monotonic_ns(), [starved_threads(p) for p in (pid, m.process.pid)]
    time.sleep(seconds)
    waited = sum(max(now - then.get(thread, 0) for thread, now in starved_threads(p).items())  # the thread that waited most
                 for p, then in zip((pid, m.process.pid), waited))
    after, served_after = clock(m)
    took = time.monotonic_ns() - began
    return ((served_after[pid] - served[pid]) / max(after["served_ns"] - before["served_ns"], 1), (after["idle_ns"] - before["idle_ns"]) / took,
            waited * 1e9 / took)


def victim_share(m, kernel_ms, lanes):
    """What part of what the device serves the tenant with 50 % guaranteed has beside rows of newcomers, with what it may lack for the
    machine's sake; the idle part while it was alone."""
    v = go(program(m, 1, ("--name", "victim", "--policy", "burst", "--cores", "50"), "for", "600", "4", before=FIRST))
    c = m.control()
    pid = until(lambda: c.grant("victim")["processes"], 20)[0]["pid"]
    idle = share_of(m, pid, 0.5)[1]
    rows = [Row(m, kernel_ms) for _ in range(lanes)]
    until(lambda: all(r.waits for r in rows), 60)
    share, _, waited = share_of(m, pid, max(4, lanes * kernel_ms / 200, kernel_ms / 100))
    for r in rows:
        r.stop = True
    waits = [w for r in rows for w in r.end()]
    kill(v)
    ok(until(lambda: not c.grant("victim"), 10), "its grant ends with it")
    c.close()
    print(f"# kernels of {kernel_ms} ms: {len(waits)} newcomers, the longest wait {max(waits):.0f} ms; the victim has {share:.3f}; "
          f"it or meted waited for a processor {waited:.3f} of the time; alone it left {idle:.3f} idle", flush=True)
    return share + min(waited / 2, LATE_MOST), idle


def guarantee_holds(m, kernel_ms, lanes, least):
    what = f"50 % guaranteed beside {lanes} rows of kernels of {kernel_ms} ms"
    tries = []
    while len(tries) < TRIES and not (tries and tries[-1][0] >= least):
        tries.append(victim_share(m, kernel_ms, lanes))
    if tries[-1][0] < least and min(idle for _, idle in tries) > 0.25:
        skip(what, "the machine is too busy: the tenant does not keep the device busy")
    else:
        ok(tries[-1][0] >= least, what, tries)


m = Meted("--soft-only", env={"METE_SOFT_DEVICES": "1"})
# Others by hand: newcomers_test.py BUILD MS:LANES:LEAST ...
ROWS = [tuple(float(w) if "." in w else int(w) for w in row.split(":")) for row in sys.argv[2:]] or \
    [(20, 4, 0.45), (100, 4, 0.45), (300, 4, 0.45), (1000, 1, 0.42)]
for ms, lanes, least in ROWS:
    guarantee_holds(m, ms, lanes, least)
m.close()
finish()
