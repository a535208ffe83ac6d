#!/usr/bin/env python3
"""Programs that nvcc builds, in the ways that it registers and launches kernels: nvcc_test.py BUILD_ROOT.

Each is built with the shared runtime and run on the software device with mete's library. Skipped without nvcc, and for a
version of the runtime that this nvcc does not link.
"""
import os
import shutil
import subprocess
import sys
import tempfile

build = sys.argv[1]
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nvcc")
nvcc = shutil.which("nvcc", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")
KERNELS, DEVICE = (os.path.join(here, n) for n in ("kernels.cu", "device.cu"))
FORMS = {
    "whole program": [KERNELS],
    "relocatable device code": ["-rdc=true", "-DRELOCATABLE", KERNELS, DEVICE],
    "per-thread default stream": ["-default-stream", "per-thread", KERNELS],
}

if not nvcc:
    print("1..0 # SKIP no nvcc on this machine")
    sys.exit(0)
failed = 0
with tempfile.TemporaryDirectory() as tmp:
    env = {**os.environ, "LD_LIBRARY_PATH": f"{build}/src/runtime:{build}/src/softdev", "METE_SOFT_DIR": f"{tmp}/soft"}
    for number, (form, words) in enumerate(FORMS.items(), 1):
        program = os.path.join(tmp, "program")
        built = subprocess.run([nvcc, "-arch=compute_75", "-code=compute_75", "-cudart", "shared", "-o", program, *words],
                               capture_output=True, text=True)
        if built.returncode:
            print(f"ok {number} - {form} # SKIP nvcc does not build it: {(built.stderr.splitlines() or ['?'])[-1]}")
            continue
        done = subprocess.run([program], capture_output=True, text=True, env=env, timeout=60)
        good = done.returncode == 0 and done.stdout == "PASS\n"
        failed += not good
        print(f"{'' if good else 'not '}ok {number} - {form}")
        if not good:
            print("".join(f"# {line}\n" for line in (done.stdout + done.stderr).splitlines()), end="")
print(f"1..{len(FORMS)}")
sys.exit(1 if failed else 0)
