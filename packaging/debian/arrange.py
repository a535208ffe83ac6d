#!/usr/bin/env python3
"""
Brings what `meson install` put below FOLDER to where a Debian package has it: arrange.py FOLDER UNITDIR

A build folder that was made for /usr/local can be packed as well: nothing in it knows its prefix but the units.
"""
import os
import shutil
import sys

top, unitdir = sys.argv[1:3]


def move(source, target):
    """Merges a tree into another one."""
    source, target = os.path.join(top, source), os.path.join(top, target)
    if not os.path.lexists(source):
        return
    if os.path.isdir(source) and not os.path.islink(source):
        os.makedirs(target, exist_ok=True)
        for name in os.listdir(source):
            move(os.path.relpath(os.path.join(source, name), top), os.path.relpath(os.path.join(target, name), top))
        os.rmdir(source)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.move(source, target)


move("usr/local", "usr")
for where in {"usr/lib/systemd/system", "lib/systemd/system"} - {unitdir}:
    move(where, unitdir)
move("usr/share/doc/mete/meted.yaml", "etc/mete/meted.yaml")
for path in ("usr/lib/systemd", "lib/systemd", "lib", "usr/share/doc/mete", "usr/share/doc"):
    if os.path.isdir(os.path.join(top, path)) and not os.listdir(os.path.join(top, path)):
        os.rmdir(os.path.join(top, path))
units = os.path.join(top, unitdir)
for name in os.listdir(units):
    path = os.path.join(units, name)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace("/usr/local/bin/", "/usr/bin/").replace("/usr/local/sbin/", "/usr/sbin/"))
