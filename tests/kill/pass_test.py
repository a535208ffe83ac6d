"""
Memory of a pool that was passed to another process stays charged when the process that made it is killed:
pass_test.py BUILD. It lives on for the other one, and the quota holds for it.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from device import Device  # noqa: E402
from harness import BUILD, Meted, finish, ok, same  # noqa: E402

MIB = 1 << 20
QUOTA = 160 * MIB


def main():
    meted = Meted("--soft-only", env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "6G", "METE_SOFT_CONTEXT_MEMORY": "0"})
    meted.make("pass", QUOTA)
    device = Device(meted.env["METE_SOFT_DIR"], os.path.join(meted.dir, "sight"))
    program = subprocess.Popen([os.path.join(BUILD, "src/cli/mete"), "run", "--grant", "pass", "--", os.path.join(BUILD, "tests/kill/passer")],
                               env={**meted.env, "METE_RUNTIME_DIR": meted.dir}, stdout=subprocess.PIPE, text=True)
    said = dict(line.split() for line in program.communicate()[0].splitlines())
    same(said.get("import"), "0", "a process imports memory of another's pool")
    same(said.get("both"), str(128 * MIB), "while both have it both are charged")
    same(said.get("one"), str(64 * MIB), "when its maker is gone the other one is charged still")
    same([said.get("more"), said.get("too-much")], ["0", "2"], "the quota has room for the rest of it, and no more")
    ok(device.most <= QUOTA, f"the device never counts more than the quota ({device.most} of {QUOTA} bytes, {device.looks} looks)")
    device.close()
    meted.close()
    finish()


main()
