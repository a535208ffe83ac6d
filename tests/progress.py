#!/usr/bin/env python3
"""
Shows what `meson test` prints in a readable length: progress.py TITLE. Tests that pass have a line now and then, all others have their own.

TITLE tells builds apart that are tested beside each other. On a terminal a line that is rewritten says which test has just ended.
"""
import re
import sys
import time

title = sys.argv[1]
tty = sys.stdout.isatty()
RESULT = re.compile(r"^\s*(\d+)/(\d+)\s+(.*?)\s+(OK|SKIP|FAIL|ERROR|TIMEOUT|EXPECTEDFAIL|UNEXPECTEDPASS|INTERRUPT)\b(.*)")
clear = "\r\033[K" if tty else ""
in_summary = False
last = time.monotonic()
done = 0

for line in sys.stdin:
    line = line.rstrip("\n")
    m = RESULT.match(line)
    if re.match(r"^(Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout):\s+\d+", line) or line.startswith("Summary of Failures"):
        in_summary = True
    if in_summary:
        continue
    if m:
        done = int(m.group(1))
        if m.group(4) in ("OK", "EXPECTEDFAIL"):
            if tty:
                print(f"{clear}  {title}: {m.group(1)}/{m.group(2)}  {m.group(3)}", end="", flush=True)
            elif done == int(m.group(2)) or time.monotonic() - last > 2:
                last = time.monotonic()
                print(f"  {title}: {m.group(1)} of {m.group(2)} test programs done ({m.group(3)})", flush=True)
            continue
        print(f"{clear}  {title}: {m.group(1)}/{m.group(2)}  {m.group(3)}: {m.group(4)}{m.group(5)}", flush=True)
    elif line and not line.startswith("Full log written"):
        print(clear + "    " + line[:300], flush=True)
print(clear, end="")
