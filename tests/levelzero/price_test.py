#!/usr/bin/env python3
"""
What the face adds to a call, over a driver that does nothing (empty.c), by turns: price_test.py BUILD [ROUNDS]. Least and median, in
nanoseconds. What is demanded is ten times the goal: a busy machine does not explain more.
"""
import statistics
import sys

from kit import CASES, EMPTY, Place, finish, need_loader, ok

rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
need_loader()
place = Place(ZE_ENABLE_ALT_DRIVERS=EMPTY)
driver = {"METE_LEVELZERO_DRIVER": EMPTY}
WAYS = {"bare": lambda *w: place.run(whole=list(w), env={"ZE_ENABLE_ALT_DRIVERS": EMPTY}),
        "unlimited": lambda *w: place.run(*w, mem="512M", options=("--levelzero",), env=driver),
        "limited": lambda *w: place.run(*w, mem="512M", options=("--levelzero", "-c", "90", "-C", "90"), env=driver)}
CALLS = (("an allocation and its release", {"unlimited": 300, "limited": 300}), ("an execution of a list", {"unlimited": 100, "limited": 300}),
         ("a kernel in an immediate list", {"unlimited": 100, "limited": 300}))
got = {}
for _ in range(rounds):
    for live in ("0", "50000"):
        for way, run in WAYS.items():
            r = run(CASES, "cost", live)
            if not ok(r.returncode == 0, f"{way}, {live} live objects: it runs", r.stdout, r.stderr):
                finish()
            got.setdefault((way, live), []).append([float(x) for x in r.stdout.split()])


def least(way, live, call):
    return min(row[2 * call] for row in got[way, live])


def median(way, live, call):
    return statistics.median(row[2 * call + 1] for row in got[way, live])


for live in ("0", "50000"):
    for i, (call, goals) in enumerate(CALLS):
        print(f"# {live} live, {call}: " + ", ".join(f"{w} {least(w, live, i):.1f} / {median(w, live, i):.1f} ns" for w in WAYS))
        for way, goal in goals.items():
            added = least(way, live, i) - least("bare", live, i)
            ok(added <= 10 * goal, f"{way}, {live} live: {added:.1f} ns are added to {call}; the goal is {goal}")
place.close()
finish()
