#!/usr/bin/env python3
"""
Bad input to the libraries of the software device, directly, under a quota, behind a wall and over the network: bad_test.py BUILD

bad_program.py gives them handles that are none and two threads for one handle, a stream of another device, addresses that are
none or odd, NaN, infinity, sizes of 0 and below. Nothing may die or stay charged, and a library may say what its documentation says. Then a server on which a library
is not there, and calls that are refused, which are named in one line. blas_program.py gives each call of cuBLAS wrong arguments: the
status is the same in all ways, at once, and no error follows. sparse_program.py makes cuSPARSE's descriptors of what they cannot
be made of, and asks NVIDIA's library the same where it is there. pending_program.py destroys objects while a function of the program is
to run.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import checks
from checks import check

build = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
METE = os.path.join(build, "src/cli/mete")
PROGRAM = [sys.executable, "-B", os.path.join(here, "bad_program.py")]
PENDING = [sys.executable, "-B", os.path.join(here, "pending_program.py")]
folder = tempfile.mkdtemp(prefix="mete-bad-")
env = {k: v for k, v in os.environ.items() if not k.startswith("METE_") and k != "LD_LIBRARY_PATH"}
env.update(METE_RUNTIME_DIR=folder, METE_SOFT_DIR=os.path.join(folder, "soft"), METE_SOFT_DEVICES="2", OCL_ICD_VENDORS="/nonexistent")
os.mkdir(env["METE_SOFT_DIR"], 0o700)


def run(words, program, **more):
    return subprocess.run([METE, *words, "--", *program], env=dict(env, **more), capture_output=True, text=True, timeout=240)


def held():
    for _ in range(100):
        r = subprocess.run([METE, "ps", "--json"], env=env, capture_output=True, text=True, timeout=60)
        grants = json.loads(r.stdout)["grants"] if r.returncode == 0 else []
        if not any(d["held_bytes"] for g in grants for d in g["devices"]):
            return 0
        time.sleep(0.1)
    return grants


def verdicts(way, words, *parts, program=PROGRAM):
    r = run(words, [*program, *parts])
    for line in r.stdout.splitlines():
        word, _, what = line.partition(" ")
        if word in ("ok", "bad"):
            check(word == "ok", f"{way}: {what}", what)
    check(
        r.returncode == 0 and r.stdout.endswith("END\n"),
        f"{way}: the program comes to its end",
        f"{r.returncode}\n{r.stdout[-500:]}{r.stderr[-2000:]}",
    )


REFUSED = """
import ctypes
made, solver, blas = ctypes.c_void_p(), ctypes.CDLL("libcusolver.so.12"), ctypes.CDLL("libcublas.so.13")
if not solver.cusolverSpCreate(ctypes.byref(made)):
    print(solver.cusolverSpScsrlsvqr(made, 4, 4, *[made] * 5, ctypes.c_float(0), 0, made, made))
print(solver.cusolverRfCreate(ctypes.byref(made)))
blas.cublasCreate_v2(ctypes.byref(made))
print(blas.cublasGetEmulationSpecialValuesSupport(made, ctypes.byref(ctypes.c_int())))
for file, call in (("libcublasLt.so.13", "cublasLtMatmulAlgoCheckForStream"), ("libcufft.so.12", "cufftDeviceCreate"),
                   ("libcusolver.so.12", "cusolverDnXpolar"), ("libcusparse.so.12", "cusparseSpMatConvert"), ("libnccl.so.2", "ncclPutSignal")):
    print(getattr(ctypes.CDLL(file), call)(made, made, made))
