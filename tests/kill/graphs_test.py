"""
Graphs that allocate where it is hard to see: what a launch takes is charged first, wherever the node stands. The judge is the
device's own count: graphs_test.py BUILD
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "daemon"))
from device import Device  # noqa: E402
from harness import BUILD, Meted, finish, ok, until  # noqa: E402

MIB = 1 << 20
QUOTA, BYTES = 32 * MIB, 256 * MIB
DEVICES = 6
METE, GRAPHER = os.path.join(BUILD, "src/cli/mete"), os.path.join(BUILD, "tests/kill/grapher")

m = Meted("--soft-only", env={"METE_SOFT_DEVICES": str(DEVICES), "METE_SOFT_MEMORY": "1G", "METE_SOFT_CONTEXT_MEMORY": "0"})
c = m.control()
for wall in (False, True):
    name = "wall" if wall else "local"
    answer = c.ask("grant_create", name=name, driver="soft", wall=wall,
                   devices=[{"device": str(i), "mem_bytes": QUOTA} for i in range(DEVICES)])
    if not answer["ok"]:
        raise SystemExit(f"Bail out! {answer}")
judges = [Device(m.env["METE_SOFT_DIR"], os.path.join(m.dir, f"judge-{i}"), m.env, i) for i in range(DEVICES)]


def run(grant, way, size):
    """What the program was told, and what each device counts while it lives."""
    command = [METE, "run", "--grant", grant] + (["--wall"] if grant == "wall" else []) + ["--", GRAPHER, way, str(size)]
    p = subprocess.Popen(command, env={**m.env, "METE_RUNTIME_DIR": m.dir}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said = p.stdout.readline().strip()
    held = [d["held_bytes"] for d in c.grant(grant)["devices"]]
    counts = [j.used() for j in judges]
    p.communicate()
    until(lambda: not any(j.used() for j in judges), 10)
    return said, held, counts


for grant in ("local", "wall"):
    for way in ("devices", "nested", "deep", "body", "again"):
        said, held, counts = run(grant, way, 4 * MIB)
        ok(held == counts and max(counts) <= QUOTA, f"{grant}, {way}: within the quota all is charged", said, held, counts)
        said, held, counts = run(grant, way, BYTES)
        ok(said != "0" and max(counts) <= QUOTA, f"{grant}, {way}: beyond it nothing is taken", said, held, counts)
for j in judges:
    ok(j.most <= QUOTA, "never", j.most)
    j.close()
c.close()
m.close()
finish()
