#!/usr/bin/env python3
"""Sums up meson's testlog.json: a line "passed failed skipped", then the names of what failed, one a line."""
import json
import sys

passed = skipped = 0
failed = []
try:
    with open(sys.argv[1], encoding="utf-8") as f:
        for line in f:
            test = json.loads(line)
            if test["result"] in ("OK", "EXPECTEDFAIL"):
                passed += 1
            elif test["result"] == "SKIP":
                skipped += 1
            else:
                failed.append(f'{test["name"]} ({test["result"]})')
except OSError as e:
    failed.append(f"no result at all: {e}")
print(passed, len(failed), skipped)
print("\n".join(failed), end="")