"""
LINES = ("cusolverSpScsrlsvqr", "cusolverRfCreate", "cublasGetEmulationSpecialValuesSupport", "cublasLtMatmulAlgoCheckForStream", "cufftDeviceCreate", "cusolverDnXpolar",
         "cusparseSpMatConvert", "ncclPutSignal")


def refused(way, words):
    """A status of the library's own, and a line for each call."""
    r = run(words, [sys.executable, "-c", REFUSED])
    said = [line for line in r.stderr.splitlines() if line.startswith("mete:")]
    check(
        r.returncode == 0 and len(r.stdout.split()) == len(LINES) and "0" not in r.stdout.split(),
        f"{way}: calls that there are not have a status",
        r.stdout + r.stderr,
    )
    check(
        len(said) == len(LINES) and all(name in line for name, line in zip(LINES, said)),
        f"{way}: and one line each, which names them",
        r.stderr,
    )


BLAS = [sys.executable, "-B", os.path.join(here, "blas_program.py"), os.path.join(here, "../../api/cublas.toml")]
KNOWN = ("cublasSgemm_v2 transa 7 7 0", "cublasDgemv_v2_64 incx 0 7 0", "cublasSsyrk_v2 uplo 99 7 0", "cublasZtrsm_v2 diag 7 7 0",
         "cublasSgemmBatched lda 1 7 0", "cublasSgemm_v2 m -1 7 0", "cublasSgemm_v2 alpha NULL 7 0", "cublasSgemm_v2 handle 0 1 0",
         "cublasSgemmGroupedBatched group_count 0 0 0", "cublasSgemmGroupedBatched handle 0 1 0", "cublasSgemm_v2 - - 0 0",
         "cublasLtMatmul good - 0 0", "cublasLtMatmul layout-0-rows-3 - 7 0", "cublasLtMatmul aux-3 - 7 0", "cublasLtMatmul aux-128 - 0 0", "cublasLtMatmul transa-9 - 7 0")
directly = []


def statuses(way, words):
    r = run(words, BLAS)
    lines = r.stdout.splitlines()
    directly.extend(() if directly else lines)
    check(r.returncode == 0 and lines[-1:] == ["END"], f"{way}: each call of cuBLAS returns from wrong arguments", r.stdout[-500:] + r.stderr[-2000:])
    check(not [k for k in KNOWN if k not in lines], f"{way}: with the documented status", [k for k in KNOWN if k not in lines])
    late = [line for line in lines[:-1] if line.split()[-1] != "0"]
    check(not late, f"{way}: no error comes later", "\n".join(late[:20]))
    other = [f"{here} instead of {there}" for here, there in zip(lines, directly) if here != there]
    check(len(lines) == len(directly) and not other, f"{way}: the same statuses as directly", "\n".join(other[:40]))


SPARSE = [sys.executable, "-B", os.path.join(here, "sparse_program.py")]
NVIDIA_SPARSE = "/usr/local/cuda/lib64/libcusparse.so.12"


def descriptors(way, r):
    bad = [line for line in r.stdout.splitlines() if line.startswith("bad ")]
    asked = sum(line.startswith("ok ") for line in r.stdout.splitlines())
    check(r.returncode == 0 and r.stdout.endswith("END\n") and asked > 700 and not bad, f"{way}: cuSPARSE's descriptors",
          "\n".join(bad[:20]) + r.stderr[-2000:])


def judge_descriptors():
    """The same of NVIDIA's library, which needs no device for them."""
    if not os.path.exists(NVIDIA_SPARSE):
        checks.skip("NVIDIA's library: cuSPARSE's descriptors", f"no {NVIDIA_SPARSE}")
        return
    descriptors("NVIDIA's library", subprocess.run([*SPARSE, NVIDIA_SPARSE], env=env, capture_output=True, text=True, timeout=60))


LIBRARIES = {
    "CUBLAS": ("libcublas.so.13", "cublasCreate_v2(o)"),
    "CUFFT": ("libcufft.so.12", "cufftPlan1d(o, 64, 0x29, 1)"),
    "CURAND": ("libcurand.so.10", "curandCreateGenerator(o, 161)"),
    "CUSPARSE": ("libcusparse.so.12", "cusparseCreate(o)"),
    "CUSOLVER": ("libcusolver.so.12", "cusolverDnCreate(o)"),
    "CUDNN": ("libcudnn.so.9", "cudnnCreate(o)"),
}
MISSING = "import ctypes\no = ctypes.byref(ctypes.c_void_p())\nassert not ctypes.CDLL('libcuda.so.1').cuInit(0)\n" + "\n".join(
    f"print('{name}', ctypes.CDLL('{file}').{call})" for name, (file, call) in LIBRARIES.items()
)


