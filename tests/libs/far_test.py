"""
far_test.py BUILD: libraries of another maker in a worker, as NVIDIA's are: which are found, what they say, and that what they take
is charged. NVIDIA's own, where a toolkit has them, answer as far as they do without a device.
"""
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time

import checks
from checks import check

build = sys.argv[1]
mete = os.path.join(build, "src/cli/mete")
folder = tempfile.mkdtemp(prefix="mete-far-")
standin = os.path.join(build, "tests/libs")

# Prints what the program's cuDNN says: its version, statuses of a handle and of tensors of the backend.
PROGRAM = r"""
import ctypes
dnn = ctypes.CDLL("libcudnn.so.9")
dnn.cudnnGetVersion.restype = ctypes.c_size_t
print("version", dnn.cudnnGetVersion())
handle = ctypes.c_void_p()
print("create", dnn.cudnnCreate(ctypes.byref(handle)))
def tensor(first):
    d, dims, one = ctypes.c_void_p(), (ctypes.c_int64 * 4)(first, 3, 4, 5), ctypes.c_int64(1)
    strides, alignment = (ctypes.c_int64 * 4)(60, 20, 5, 1), ctypes.c_int64(16)
    made = dnn.cudnnBackendCreateDescriptor(17, ctypes.byref(d))
    for name, what, n, at in ((901, 1, 1, ctypes.byref(ctypes.c_int(0))), (902, 3, 4, dims), (903, 3, 4, strides), (906, 3, 1, ctypes.byref(one)),
                              (900, 3, 1, ctypes.byref(alignment))):
        made = made or dnn.cudnnBackendSetAttribute(d, name, what, ctypes.c_int64(n), at)
    return made or dnn.cudnnBackendFinalize(d)
print("tensor", tensor(2))
print("strange", tensor(-2))
"""
PLAN = r"""
import ctypes
out = ctypes.c_int()
print("plan", ctypes.CDLL("libcufft.so.12").cufftPlan1d(ctypes.byref(out), 1 << 21, 0x29, 1))
"""
MEMORY = r"""
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
context, free, total, at = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_uint64()
print("start", cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) or cuda.cuCtxSetCurrent(context))
cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
print("total", total.value)
print("most", cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(257 << 20)))
"""


def run(program, settings="", mem="256M", awaited="", **variables):
    """What the program prints, by its first words; and all that was said. `awaited`: what a worker says may come when it has ended."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("METE_") and k != "LD_LIBRARY_PATH"}
    place = tempfile.mkdtemp(dir=folder)
    config = os.path.join(place, "meted.yaml")
    with open(config, "w", encoding="utf-8") as f:
        f.write(settings)
    own.update(METE_RUNTIME_DIR=place, METE_SOFT_DIR=os.path.join(place, "soft"), METE_CONFIG=config, **variables)
    r = subprocess.run([mete, "run", "--soft", "--wall", "--mem", mem, sys.executable, "-c", program], env=own, capture_output=True, text=True,
                       timeout=100)
    end, log = time.monotonic() + 20, None
    while log is None or (awaited not in log and time.monotonic() < end):
        with open(os.path.join(place, "meted.log"), encoding="utf-8", errors="replace") as f:
            log = f.read()
        time.sleep(0.02)
    return dict(line.split() for line in r.stdout.splitlines()), r.stdout + r.stderr + log


def real_version(name):
    """What NVIDIA's library says of itself; None: it is not here."""
    try:
        library = ctypes.CDLL(name)
    except OSError:
        return None
    library.cudnnGetVersion.restype = ctypes.c_size_t
    return library.cudnnGetVersion()


OURS = "92801"
said, log = run(PROGRAM, METE_FORWARD_CUDNN=os.path.join(standin, "libcudnn.so.9"))
check(said.get("version") == OURS and said.get("create") == said.get("tensor") == "0" and said.get("strange") not in (None, "0"),
      "a library of another maker, by its file", log)

said, log = run(PROGRAM, awaited="workers.libraries", METE_FORWARD_CUDNN="/nowhere/libcudnn.so.9")
check(said.get("create") == "1001" and "METE_FORWARD_CUDNN=/nowhere/libcudnn.so.9" in log,
      "a library that is not there: CUDNN_STATUS_NOT_INITIALIZED, and a line names it", log)
check("a program wants cuDNN: libcudnn.so.9 was not found here" in log and "workers.libraries" in log, "another line says what helps", log)

# As pip lays packages out; before what the dynamic linker finds.
site = os.path.join(folder, "site-packages")
os.makedirs(os.path.join(site, "nvidia/cudnn/lib"))
shutil.copy(os.path.join(standin, "libcudnn.so.9"), os.path.join(site, "nvidia/cudnn/lib"))
said, log = run(PROGRAM, f"workers:\n  libraries: {folder}:{site}\n", METE_FORWARD_CUDNN="libcudnn.so.9")
check(said.get("version") == OURS and said.get("create") == "0", "by its name, in a folder of workers.libraries", log)

# A library asks for the driver by name: it gets the shim, which charges what it takes.
said, log = run(PLAN, METE_FORWARD_CUFFT=os.path.join(standin, "libcufft.so.12"))
check(said.get("plan") == "0", "a work area of another maker's cuFFT", log)
said, log = run(PLAN, mem="8M", METE_FORWARD_CUFFT=os.path.join(standin, "libcufft.so.12"))
check(said.get("plan") == "2", "and without room for it in the quota: CUFFT_ALLOC_FAILED", log)

# One that calls the driver while it is loaded, before the worker has a client: the quota holds all the same.
for early in ("version", "init"):
    said, log = run(MEMORY, METE_FORWARD_CURAND=os.path.join(standin, "libearly.so"), METE_TEST_EARLY=early)
    check(said.get("total") == str(256 << 20) and said.get("most") == "2",
          f"a library that calls the driver early ({early}) takes nothing from the quota's strength", log)

real = next((path for path in ("/usr/local/cuda/lib64/libcudnn.so.9",) if real_version(path)), None)
if real:
    said, log = run(PROGRAM, METE_FORWARD_CUDNN=real)
    check(said.get("version") == str(real_version(real)), "NVIDIA's cuDNN in a worker says its version", log)
    check(said.get("create") == "1001", "it has no device of NVIDIA's here: CUDNN_STATUS_NOT_INITIALIZED", log)
    check(said.get("tensor") == "0" and said.get("strange") not in (None, "0"), "it judges descriptors of the backend", log)
else:
    for what in ("its version", "its status without a device", "its descriptors"):
        checks.skip(f"NVIDIA's cuDNN: {what}", "no toolkit with it")
shutil.rmtree(folder, ignore_errors=True)
checks.end()
