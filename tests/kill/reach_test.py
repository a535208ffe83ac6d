"""
A program has a call take memory whose size or device is decided by something that another call changes, or that a full table
hides: the device's own count never exceeds the quota, and is the account's in the end: reach_test.py BUILD
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from device import Device  # noqa: E402
from harness import BUILD, Meted, finish, ok, until  # noqa: E402

MIB = 1 << 20
QUOTA = 64 * MIB
METE, REACHER = os.path.join(BUILD, "src/cli/mete"), os.path.join(BUILD, "tests/kill/reacher")
# the way, bytes that are asked for, what the program answers
WAYS = [("stack", 256 * MIB, 0), ("library", 40 * MIB, 0), ("primary", 256 * MIB, 0), ("global", 256 * MIB, 0),
        ("capture", 256 * MIB, 0),
        ("pools", 256 * MIB, 0),
        ("kernels", 40 * MIB, 0), ("function", 256 * MIB, 0), ("extern", 256 * MIB, 0),
        ("file", 256 * MIB, 0), ("export", 2 * MIB, 0)]

WALLED = ["stack", "library", "primary", "kernels", "function", "extern"]
DEVICES = 16  # as many as a grant has

m = Meted("--soft-only", env={"METE_SOFT_DEVICES": str(DEVICES), "METE_SOFT_MEMORY": "2G", "METE_SOFT_CONTEXT_MEMORY": "0"})
c = m.control()


def reach(grant, options, way, size, expected):
    judge = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, f"judge-{grant}-{way}"), m.env)
    p = subprocess.Popen([METE, "run", "--grant", grant] + options + ["--", REACHER, way, str(size)],
                         env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=m.dir)
    got, name = p.stdout.readline().strip(), f"{grant}, {way}"
    ok(got == str(expected), f"{name}: nothing is had beyond the quota, and what has room is had", got, expected)
    ok(until(lambda: c.share(grant)["held_bytes"] == judge.used(), 10), f"{name}: the account is the device's count",
       c.share(grant)["held_bytes"], judge.used())
    most = QUOTA + (size if way in ("extern", "file") else 0)  # docs/protection.md: between the load and its end
    ok(judge.most <= most, f"{name}: which is never above the quota ({judge.most} of {most} bytes)")
    p.communicate()
    ok(until(lambda: not judge.used(), 10), f"{name}: nothing is left", judge.used())
    judge.close()


for grant, walled in ("local", False), ("wall", True):
    m.make(grant, devices=[{"device": str(i), "mem_bytes": QUOTA} for i in range(DEVICES)], wall=walled)
    for way, size, expected in WAYS:
        if not walled or way in WALLED:
            reach(grant, ["--wall"] if walled else [], way, size, expected)
    if walled:
        c.ask("grant_delete", name=grant)
c.close()
m.close()
finish()
