"""
A program has as many shared allocations as one process can have, and goes on: what it keeps then is charged all the same. The
judge is the device's own count: hoard_test.py BUILD
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from device import Device  # noqa: E402
from harness import BUILD, Meted, finish, ok, until  # noqa: E402

MIB = 1 << 20
QUOTA = 64 * MIB
METE, HOARDER = os.path.join(BUILD, "src/cli/mete"), os.path.join(BUILD, "tests/kill/hoarder")

m = Meted("--soft-only", env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "1G", "METE_SOFT_CONTEXT_MEMORY": "0"})
m.make("hoard", QUOTA)
c = m.control()
judge = Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, "judge"), m.env)
p = subprocess.Popen([METE, "run", "--grant", "hoard", "--", HOARDER, str(16 * MIB), "12"],
                     env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
kept, r = map(int, p.stdout.readline().split())
held, used = c.share("hoard")["held_bytes"], judge.used()
ok(r != 0, f"it is refused at some time ({kept} kept)", r)
ok(held == used, "the account is the device's count", held, used)
ok(judge.most <= QUOTA, f"which is never above the quota ({judge.most} of {QUOTA} bytes)")
p.communicate()
ok(until(lambda: not judge.used(), 10), "nothing is left", judge.used())
judge.close()
c.close()
m.close()
finish()
