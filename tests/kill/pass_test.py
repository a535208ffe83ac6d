"""
Memory of a pool that was passed to another process stays charged when the process that made it is killed:
pass_test.py BUILD. It lives on for the other one, and the quota holds for it. So it is with memory that another grant's
program opens by an interprocess handle.
"""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from device import Device  # noqa: E402
from harness import BUILD, Meted, finish, ok, same, until  # noqa: E402

MIB = 1 << 20
QUOTA = 160 * MIB


def start(meted, grant, *command):
    return subprocess.Popen([os.path.join(BUILD, "src/cli/mete"), "run", "--grant", grant, "--", os.path.join(BUILD, "tests/kill/handle"), *command],
                            env={**meted.env, "METE_RUNTIME_DIR": meted.dir}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(program):
    return tuple(int(n) for n in program.stdout.readline().split())


def held(meted):
    c = meted.control()
    try:
        return {g["name"]: sum(d["held_bytes"] for d in g["devices"]) for g in c.ask("grants")["grants"]}
    finally:
        c.close()


def handles(meted, device):
    for name, mib in (("maker", 64), ("taker", 96), ("small", 32)):
        meted.make(name, mib * MIB)
    maker = start(meted, "maker", "make", "64")
    digits, number = maker.stdout.readline().split()
    small, taker = start(meted, "small", "open", digits), start(meted, "taker", "open", digits)
    same(said(small), (2, 0), "a handle of another grant's memory is not opened where the quota has no room for it")
    same(said(taker), (0, 64 * MIB), "where there is room it is charged")
    os.kill(int(number), signal.SIGKILL)
    maker.wait()
    ok(until(lambda: held(meted)["maker"] == 0, 20), "its maker is killed, and charged no more")
    same([held(meted)["taker"], device.used()], [64 * MIB] * 2, "who has opened it has it still, and is charged for it")
    taker.stdin.close()
    same([said(taker), said(taker)], [(0, 64 * MIB), (0, 0)], "until it is closed")
    small.communicate()
    taker.wait()
    same([sum(held(meted).values()), device.used()], [0, 0], "nothing is left")


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
    handles(meted, device)
    device.close()
    meted.close()
    finish()


main()
