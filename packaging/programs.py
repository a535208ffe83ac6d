#!/usr/bin/env python3
"""
The files of a build folder that belong to mete itself: programs.py BUILD [WORD...]

Prints, relative to the folder, what ninja has to make for a mete that runs from it: all that is installed, and what is
made beside it. With WORDs also the targets whose path contains one.
"""
import json
import os
import shutil
import subprocess
import sys

build, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
meson = shutil.which("meson") or sys.exit("programs: meson is not in the path")
out = subprocess.run([meson, "introspect", "--targets", build], stdout=subprocess.PIPE, check=True).stdout
for target in json.loads(out):
    for path in target["filename"]:
        path = os.path.relpath(path, build)
        beside = target["type"] == "custom" and target["build_by_default"] and not path.startswith("tests/")
        if target["installed"] or beside or any(w in path for w in words):
            print(path)
