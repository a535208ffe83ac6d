#!/usr/bin/env python3
"""Includes run one way only: layers.py SOURCE_ROOT checks every source under src/ and connect/ against layers.txt."""
import os
import re
import sys

root = sys.argv[1]
may, must_not = {}, {}
with open(os.path.join(root, "tests/style/layers.txt"), encoding="utf-8") as f:
    for line in f:
        line = line.split("#")[0].strip()
        if "!" in line:
            folder, headers = re.match(r"(\S+) ! .*?", line).group(1), line.split("!")[1]
            must_not[folder] = set(headers.replace(":", " ").split())
        elif line:
            folder, _, others = line.partition(":")
            may[folder.strip()] = others.split()

GENERATED = re.compile(r"^(cuda|nvml|cudart|procs)\w*\.h$")
faults = checked = 0
told = []


def fault(path, number, text):
    global faults
    faults += 1
    told.append(f"{os.path.relpath(path, root)} line {number}: {text}")
    print("#", told[-1])


def layer_of(path):
    relative = os.path.relpath(path, root)
    return next((layer for layer in may if relative.startswith(layer + "/")), None)


def find(path, name):
    """The file that #include "name" means here; None for a generated one."""
    places = [os.path.dirname(path), os.path.join(root, "src"), root, os.path.join(root, "include"), os.path.join(root, "api")]
    return next((p for p in (os.path.join(d, name) for d in places) if os.path.exists(p)), None)


def check(path):
    layer = layer_of(path)
    if layer is None:
        fault(path, 1, "its folder has no row in tests/style/layers.txt")
        return
    with open(path, encoding="utf-8") as f:
        lines = f.readlines()
    for number, line in enumerate(lines, 1):
        m = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not m:
            continue
        name = m.group(2)
        if m.group(1) == "<":
            if name in must_not.get(layer, ()):
                if not path.endswith("_test.c"):
                    fault(path, number, f"{layer} must not include <{name}>")
            continue
        target = find(path, name)
        if target is None:
            if not (GENERATED.match(os.path.basename(name)) and "api" in may[layer]) and "/" in name:
                fault(path, number, f"{name} is not found")
            continue
        other = os.path.relpath(os.path.normpath(target), root)
        if other.startswith("include/"):
            continue
        if other.startswith("api/"):
            allowed = "api" in may[layer]
        else:
            target_layer = layer_of(os.path.normpath(target))
            allowed = target_layer == layer or target_layer in may[layer]
        if not allowed and not (path.endswith("_test.c") and name == "base/tap.h"):
            fault(path, number, f"{layer} must not include {other}")


for top in ("src", "connect"):
    for folder, _, names in os.walk(os.path.join(root, top)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                checked += 1
                check(os.path.join(folder, name))

where = ": " + "; ".join(told[:5]) if told else ""
print("1..1")
print(f"{'not ' if faults or not checked else ''}ok 1 - includes of {checked} sources run downward ({faults} do not){where}")
sys.exit(1 if faults or not checked else 0)
