#!/usr/bin/env python3
"""
What the face costs over the stand-in, by turns in one run: without mete, under a grant, and with a share of time:
price_test.py BUILD [ROUNDS]. The goals are checked against the median of what was added, with room for a busy machine.
"""
import statistics
import sys

from kit import CASES, METE, MIB, Place, finish, need_loader, ok, same

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
N = 500
need_loader()
place = Place(METE_SOFT_DURATION="quick=1us")
place.grant("plain", 512 * MIB)
place.grant("timed", 512 * MIB, cores=100, cores_limit=100)
WAYS = ("without mete", "under a grant", "with a share of time")
CALLS = ("allocation and release", "execution of a list", "kernel in an immediate list")
for live in (0, 50000):
    got = {w: [] for w in WAYS}
    for _ in range(ROUNDS):
        for way, run in zip(WAYS, (place.bare, lambda *w: place.run(whole=[METE, "run", "--grant", "plain", "--", *w]),
                                   lambda *w: place.run(whole=[METE, "run", "--grant", "timed", "--", *w]))):
            done = run(CASES, "cost", str(N), str(live))
            same(done.returncode, 0, f"{way}: the program ends as it should")
            got[way].append([float(x) for x in done.stdout.split()])
    for i, call in enumerate(CALLS):
        least = {w: min(r[i] for r in got[w]) for w in WAYS}
        middle = {w: statistics.median(r[i] for r in got[w]) for w in WAYS}
        print(f"# {call}, {live} live: " + "; ".join(f"{w} {least[w]:.0f} / {middle[w]:.0f} ns" for w in WAYS), flush=True)
        goal = 300 if not i else 100
        ok(least[WAYS[1]] - least[WAYS[0]] < goal * 10, f"{call}, {live} live: a grant adds no more than ten times its goal of {goal} ns", least)
place.close()
finish()
