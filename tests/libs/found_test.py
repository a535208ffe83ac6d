"""found_test.py BUILD: how programs come to the software device's libraries, with and without a quota; without a device."""
import os
import shutil
import subprocess
import sys
import tempfile

import checks
from checks import check

build = sys.argv[1]
mete = os.path.join(build, "src/cli/mete")
folder = tempfile.mkdtemp(prefix="mete-libs-")

# Calls each library by the name that a program asks for, and prints statuses.
PROGRAM = r"""
import ctypes, sys
def status(name, call, *args):
    print(name, getattr(ctypes.CDLL(name), call)(*args))
out = ctypes.c_void_p()
status("libcurand.so.10", "curandCreateGenerator", ctypes.byref(out), 100)
for name in ("libcufft.so.12", "libcufft.so.11"):
    status(name, "cufftPlan1d", ctypes.byref(out), int(sys.argv[1]), 0x29, 1)
for name in ("libcusolver.so.12", "libcusolver.so.11"):
    status(name, "cusolverDnCreate", ctypes.byref(out))
status("libcusparse.so.12", "cusparseCreate", ctypes.byref(out))
"""
NAMES = ("libcurand.so.10", "libcufft.so.12", "libcufft.so.11", "libcusolver.so.12", "libcusolver.so.11", "libcusparse.so.12")


def run(*args):
    own = {k: v for k, v in os.environ.items() if not k.startswith("METE_") and k != "LD_LIBRARY_PATH"}
    own.update(METE_RUNTIME_DIR=folder, METE_SOFT_DIR=os.path.join(folder, "soft"))
    return subprocess.run(args, env=own, capture_output=True, text=True, timeout=60)


def statuses(r):
    return dict(line.split() for line in r.stdout.splitlines())


for how in (["soft", "run"], ["run", "--soft", "--mem", "256M"]):
    r = run(mete, *how, sys.executable, "-c", PROGRAM, "4096")
    check(statuses(r) == {name: "0" for name in NAMES}, f"mete {' '.join(how)}: each library answers by its name", r.stdout + r.stderr)
r = run(mete, "run", "--soft", "--mem", "8M", sys.executable, "-c", PROGRAM, str(1 << 21))
check(statuses(r).get("libcufft.so.12") == "2", "a quota without room for a work area: CUFFT_ALLOC_FAILED", r.stdout + r.stderr)

# Behind a wall and over the network each is forwarded.
r = run(mete, "run", "--soft", "--wall", "--mem", "256M", sys.executable, "-c", PROGRAM, "4096")
check(statuses(r) == {name: "0" for name in NAMES}, "behind a wall: each library answers by its name", r.stdout + r.stderr)
r = run(mete, "run", "--soft", "--wall", "--mem", "8M", sys.executable, "-c", PROGRAM, str(1 << 21))
check(statuses(r).get("libcufft.so.12") == "2", "behind a wall: a quota without room for a work area: CUFFT_ALLOC_FAILED", r.stdout + r.stderr)
failing = dict(zip(NAMES, ("203", "7", "7", "1", "1", "1")))

# On another driver, a library says so and answers that it is not initialised.
path = os.path.join(build, "src/libs")
direct = PROGRAM.replace("ctypes.CDLL(name)", f"ctypes.CDLL({path!r} + '/' + name)")
r = run(sys.executable, "-c", direct, "4096")
check(statuses(r) == failing, "without a driver: each library's own status", r.stdout + r.stderr)
check(all(sum(title in line for line in r.stderr.splitlines()) >= 1 for title in ("cuRAND", "cuFFT", "cuSOLVER", "cuSPARSE")),
      "one line of each says what helps", r.stderr)
shutil.rmtree(folder, ignore_errors=True)
checks.end()
