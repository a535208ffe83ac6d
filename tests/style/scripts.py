#!/usr/bin/env python3
"""Every shell script of the tree parses, may be executed and, where shellcheck is installed, is clean: scripts.py ROOT."""
import os
import re
import shutil
import subprocess
import sys

root = sys.argv[1]
SKIP = re.compile(r"^(\.git|build[^/]*|bundle|__pycache__)$")
scripts = []
for folder, folders, names in os.walk(root):
    folders[:] = sorted(d for d in folders if not SKIP.match(d))
    for name in sorted(names):
        path = os.path.join(folder, name)
        with open(path, "rb") as f:
            if re.match(rb"#!.*\b(ba)?sh\b", f.readline()):
                scripts.append(path)

count = failed = 0
checker = shutil.which("shellcheck")
for path in scripts:
    name = os.path.relpath(path, root)
    r = subprocess.run(["bash", "-n", path], stderr=subprocess.STDOUT, stdout=subprocess.PIPE)
    good = r.returncode == 0 and os.access(path, os.X_OK)
    count += 1
    failed += not good
    print(r.stdout.decode().replace("\n", "\n# "), end="")
    print(f"{'' if good else 'not '}ok {count} - {name} parses and may be executed")
    count += 1
    if not checker:
        print(f"ok {count} - {name} is clean # SKIP shellcheck is not installed")
        continue
    r = subprocess.run([checker, "-x", "-S", "warning", path], stderr=subprocess.STDOUT, stdout=subprocess.PIPE, cwd=root)
    failed += r.returncode != 0
    for line in r.stdout.decode().splitlines()[:30]:
        print("#", line)
    print(f"{'not ' if r.returncode else ''}ok {count} - {name} is clean")
print(f"1..{count}")
sys.exit(1 if failed else 0)
