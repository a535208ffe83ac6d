#!/usr/bin/env python3
"""
OpenCL's face in front of a loader that knows no layers: front_test.py BUILD.

OPENCL_LAYERS is taken from the programs, so that no loader asks for a layer; what still limits them is the face under the
loader's name.
"""
import os
import re
import shutil
import subprocess

from kit import BUILD, CASES, MIB, Place, finish, ok, same, skip, verdicts

FRONT = os.path.join(BUILD, "src/shim/opencl/libOpenCL.so.1")
NO_LAYER = ("env", "-u", "OPENCL_LAYERS")


def exports(library):
    text = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return {m[1] for m in re.finditer(r" [TW] (cl\w+(?:@@\w+(?:\.\d)*)?)$", text, re.M)}


def loader_of(program):
    text = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"libOpenCL\.so\.1 => (\S+)", text)[1]


place = Place()

# The machine's own loader judges the exports.
loader = loader_of(CASES)
if shutil.which("nm"):
    missing = exports(loader) - exports(FRONT)
    ok(not missing, "the face has every export of the machine's loader, with its version", sorted(missing))
else:
    skip("the exports", "no nm")

for case in (("exact", str(64 * MIB)), ("refund", str(64 * MIB)), ("queues",)):
    done = place.run(*NO_LAYER, CASES, *case)
    verdicts(done.stdout)
    ok(done.returncode in (0, 1) and "1.." in done.stdout, f"without a layer, {case[0]}: the program ends as it should",
       done.returncode, done.stderr, done.stdout[-300:])
done = place.run(*NO_LAYER, CASES, "quota", str(65 * MIB), str(MIB))
same(done.stdout.split(), [str(64 * MIB), "-4"], "without a layer: as many blocks as fit, then refused")
same(done.stderr, "", "and nothing is said")

# With a layer both are there, as one file: a byte is counted once.
done = place.run(CASES, "quota", str(65 * MIB), str(MIB))
same(done.stdout.split(), [str(64 * MIB), "-4"], "layer and front together: the same")

# What is in the way.
done = place.run(*NO_LAYER, CASES, "devices", env={"METE_OPENCL_LOADER": "/nowhere/libOpenCL.so.1"})
ok(done.returncode and "METE_OPENCL_LOADER=/nowhere/libOpenCL.so.1" in done.stderr and "unset it" in done.stderr,
   "a loader that is not there is named, with the remedy", done.returncode, done.stderr)
done = place.run(*NO_LAYER, CASES, "quota", str(65 * MIB), str(MIB), env={"METE_OPENCL_LOADER": loader})
same(done.stdout.split()[:1], [str(64 * MIB)], "one that is named is taken")
done = place.run(*NO_LAYER, "METE_SOCKET=/nowhere/grant.sock", CASES, "devices")
ok(done.returncode, "without meted the program has no device", done.returncode, done.stdout, done.stderr)
done = subprocess.run([*NO_LAYER, CASES, "quota", str(2 * MIB), str(MIB)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                      env={**place.env, "LD_LIBRARY_PATH": os.path.dirname(FRONT)}, timeout=100)
same((done.stdout.split()[:1], done.stderr), ([str(3 * MIB)], ""), "outside a grant the face passes every call, and says nothing")
place.close()

# Two threads' first calls, over a driver that itself calls the loader while that looks for drivers.
vendors = os.path.join(place.meted.dir + "-vendors")
os.mkdir(vendors)
with open(os.path.join(vendors, "empty.icd"), "w", encoding="utf-8") as f:
    f.write(os.path.join(os.path.dirname(CASES), "libempty_icd.so") + "\n")
place = Place(OCL_ICD_VENDORS=vendors)
done = place.run(*NO_LAYER, "EMPTY_ICD_CALLS=500", CASES, "beside", str(64 * MIB))
same(done.stdout.split(), [str(64 * MIB), "-4"], "a call beside another thread's first one waits for the layer, and is metered")
place.close()
shutil.rmtree(vendors)
finish()
