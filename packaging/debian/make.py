#!/usr/bin/env python3
"""
Packs a build folder into Debian packages: make.py SOURCE_ROOT BUILD_ROOT OUT

The packages of `dpkg-buildpackage -b`, by the same rules, without compiling everything once more. They come to OUT.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

source, build, out = (os.path.abspath(p) for p in sys.argv[1:4])
PARTS = ("debian", "packaging", "LICENSE", "README.md")

scratch = tempfile.mkdtemp(prefix="mete-deb-")
try:
    tree = os.path.join(scratch, "mete")
    os.mkdir(tree)
    for part in PARTS:
        copy = shutil.copytree if os.path.isdir(os.path.join(source, part)) else shutil.copy2
        copy(os.path.join(source, part), os.path.join(tree, part))
    env = {k: v for k, v in os.environ.items() if k not in ("MESONINTROSPECT", "DESTDIR", "MAKEFLAGS", "CC", "CXX")}
    done = subprocess.run(["dpkg-buildpackage", "-b", "-us", "-uc", "-d", "-nc"], cwd=tree, env={**env, "METE_BUILD": build},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(done.stdout.decode(errors="replace")[-6000:] + "\nmake.py: dpkg-buildpackage failed")
    os.makedirs(out, exist_ok=True)
    for old in glob.glob(os.path.join(out, "*.deb")):
        os.unlink(old)
    for package in sorted(glob.glob(os.path.join(scratch, "*.deb"))):
        shutil.copy2(package, out)
        print(os.path.join(out, os.path.basename(package)))
finally:
    shutil.rmtree(scratch, ignore_errors=True)
