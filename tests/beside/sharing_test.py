#!/usr/bin/env python3
"""Shares of time of a vendor's programs: two at 30 and 70, and one beside one of CUDA on one card: sharing_test.py BUILD VENDOR."""
import os
import subprocess
import sys

from kit import BUILD, METE, MIB, Place, finish
from shares import SECONDS, measure

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
    measure(what, programs, lambda i: place.share("ab"[i])["share_10s"], (first[0], second[0]), within, 100)
    place.close()


def spin(way):
    return [os.path.join(BUILD, f"tests/beside/{VENDOR}_cases"), "spin", str(SECONDS), way]


ways = {"ascend": (("acl", "rt"), ("op", "model"), ("rt", "task"), ("wait", "wait")), "cambricon": (("cnrt", "cn"), ("topo", "default"))}[VENDOR]
for a, b in ways:
    pair(f"{a} and {b}", (30, spin(a)), (70, spin(b)), 2 if a != "wait" else 3)
pair(f"CUDA beside {VENDOR}", (30, [CUDA, str(SECONDS)]), (70, spin(ways[0][0])), 3)
finish()