def log_with(texts):
    """The server's log, once these are in it: a worker's lines come to it by a pipe, some time behind the program's end."""
    end = time.monotonic() + 20
    while True:
        with open(os.path.join(folder, "other/meted.log"), encoding="utf-8") as f:
            log = f.read()
        if all(text in log for text in texts) or time.monotonic() > end:
            return log
        time.sleep(0.05)


def missing():
    """A server that has none of the libraries: the library's own status, and a line in the server's log."""
    other, words = serve(
        METE_RUNTIME_DIR=os.path.join(folder, "other"), **{f"METE_FORWARD_{name}": "/nowhere/there-is-none.so" for name in LIBRARIES}
    )
    r = run(words, [sys.executable, "-c", MISSING])
    said = dict(line.split() for line in r.stdout.splitlines())
    log = log_with([f"in METE_FORWARD_{name}\n" for name in LIBRARIES])
    other.terminate()
    other.communicate(timeout=30)
    for name in LIBRARIES:
        check(said.get(name, "0") != "0", f"a server without {name}: its own status", r.stdout + r.stderr)
        check(log.count(f"in METE_FORWARD_{name}\n") == 1, f"a server without {name}: one line that says what helps", log)
    check(r.returncode == 0, "a server without libraries: the program goes on", r.stderr)


def two_servers(words):
    """A device of each."""
    os.mkdir(os.path.join(folder, "second"), 0o700)
    second, other = serve(METE_RUNTIME_DIR=os.path.join(folder, "second"), METE_SOFT_DIR=os.path.join(folder, "second-soft"))
    try:
        verdicts("over two servers", [words[0], words[1], f"{words[2]},{other[2]}", *words[3:]], "streams")
    finally:
        second.terminate()
        second.communicate(timeout=30)


def serve(**more):
    keys = os.path.join(folder, "keys")
    if not os.path.exists(keys):
        subprocess.run([METE, "key", "new", "tester", "--keys", keys], env=env, stdout=subprocess.DEVNULL, check=True)
    process = subprocess.Popen(
        [
            METE,
            "serve",
            "--soft",
            "--device",
            "0",
            "--mem",
            "256M",
            "--device",
            "1",
            "--mem",
            "256M",
            "--keys",
            keys,
            "--listen",
            "127.0.0.1:0",
            "--json",
        ],
        env=dict(env, **more),
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, ["run", "--remote", json.loads(process.stdout.readline())["listen"][0], "--key", os.path.join(keys, "tester.key")]


QUOTA = ["--device", "0", "--mem", "256M", "--device", "1", "--mem", "256M"]
server, remote = serve()
try:
    ways = {
        "directly": ["soft", "run"],
        "under a quota": ["run", "--soft", *QUOTA],
        "behind a wall": ["run", "--soft", "--wall", *QUOTA],
        "over the network": remote,
    }
    for name, given in ways.items():
        refused(name, given)
        # Over the network it is the client and the worker of "behind a wall" that check arguments, and TLS between them.
        if name != "over the network" or os.environ.get("METE_TEST_LONG"):
            statuses(name, given)
            descriptors(name, run(given, SPARSE))
        verdicts(name, given, program=PENDING)
        verdicts(name, given)  # a grant whose programs fault as often as this one is quarantined after it
        if name != "directly":
            check(held() == 0, f"{name}: nothing stays charged", held())
    judge_descriptors()
    two_servers(remote)
    os.mkdir(os.path.join(folder, "other"), 0o700)
    missing()
finally:
    server.terminate()
    server.communicate(timeout=30)
    time.sleep(1)
    shutil.rmtree(folder, ignore_errors=True)
checks.end()
