"""
A library's object is destroyed while the device waits for a function of the program: pending_program.py

The function is not done before the object's end has been asked for. Each line that it prints is `ok WHAT` or `bad WHAT WHY`.
"""

import ctypes
import os
import threading
import time

P, I, U = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
HANGS_S, LASTS_S = 30, 0.2
cu = ctypes.CDLL("libcuda.so.1")
function = ctypes.CFUNCTYPE(None, P)(lambda _: time.sleep(LASTS_S))


def good(status):
    if status:
        raise SystemExit(f"status {status}")


def hangs():
    print("bad it comes to its end hangs", flush=True)
    os._exit(1)


def simple(library, create, destroy, stream, set_stream, *given):
    """Makes an object of a library, for the stream. Value: its end."""
    lib, handle = ctypes.CDLL(library), P()
    good(getattr(lib, create)(ctypes.byref(handle), *given))
    good(getattr(lib, set_stream)(handle, stream))
    return lambda: getattr(lib, destroy)(handle)


def plan(library, stream):
    lib, handle = ctypes.CDLL(library), I()
    good(lib.cufftPlan1d(ctypes.byref(handle), I(4096), I(0x29), I(1)))
    good(lib.cufftSetStream(handle, stream))
    return lambda: lib.cufftDestroy(handle)


def area(library, stream):
    """A plan that gets another workspace: it frees its own."""
    lib, handle = ctypes.CDLL(library), I()
    good(lib.cufftPlan1d(ctypes.byref(handle), I(4096), I(0x29), I(1)))
    good(lib.cufftSetStream(handle, stream))
    return lambda: lib.cufftSetWorkArea(handle, memory)


OBJECTS = {
    "cuBLAS": lambda s: simple("libcublas.so.12", "cublasCreate_v2", "cublasDestroy_v2", s, "cublasSetStream_v2"),
    "cuFFT": lambda s: plan("libcufft.so.12", s),
    "cuFFT's workspace": lambda s: area("libcufft.so.12", s),
    "cuRAND": lambda s: simple("libcurand.so.10", "curandCreateGenerator", "curandDestroyGenerator", s, "curandSetStream", I(100)),
    "cuSOLVER": lambda s: simple("libcusolver.so.12", "cusolverDnCreate", "cusolverDnDestroy", s, "cusolverDnSetStream"),
    "cuSPARSE": lambda s: simple("libcusparse.so.12", "cusparseCreate", "cusparseDestroy", s, "cusparseSetStream"),
}
context, stream, memory = P(), P(), P()
watch = threading.Timer(HANGS_S, hangs)
watch.daemon = True
watch.start()
good(cu.cuInit(0))
good(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
good(cu.cuCtxSetCurrent(context))
good(cu.cuStreamCreate(ctypes.byref(stream), 1))
good(cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)))
for name, make in OBJECTS.items():
    end = make(stream)
    good(cu.cuCtxSynchronize())
    good(cu.cuMemsetD32Async(memory, U(7), ctypes.c_size_t(16), stream))
    good(cu.cuLaunchHostFunc(stream, function, None))
    status = end()
    waited = cu.cuStreamSynchronize(stream)
    print("ok" if not status and not waited else "bad", name, "ends while a function of the program is to run", status, waited, flush=True)
print("END", flush=True)
os._exit(0)
