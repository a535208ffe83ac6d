"""found_test.py BUILD: how programs come to the software device's cuBLAS, and what is said without OpenBLAS."""
import os
import shutil
import subprocess
import sys
import tempfile

build = sys.argv[1]
mete = os.path.join(build, "src/cli/mete")
program = os.path.join(build, "tests/blas/blas_found")
folder = tempfile.mkdtemp(prefix="mete-blas-")
count = failed = 0


def check(good, what, why=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}")
    for line in str(why).splitlines() if not good else ():
        print("#", line)


def run(*args, **env):
    own = {k: v for k, v in os.environ.items() if not k.startswith("METE_") and k != "LD_LIBRARY_PATH"}
    own.update(METE_RUNTIME_DIR=folder, METE_SOFT_DIR=os.path.join(folder, "soft"), **env)
    return subprocess.run([mete, *args], env=own, capture_output=True, text=True, timeout=60)


r = subprocess.run([program], capture_output=True, text=True)
check(r.returncode == 1, "the program by itself gets the library that its RPATH names, which refuses", r.stderr)
missing = {"METE_OPENBLAS": "/nowhere/libopenblas.so.0"}
for how in (["soft", "run"], ["run", "--soft", "--mem", "256M"]):
    r = run(*how, program, **missing)
    check(r.returncode == 0, f"mete {' '.join(how)}: it gets the software device's", r.stderr)
    lines = [line for line in r.stderr.splitlines() if "OpenBLAS" in line or "openblas" in line]
    check(len(lines) == 1 and "libopenblas0" in lines[0] and "METE_OPENBLAS" in lines[0],
          "one line says that OpenBLAS is not there, and what helps", r.stderr)
r = run("run", "--soft", "--mem", "8M", program, **missing)
check(r.returncode == 3, "a quota without room for the workspace: CUBLAS_STATUS_ALLOC_FAILED", f"{r.returncode} {r.stderr}")
shutil.rmtree(folder, ignore_errors=True)
print(f"1..{count}")
sys.exit(failed > 0)
