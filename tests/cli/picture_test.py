#!/usr/bin/env python3
"""
The picture of `mete top` in README is of this program: picture_test.py SOURCE_ROOT BUILD_ROOT

The script that recorded it runs again, for a few seconds: the same heads, tenants and devices must stand in both; and both
are well-formed text that nothing from elsewhere is loaded into.
"""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

SOURCE, BUILD = sys.argv[1:3]
count = failed = 0


def check(good, text, details=""):
    global count, failed
    count += 1
    failed += not good
    for line in str(details).splitlines()[:20] if not good else []:
        print("#", line)
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)


def lines(picture):
    """The text, line by line."""
    rows = {}
    for element in xml.fromstring(picture).iter("{http://www.w3.org/2000/svg}text"):
        rows.setdefault(float(element.get("y")), []).append((float(element.get("x")), element.text))
    return [" ".join(text for _, text in sorted(row)).split() for _, row in sorted(rows.items())]


with open(os.path.join(SOURCE, "docs/pictures/top.svg"), encoding="utf-8") as file:
    shown = file.read()
script = os.path.join(SOURCE, "docs/pictures/top.py")
done = subprocess.run([sys.executable, "-B", script, BUILD, "4"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240)
check(done.returncode == 0, "it is recorded again", done.stderr)
now = lines(done.stdout) if done.returncode == 0 else []
then = lines(shown)
heads = [line for line in now if "HISTORY" in line]
check(len(heads) == 2, "both tables have their heads", now)
for head in heads:
    check(head in then, f"the picture in README has them: {' '.join(head)}", then)
names = [{line[0] for line in picture[1:-1]} & {"train", "infer", "notebook", "nightly"} for picture in (now, then)]
check(len(names[0]) == 4 and names[0] == names[1], "and the tenants", names)
check(now and then[-1] == now[-1], "and the keys", (then[-1], now[-1:]))
check(sum("software" in line for line in then) == 2, "and it says that the devices are software devices", then)
check(not re.search(r"href|url\(|<script|<style|@import|<image", shown), "nothing is loaded from elsewhere")
check(len(shown) < 20000, f"it is small: {len(shown)} bytes")
print(f"1..{count}")
sys.exit(1 if failed else 0)
