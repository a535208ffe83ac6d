"""
Two tenants of one card with shares of time, and what they get by meted's own measure, beside how long the machine has kept
their programs waiting: the more of their time they wait for processors that something else has, the less exact shares can be.
"""
import os
import time

from harness import ok, same

SECONDS = 14
WINDOW = 10
# With charged(), for kernels that take a processor all the time; the long run has those above.
LONG = bool(os.environ.get("METE_TEST_LONG"))
DEAR_SECONDS, DEAR_WINDOW = (SECONDS, WINDOW) if LONG else (6.5, 4)


def processor(programs):
    """Seconds that the programs had a processor, and that they waited for one that others had."""
    ran = waited = 0
    for group in programs:
        for pid in [group.pid] + children(group.pid):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as f:
                    fields = f.read().split()
                ran, waited = ran + int(fields[0]) / 1e9, waited + int(fields[1]) / 1e9
    return ran, waited


def children(pid):
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as f:
            found += [int(c) for c in f.read().split()]
    return found + [c for child in found for c in children(child)]


def charged(total_ms):
    """A share(0 or 1) for measure() of the time since its first call; total_ms(0 or 1): what the tenant was charged for."""
    began = {}

    def share(i):
        now, total = time.monotonic(), total_ms(i)
        began.setdefault(i, (now, total))
        passed = now - began[i][0]
        return (total - began[i][1]) / passed / 10 if passed > 0 else None

    return share


def measure(what, programs, share, percents, within, least=0, seconds=SECONDS, window=WINDOW):
    """Programs of two tenants, that say when they begin and run for so many seconds; share(0 or 1): the tenant's share of the
    `window`, in percent. Each ends by itself, with how many kernels it has had: at least so many."""
    for p in programs:
        same(p.stdout.readline(), "begins\n", f"{what}: the program begins")
    best = None
    end = time.monotonic() + seconds - 1
    before = processor(programs)
    for i in range(2):
        share(i)
    time.sleep(window)
    ran, waited = (now - then for now, then in zip(processor(programs), before))
    late = waited / max(ran + waited, window)
    time.sleep(min(1, seconds - window - 2))
    while time.monotonic() < end:
        got = [share(i) for i in range(2)]
        if None not in got and sum(got):
            off = abs(got[0] / sum(got) * 100 - percents[0])
            best = min(best, (off, got)) if best else (off, got)
        time.sleep(0.25)
    for p in programs:
        out, err = p.communicate(timeout=60)
        ok(p.returncode == 0 and (not least or int(out) > least), f"{what}: the program ends as it should", out, err)
    ok(best and best[0] <= within + 20 * late, f"{what}: {percents[0]} to {percents[1]} within {within} points", best, late)
    ok(best and sum(best[1]) <= 101, f"{what}: the two are never charged more than the wall time", best)
    print(f"# {what}: measured {best and best[1]}, the machine kept the programs waiting for {waited:.2f} s")
