#!/usr/bin/env python3
"""Shares of time of HIP programs: two at 30 and 70, and one of HIP beside one of CUDA on one card: sharing_test.py BUILD."""
from sharing import CUDA, SECONDS, pair

from kit import CASES, finish

spin = [CASES, "spin", str(SECONDS)]
pair("two of HIP", (30, spin), (70, spin), 2)
pair("CUDA beside HIP", (30, [CUDA, str(SECONDS)]), (70, spin), 3)
finish()
