#!/usr/bin/env python3
"""newer_test.py LIBRARY SPEC MAJOR: calls of newer releases are there and answer cudaErrorNotSupported."""
import ctypes
import sys
import tomllib

library, spec, major = sys.argv[1:]
with open(spec, "rb") as f:
    names = tomllib.load(f)["newer"].get(major, [])
lib = ctypes.CDLL(library)
failed = not names
print(f"1..{len(names)}")
for i, name in enumerate(names, 1):
    try:
        answer = getattr(lib, name)()
    except AttributeError:
        answer = "not exported"
    failed |= answer != 801
    print(f"{'ok' if answer == 801 else 'not ok'} {i} - {name}: {answer}")
sys.exit(1 if failed else 0)
