"""
A program changes the device's current pool while other threads of it allocate: what is taken is charged, from whichever pool
it comes. The judge is the device's own count: swap_test.py BUILD
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from device import Device  # noqa: E402
from harness import BUILD, Meted, finish, ok, until  # noqa: E402

MIB = 1 << 20
QUOTA = 64 * MIB
METE, SWAPPER = os.path.join(BUILD, "src/cli/mete"), os.path.join(BUILD, "tests/kill/swapper")

m = Meted("--soft-only", env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "1G", "METE_SOFT_CONTEXT_MEMORY": "0"})
c = m.control()
judge = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "judge"), m.env)
for grant in ("local", "wall"):
    m.make(grant, QUOTA, wall=grant == "wall")
    command = [METE, "run", "--grant", grant] + (["--wall"] if grant == "wall" else []) + ["--", SWAPPER, str(40 * MIB), "3"]
    p = subprocess.Popen(command, env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    made, wrong = map(int, p.stdout.readline().split())
    held, used = c.share(grant)["held_bytes"] if hasattr(c, "share") else 0, judge.used()
    ok(made > 0 and not wrong, f"{grant}: {made} allocations", wrong)
    ok(held == used, f"{grant}: the account is the device's count", held, used)
    ok(judge.most <= QUOTA, f"{grant}: which is never above the quota ({judge.most} of {QUOTA} bytes)")
    p.communicate()
    until(lambda: not judge.used(), 10)
judge.close()
c.close()
m.close()
finish()
