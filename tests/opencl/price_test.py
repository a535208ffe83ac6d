#!/usr/bin/env python3
"""
What the layer adds to a call, over a driver that does nothing (empty_icd.c), by turns: price_test.py BUILD [ROUNDS]. Least
and median, in nanoseconds. What is demanded is ten times the goal: a busy machine does not explain more.
"""
import os
import statistics
import sys

from kit import CASES, Place, finish, ok

rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
vendors = os.path.join("/tmp", f"mete-empty-icd-{os.getpid()}")
os.mkdir(vendors)
with open(os.path.join(vendors, "empty.icd"), "w", encoding="utf-8") as f:
    f.write(os.path.join(os.path.dirname(CASES), "libempty_icd.so") + "\n")
place = Place(OCL_ICD_VENDORS=vendors)
got = {}
for _ in range(rounds):
    for live in ("0", "50000"):
        for way, run in (("bare", lambda *w: place.bare(*w)), ("unlimited", lambda *w: place.run(*w, mem="2G")),
                         ("limited", lambda *w: place.run(*w, mem="2G", options=("-c", "90", "-C", "90")))):
            r = run(CASES, "price", live)
            if not ok(r.returncode == 0, f"{way}, {live} live objects: it runs", r.stdout, r.stderr):
                finish()
            got.setdefault((way, live), []).append([float(x) for x in r.stdout.split()])


def least(way, live, at):
    return min(row[at] for row in got[way, live])


def median(way, live, at):
    return statistics.median(row[at] for row in got[way, live])


# This driver imports whatever it is given, as NVIDIA's does what another API has made and let go of.
r = place.run(CASES, "imports", str(64 << 20), "100", mem="1G")
ok(r.stdout.split() == ["16", "-4"], "what is imported is charged: a quota's worth, then it is refused", r.stdout, r.stderr)

for live in ("0", "50000"):
    for way in ("bare", "unlimited", "limited"):
        print(f"# {way:9} {live:>5} live: enqueue {least(way, live, 0):7.1f} / {median(way, live, 1):7.1f} ns, "
              f"create and release {least(way, live, 2):6.1f} / {median(way, live, 3):6.1f} ns")
    for way, what, at, goal in (("unlimited", "an enqueue", 0, 100), ("limited", "an enqueue", 0, 300),
                                ("unlimited", "a create and release", 2, 300), ("limited", "a create and release", 2, 300)):
        added = least(way, live, at) - least("bare", live, at)
        ok(added <= 10 * goal, f"{way}, {live} live: {added:.1f} ns are added to {what}; the goal is {goal}")
place.close()
os.remove(os.path.join(vendors, "empty.icd"))
os.rmdir(vendors)
finish()
