#!/usr/bin/env python3
"""Shares of time of Level Zero's programs: two at 30 and 70, by queues and by immediate lists, and one beside CUDA: sharing_test.py BUILD."""
import os
import subprocess

from kit import BUILD, CASES, METE, MIB, Place, finish, need_loader
from shares import SECONDS, measure

CUDA = os.path.join(BUILD, "tests/hip/hip_cuda_spin")

need_loader()


def pair(what, first, second, within):
    """Two tenants, (percent, words of a program) each; their shares of what both got."""
    place = Place(METE_SOFT_DURATION="spin_*=2ms")
    programs = []
    for name, (percent, words) in (("a", first), ("b", second)):
        place.grant(name, 64 * MIB, cores=percent, cores_limit=percent)
        programs.append(subprocess.Popen([METE, "run", "--grant", name, "--", *words], env=place.env, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True))
    measure(what, programs, lambda i: place.share("ab"[i])["share_10s"], (first[0], second[0]), within, 100)
    place.close()


def spin(way):
    return [CASES, "spin", str(SECONDS), way]


pair("two queues", (30, spin("queue")), (70, spin("many")), 2)
pair("two immediate lists", (30, spin("immediate")), (70, spin("immediate")), 2)
pair("CUDA beside Level Zero", (30, [CUDA, str(SECONDS)]), (70, spin("queue")), 3)
finish()
