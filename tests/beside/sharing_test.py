#!/usr/bin/env python3
"""Shares of time of a vendor's programs: two at 30 and 70, and one beside one of CUDA on one card: sharing_test.py BUILD VENDOR."""
import os
import subprocess
import sys
import time

from kit import BUILD, METE, MIB, Place, finish, ok, same

SECONDS = 14
WINDOW = 10
VENDOR = sys.argv[2]
CUDA = os.path.join(BUILD, "tests/hip/hip_cuda_spin")


def pair(what, first, second, within):
    """Two tenants, (percent, words of a program) each; their shares of what both got."""
    place = Place(VENDOR, METE_SOFT_DURATION="spin_*=2ms")
    programs = []
    for name, (percent, words) in (("a", first), ("b", second)):
        place.grant(name, 64 * MIB, cores=percent, cores_limit=percent)
        programs.append(subprocess.Popen([METE, "run", "--grant", name, "--", *words], env=place.env, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True))
    for p in programs:
        same(p.stdout.readline(), "begins\n", f"{what}: the program begins")
    best = None
    end = time.monotonic() + SECONDS - 1
    time.sleep(WINDOW + 1)
    while time.monotonic() < end:
        got = [place.share(n)["share_10s"] for n in ("a", "b")]
        if None not in got and sum(got):
            off = abs(got[0] / sum(got) * 100 - first[0])
            best = min(best, (off, got)) if best else (off, got)
        time.sleep(0.25)
    for p in programs:
        out, err = p.communicate(timeout=60)
        ok(p.returncode == 0 and int(out) > 100, f"{what}: the program ends as it should", out, err)
    ok(best and best[0] <= within, f"{what}: {first[0]} to {second[0]} within {within} points", best)
    ok(best and sum(best[1]) <= 101, f"{what}: the two are never charged more than the wall time", best)
    print(f"# {what}: measured {best and best[1]}")
    place.close()


def spin(way):
    return [os.path.join(BUILD, f"tests/beside/{VENDOR}_cases"), "spin", str(SECONDS), way]


ways = {"ascend": (("acl", "rt"), ("op", "model"), ("rt", "task"), ("wait", "wait")), "cambricon": (("cnrt", "cn"), ("topo", "default"))}[VENDOR]
for a, b in ways:
    pair(f"{a} and {b}", (30, spin(a)), (70, spin(b)), 2 if a != "wait" else 3)
pair(f"CUDA beside {VENDOR}", (30, [CUDA, str(SECONDS)]), (70, spin(ways[0][0])), 3)
finish()
