"""Two tenants of one card with shares of time, and what they get: for HIP and for libraries of its shape."""
import os
import subprocess

from kit import BUILD, METE, MIB, Place
from shares import SECONDS, measure  # noqa: F401

CUDA = os.path.join(BUILD, "tests/hip/hip_cuda_spin")


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
