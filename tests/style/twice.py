#!/usr/bin/env python3
"""
What ./check leaves to the address sanitizer's build (suite "twice") does no less there: twice.py BUILD. Such a test names neither a
sanitizer nor a sanitized build's patience in its own file.
"""
import json
import os
import sys

LESS = ("SANITIZED", "PATIENCE")

build = sys.argv[1]
with open(os.path.join(build, "meson-info/intro-tests.json"), encoding="utf-8") as f:
    tests = [t for t in json.load(f) if "twice" in {s.split(":")[-1] for s in t["suite"]}]
failed = 0
for n, test in enumerate(tests, 1):
    script = next(os.path.join(build, word) for word in test["cmd"] if word.endswith("_test.py"))
    with open(script, encoding="utf-8") as f:
        text = f.read()
    found = [word for word in LESS if word in text]
    failed += bool(found)
    print(f"{'not ' if found else ''}ok {n} - {test['name']}" + (f": {' and '.join(found)}" if found else ""))
print(f"1..{len(tests)}")
sys.exit(1 if failed or not tests else 0)
