#!/usr/bin/env python3
"""The arithmetic of bench/shares on curves whose shares are known."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from share import curves, lost, page  # noqa: E402

SECOND, MS = curves.SECOND, curves.SECOND // 1000
count = failed = 0


def check(name, value, wanted, within=1e-9):
    global count, failed
    count += 1
    good = abs(value - wanted) <= within
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {name}" + ("" if good else f": {value}, not {wanted}"))


def turns(period, busy, seconds, jitter=0):
    """Busy for the first part of each period; every other one is longer by jitter and the next shorter."""
    c, had, t = curves.Curve([(0, 0)]), 0, 0
    while t < seconds * SECOND:
        b = busy + (jitter if (t // period) % 2 == 0 else -jitter)
        c.add(t + b, had + b)
        c.add(t + period, had + b)
        had += b
        t += period
    return c


even = curves.Sum([turns(10 * MS, 3 * MS, 20)])
found = curves.errors(even, 30, [(0, 20 * SECOND)])
check("an even tenant has its share in the long run", found["long_run"], 0)
check("and in every window", found["max"], 0, 1e-6)
check("all windows are looked at", found["windows"], 381)
check("one who gets 30 of 50 asked for is 20 off", curves.errors(even, 50, [(0, 20 * SECOND)])["mean"], 20, 1e-6)

# Half a second on, half a second off, at twice the share: right over one second, but not over a window of another length.
uneven = curves.Sum([turns(1000 * MS, 300 * MS, 20)])
check("a window of a second hides what is shorter", curves.errors(uneven, 30, [(0, 20 * SECOND)])["max"], 0, 1e-6)
check("a window of half a second does not", curves.errors(uneven, 30, [(0, 20 * SECOND)], SECOND // 2)["max"], 30, 1e-6)
sway = curves.Sum([turns(1000 * MS, 300 * MS, 20, 100 * MS)])
found = curves.errors(sway, 30, [(0, 20 * SECOND)])
check("seconds of 40 and 20 % by turns are 10 off at most", found["max"], 10, 1e-6)
check("and right in the long run", found["long_run"], 0, 1e-6)

# A second of the same tenant is lost, and the machine stood still meanwhile.
halted = curves.Sum([curves.Curve([(0, 0), (9 * SECOND, 2.7 * SECOND), (10 * SECOND, 2.7 * SECOND), (20 * SECOND, 5.7 * SECOND)])])
still = curves.Still([curves.Curve([(0, 0), (20 * SECOND, 0)]), curves.Curve([(0, 0), (9 * SECOND, 0), (10 * SECOND, SECOND), (20 * SECOND, SECOND)])])
found = curves.errors(halted, 30, [(0, 20 * SECOND)], still=still)
check("a lost second is an error", found["max"], 30, 1e-6)
check("and it is told for how long a processor stood still then", found["still_ms"], 1000, 1e-6)
check("windows in which none did have no error", found["calm"]["max"], 0, 1e-6)
check("all windows but those that meet that second", found["calm"]["windows"], 381 - 39)
found = curves.errors(halted, 30, [(0, 20 * SECOND)], still=curves.Still([curves.Curve([(0, 0), (20 * SECOND, 0)])]))
check("where none stood still, nothing is excused", found["calm"]["max"], 30, 1e-6)

two = curves.Sum([turns(10 * MS, 1 * MS, 5), turns(10 * MS, 2 * MS, 5)])
check("processes of one tenant add up", two.share(0, 5 * SECOND), 30, 1e-6)
check("windows lie within the spans alone", len(list(curves.windows([(0, SECOND), (2 * SECOND, 4 * SECOND)], SECOND, SECOND // 2))), 4)
check("spans that touch are one", len(curves.merged([(5, 9), (0, 3), (3, 4)])), 2)
check("the 99th percentile of 1 to 100", curves.percentile(range(1, 101), 99), 99)
check("the 50th of one value", curves.percentile([7], 50), 7)
marks = curves.of_marks([(0, 10, 5), (10, 30, 5), (100, 110, 10)])
check("marks: a kernel that shared the device counts what it takes alone", marks.at(30), 10)
check("nothing between kernels", marks.at(95), 10)
check("half of the last", marks.at(105), 15)

# Two turns of a, one of b between them: 100 us each, of which the gaps are 2 inside, 3 at the end, 4 with no gate open, 5 before the first.
def said(tid, name, *spans):
    return [{"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": name}}] + \
        [{"ph": "X", "name": "x", "pid": 1, "tid": tid, "ts": a, "dur": b - a} for a, b in spans]


trace = said(1, "a: turns", (0, 103), (200, 300)) + said(2, "a: busy", (0, 50), (52, 100), (200, 300)) + \
    said(3, "b: turns", (107, 200)) + said(4, "b: busy", (112, 200)) + said(5, "a: waiting", (103, 200))
why = lost.causes(*lost.tracks(trace))
for name, us in (("inside", 2), ("end", 3), ("closed", 4), ("first", 5)):
    check(f"what nobody has, {name}", why[name], round(us / 3, 2))

# A library that counts blocks is compared on grids that fill the device, or not at all.
rows = [{"row": "share", "system": "mete"}, {"row": "share", "system": "peer"}, {"row": "done"}]
check("rows of another library stand beside ours", len(page.comparable({"gpu": False, "grid": "full"}, rows)), 3)
check("but not where a grid is one block", len(page.comparable({"gpu": False, "grid": "one"}, rows)), 2)
check("nor where an older run does not say", len(page.comparable({"gpu": False}, rows)), 2)
print(f"1..{count}")
sys.exit(1 if failed else 0)
