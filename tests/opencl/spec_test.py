#!/usr/bin/env python3
"""
OpenCL's spec: it knows every call of the loader's dispatch table and no other, and openclgen.py refuses what nobody would
charge or gate: spec_test.py SOURCE_ROOT.
"""
import os
import re
import subprocess
import sys
import tempfile

root = sys.argv[1]
spec, gen = os.path.join(root, "api/opencl.toml"), os.path.join(root, "api/openclgen.py")
count = failed = 0


def ok(good, what, shown=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}")
    if not good and shown:
        print("#", shown)


def run(*words):
    return subprocess.run([sys.executable, "-B", gen, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


header = next((p for p in ("/usr/include/CL/cl_icd.h", "/usr/local/include/CL/cl_icd.h") if os.path.exists(p)), None)
if header:
    with open(header, encoding="utf-8") as f:
        table = re.search(r"typedef struct _cl_icd_dispatch \{(.*?)\} cl_icd_dispatch;", f.read(), re.S)[1]
    wanted = {m[1] for m in re.finditer(r"cl_api_\w+\s+(cl\w+);", table)}
    known = set(run(spec, "--symbols").stdout.split())
    ok(wanted == known, f"the spec has the {len(wanted)} calls of the loader's table and no other", sorted(wanted ^ known))
else:
    ok(True, "the calls of the loader's table # SKIP no CL/cl_icd.h")

with open(spec, encoding="utf-8") as f:
    good = f.read()
with tempfile.TemporaryDirectory() as folder:
    for what, block, expected in (
            ("a charge that nobody would charge", '[call.clCreateThing]\nsince = 300\ncharge = "bytes(size)"\n', "nobody would charge"),
            ("a gate that nobody would gate", '[call.clEnqueueThing]\nsince = 300\ncharge = "none"\ngate = "compute"\n', "nobody would gate"),
            ("work without a gate", '[call.clEnqueueThing]\nsince = 300\ncharge = "none"\n', '"gate" is missing'),
            ("a call without a charge", "[call.clThing]\nsince = 300\n", '"charge" is missing'),
            ("a treated call without its arguments", '[call.clThing]\nsince = 300\ncharge = "none"\ntreat = "custom"\n', '"args" is missing'),
            ("a word that nobody knows", '[call.clThing]\nsince = 300\ncharge = "none"\ncolour = "red"\n', 'unknown key "colour"'),
            ("a treatment that nobody knows", '[call.clThing]\nsince = 300\ncharge = "none"\ntreat = "guess"\nargs = ["int a"]\n', 'treat "guess"')):
        path = os.path.join(folder, "broken.toml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(good + "\n" + block)
        r = run(path, "--out", folder)
        ok(r.returncode and expected in r.stderr and not os.path.exists(os.path.join(folder, "opencl_face.h")),
           f"{what} is refused, by name, and nothing is written", r.stderr)
    r = run(spec, "--out", folder)
    ok(r.returncode == 0 and os.path.exists(os.path.join(folder, "opencl_bodies.c")), "the spec as it is, is taken", r.stderr)
print(f"1..{count}")
sys.exit(1 if failed else 0)
