#!/usr/bin/env python3
"""Writes a text file as a C string: embed.py INPUT OUTPUT NAME."""
import sys

source, target, name = sys.argv[1:4]
with open(source, encoding="utf-8") as f:
    lines = f.read().splitlines()
with open(target, "w", encoding="utf-8") as f:
    f.write(f"static const char {name}[] =\n")
    for line in lines:
        text = line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
        f.write(f'\t"{text}\\n"\n')
    f.write("\t;\n")
