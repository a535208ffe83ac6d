#!/usr/bin/env python3
"""
Real programs that know nothing of mete, bare and under a grant, with and without a share of time: they say the same. Those
that are not installed are skipped: programs_test.py BUILD.
"""
import os
import shutil
import subprocess
import sys

from kit import CASES, GIB, MIB, Place, finish, ok, same, skip

place = Place()
WAYS = (("", ()), (" at 50 %", ("-c", "50", "-C", "50")))


def alike(name, words, mem="2G", keep=lambda line: line):
    """What it says bare, and under a grant."""
    bare = place.bare(*words, seconds=250)
    if bare.returncode:
        skip(name, f"it does not run here without mete either ({bare.returncode}): {bare.stderr.strip().splitlines()[-1:]}")
        return
    want = [k for k in (keep(line) for line in bare.stdout.splitlines()) if k]
    for way, options in WAYS:
        r = place.run(*words, mem=mem, options=options, seconds=250)
        got = [k for k in (keep(line) for line in r.stdout.splitlines()) if k]
        same((r.returncode, got), (0, want), f"{name}{way}: says what it says without mete")


alike("kernels, copies and maps behind events", [CASES, "sum", "2000"])

if shutil.which("clinfo"):
    hidden = ("Global memory size", "Max memory allocation", "Error Correction")
    alike("clinfo", ["clinfo"], keep=lambda line: "" if line.strip().startswith(hidden) else line)
    r = place.run("clinfo", "--raw", mem="100M")
    told = {k: v for *_, k, v in (line.rsplit(None, 2) for line in r.stdout.splitlines() if len(line.split()) >= 2)}
    same(told.get("CL_DEVICE_GLOBAL_MEM_SIZE"), str(100 * MIB), "clinfo shows the share")
    ok(int(told.get("CL_DEVICE_MAX_MEM_ALLOC_SIZE", 0)) <= 100 * MIB, "and no larger block", told.get("CL_DEVICE_MAX_MEM_ALLOC_SIZE"))
else:
    skip("clinfo", "not installed")

NUMBERS = """
import numpy as np, pyopencl as cl, pyopencl.array as ca
ctx = cl.Context([cl.get_platforms()[0].get_devices()[0]])
q = cl.CommandQueue(ctx)
a = ca.to_device(q, np.arange(1 << 16, dtype=np.float32))
print((a * 2 + 1).get().sum(), ca.sum(a).get(), ca.dot(a, a).get())
prg = cl.Program(ctx, "kernel void f(global const int *a, global int *o) { int i = get_global_id(0); o[i] = a[i] * a[i]; }").build()
x = np.arange(1000, dtype=np.int32)
mf = cl.mem_flags
xb = cl.Buffer(ctx, mf.READ_ONLY | mf.COPY_HOST_PTR, hostbuf=x)
ob = cl.Buffer(ctx, mf.WRITE_ONLY, x.nbytes)
prg.f(q, x.shape, None, xb, ob)
o = np.empty_like(x)
cl.enqueue_copy(q, o, ob)
print(int(o.sum()))
img = cl.image_from_array(ctx, np.arange(64 * 64 * 4, dtype=np.float32).reshape(64, 64, 4), 4)
out = np.empty((64, 64, 4), np.float32)
cl.enqueue_copy(q, out, img, origin=(0, 0), region=(64, 64))
print(float(out.sum()))
p = cl.CommandQueue(ctx, properties=cl.command_queue_properties.PROFILING_ENABLE)
e = prg.f(p, x.shape, None, xb, ob)
e.wait()
print(e.profile.end >= e.profile.start)
"""
TOO_MUCH = """
import pyopencl as cl
ctx = cl.Context([cl.get_platforms()[0].get_devices()[0]])
held = []
try:
    while len(held) < 1000:
        held.append(cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 16 << 20))
except cl.MemoryError as e:
    print(len(held), "MEM_OBJECT_ALLOCATION_FAILURE" in str(e))
"""
python = next((p for p in ("/usr/bin/python3", sys.executable)
               if not subprocess.run([p, "-c", "import pyopencl"], stderr=subprocess.DEVNULL).returncode), None)
if python:
    alike("pyopencl", [python, "-c", NUMBERS])
    r = place.run(python, "-c", TOO_MUCH, mem="100M")
    same(r.stdout.strip(), "6 True", "pyopencl meets the end of its share as one of its own errors")
else:
    skip("pyopencl", "not installed")

if shutil.which("clpeak"):
    # Its figures are the machine's: what it measures stays, not what it found.
    alike("clpeak", ["clpeak", "--kernel-latency"], keep=lambda line: line.split(":")[0].strip())
else:
    skip("clpeak", "not installed")
place.close()
finish()
