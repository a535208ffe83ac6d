#!/usr/bin/env python3
"""The compiled programs as an array in C: embed.py OBJECT HEADER"""
import sys

with open(sys.argv[1], "rb") as f:
    data = f.read()
with open(sys.argv[2], "w", encoding="ascii") as f:
    f.write("static const unsigned char guard_object[] __attribute__((aligned(16))) = {\n")
    for at in range(0, len(data), 24):
        f.write(",".join(str(b) for b in data[at : at + 24]) + ",\n")
    f.write("};\n")
