#!/usr/bin/env python3
"""
JAX's public functions on the device and on its processor backend (jax_public.py), with nothing set: jax_public_test.py BUILD

METE_FRAMEWORKS names the folder that fetch.py filled. Without METE_TEST_LONG only Fourier transforms are compared: all
functions take half an hour.
"""

import os
import subprocess
import sys
import tempfile

build = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
python = os.path.join(os.environ.get("METE_FRAMEWORKS", "/nonexistent"), "jax/bin/python")
if not os.path.exists(python):
    print("1..0 # SKIP set METE_FRAMEWORKS to the folder that `tests/frameworks/fetch.py FOLDER jax` filled")
    sys.exit(0)
whole = os.environ.get("METE_TEST_LONG")
with tempfile.TemporaryDirectory(prefix="mete-jax-") as tmp:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "JAX_", "XLA_", "CUDA_"))}
    env.update(HOME=tmp, TMPDIR=tmp, METE_RUNTIME_DIR=tmp, PYTHONDONTWRITEBYTECODE="1")
    parts = ["--gradients"] if whole else ["jax.numpy.fft"]
    done = subprocess.run(
        [os.path.join(build, "src/cli/mete"), "soft", "run", "--", python, os.path.join(here, "jax_public.py"), *parts],
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    )
for line in done.stdout.splitlines():
    print("#", line)
good = done.returncode == 0 and done.stdout.endswith("PASS\n")
print(f"{'' if good else 'not '}ok 1 - {'all public functions' if whole else 'Fourier transforms'} of JAX: 95 of 100 as on the processor\n1..1")
sys.exit(not good)
