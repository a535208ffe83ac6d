#!/usr/bin/env python3
"""Prints the names of the programs that have committed PTX, or with "all" those of every program."""
import glob
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))


def names(every=False):
    found = sorted(os.path.basename(f)[:-3] for f in glob.glob(os.path.join(here, "*.cu")))
    return [n for n in found if every or "nvcc only" not in first_line(n)]


def first_line(name):
    with open(os.path.join(here, name + ".cu"), encoding="utf-8") as f:
        return f.readline()


if __name__ == "__main__":
    print("\n".join(names("all" in sys.argv[1:])))
