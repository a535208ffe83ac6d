#!/usr/bin/env python3
"""
A process that becomes another program: exec_test.py BUILD. What it held is gone with what it was, and so is the charge, whether the next
program uses the device or not; one that has only closed its descriptors holds what it holds.
"""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from device import Device  # noqa: E402
from harness import BUILD, Meted, finish, ok, same, until  # noqa: E402

METE = os.path.join(BUILD, "src/cli/mete")
BECOMER = os.path.join(BUILD, "tests/kill/becomer")
MIB = 1 << 20


def ways(*options):
    meted = Meted("--soft-only", *options, env={"METE_SOFT_DEVICES": "1", "METE_SOFT_MEMORY": "1G", "METE_SOFT_CONTEXT_MEMORY": "1M"})
    kind = "a system's meted" if options else "one's own"
    control = meted.control()
    ok(control.ask("grant_create", name="some", driver="soft", devices=[{"device": "0", "mem_bytes": 64 * MIB}])["ok"], f"{kind}: a grant")
    judge = Device(meted.env["METE_SOFT_DIR"], os.path.join(meted.dir, "judge"), meted.env)

    def figures():
        return control.share("some")["held_bytes"], judge.used()

    def start():
        p = subprocess.Popen([METE, "run", "--grant", "some", "--", BECOMER, str(40 * MIB)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True, env={**meted.env, "METE_RUNTIME_DIR": meted.dir})
        same(p.stdout.readline(), "holds 0\n", f"{kind}: a program holds memory")
        return p

    def say(p, word):
        p.stdin.write(word + "\n")
        p.stdin.flush()
        return p.stdout.readline()

    full = (41 * MIB, 41 * MIB)
    p = start()
    same(figures(), full, f"{kind}: which is charged")
    same(say(p, "again"), "holds 0\n", f"{kind}: it becomes itself anew, and holds the same")
    ok(until(lambda: figures() == full, 30), f"{kind}: which is charged once", figures())
    same(say(p, "exec"), "shell\n", f"{kind}: it becomes a program that does not use the device")
    ok(until(lambda: figures() == (0, 0), 30), f"{kind}: and nothing is charged any more", figures())
    q = start()
    ok(p.poll() is None, f"{kind}: while it runs on, another has the memory")
    same(say(q, "close"), "done\n", f"{kind}: that closes all of its descriptors")
    time.sleep(4.5)
    same(figures(), full, f"{kind}: and stays charged")
    say(p, "")
    p.communicate()
    meted.kill()
    meted.start()
    control.close()
    control = meted.control()
    time.sleep(4.5)
    same(figures(), full, f"{kind}: also by a meted that was started meanwhile")
    q.communicate()
    ok(until(lambda: figures() == (0, 0), 30), f"{kind}: when it has ended, nothing stays", figures())
    judge.close()
    control.close()
    meted.close()


ways()
if not os.getuid():
    ways("--system")
finish()
