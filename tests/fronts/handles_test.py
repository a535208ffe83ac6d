#!/usr/bin/env python3
"""
NVIDIA's other libraries on the software device: handles_test.py BUILD_ROOT

They have a static CUDA runtime in them, which accepts NVIDIA's driver only. A handle's creation answers the library's own
error, mete says one line that names the library, and the program goes on. The libraries are those of the installed toolkit,
opened by their full paths, so that mete's own of the same name do not take their place; what is not there is skipped.
"""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
build = sys.argv[1]
toolkit = os.environ.get("METE_TEST_LIBRARIES", "/usr/local/cuda/lib64")
METE = os.path.join(build, "src/cli/mete")
CREATE = """
import ctypes, sys
path, call, kind = sys.argv[1:]
handle = ctypes.c_void_p()
create = getattr(ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL), call)
first = {"handle": ctypes.byref(handle), "type": ctypes.byref(handle), "count": (ctypes.c_void_p * 1)()}[kind]
more = {"handle": (), "type": (100,), "count": (1, (ctypes.c_int * 1)(0))}[kind]
print(create(first, *more))
print(create(first, *more))
"""
LIBRARIES = [("libcufft.so.12", "cufftCreate", "handle"), ("libcurand.so.10", "curandCreateGenerator", "type"),
             ("libcusparse.so.12", "cusparseCreate", "handle"), ("libcusolver.so.12", "cusolverDnCreate", "handle"),
             ("libnccl.so.2", "ncclCommInitAll", "count")]
count = failed = 0
tmp = tempfile.mkdtemp(prefix="mete-h-")
env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "CUDA_", "LD_", "NCCL_"))}
env.update(HOME=tmp, METE_RUNTIME_DIR=os.path.join(tmp, "run"))


def check(good, text, *details):
    global count, failed
    count += 1
    failed += not good
    for d in () if good else details:
        print("#", d)
    print(f"{'' if good else 'not '}ok {count} - {text}", flush=True)


try:
    for library, call, kind in LIBRARIES:
        path = os.path.join(toolkit, library)
        if not os.path.exists(path):
            count += 1
            print(f"ok {count} - {call} # SKIP no {library} in the toolkit", flush=True)
            continue
        done = subprocess.run([METE, "soft", "run", "--", os.path.realpath(sys.executable), "-B", "-c", CREATE, path, call, kind],
                              env=env, capture_output=True, text=True, timeout=300)
        answers = done.stdout.split()
        check(done.returncode == 0 and len(answers) >= 2 and "0" not in answers, f"{call} answers its own error, twice",
              done.returncode, done.stdout, done.stderr[-2000:])
        said = [line for line in done.stderr.splitlines() if line.startswith("mete: ")]
        check(len(said) == 1 and library in said[0] and "accepts NVIDIA's driver only" in said[0],
              f"one line says why {library} does not work", done.stderr[-2000:])
finally:
    shutil.rmtree(tmp, ignore_errors=True)
print(f"1..{count}")
sys.exit(1 if failed else 0)
