#!/usr/bin/env python3
"""Shares of time over libraries of CUDA's and HIP's shape, two at 30 and 70 on one card: sharing_test.py BUILD."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "hip"))

from sharing import CUDA, SECONDS, pair

from kit import BUILD, finish

musa = [os.path.join(BUILD, "tests/shapes/musa_spin"), str(SECONDS)]
maca = [os.path.join(BUILD, "tests/shapes/maca_cases"), "spin", str(SECONDS)]
pair("two of MUSA", (30, musa), (70, musa), 2)
pair("two of MACA", (30, maca), (70, maca), 2)
pair("CUDA beside MUSA", (30, [CUDA, str(SECONDS)]), (70, musa), 3)
finish()
