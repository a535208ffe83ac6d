#!/usr/bin/env python3
"""
cuDNN's handle without oneDNN, or with what METE_ONEDNN names: quiet_test.py BUILD_ROOT

oneDNN only makes convolutions faster. A program that works without it gets no line; one whose user has named a file that
cannot be used gets one, with the name.
"""
import os
import subprocess
import sys
import tempfile

# A convolution of ones: the first one opens oneDNN.
PROGRAM = """
import ctypes
from ctypes import byref, c_float, c_size_t, c_uint64, c_void_p
dnn, cuda = ctypes.CDLL("libcudnn.so.9"), ctypes.CDLL("libcuda.so.1")
handle, context, x, y, w, how, at, got = (*(c_void_p() for _ in range(6)), c_uint64(), (c_float * 4)())
one, none = c_float(1), c_float(0)
ones = (c_float * 16)(*[1] * 16)
r = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(byref(context), 0), cuda.cuCtxSetCurrent(context), cuda.cuMemAlloc_v2(byref(at), c_size_t(4096)),
     cuda.cuMemcpyHtoD_v2(at, ones, c_size_t(64)), dnn.cudnnCreate(byref(handle)), dnn.cudnnCreateTensorDescriptor(byref(x)),
     dnn.cudnnCreateTensorDescriptor(byref(y)), dnn.cudnnCreateFilterDescriptor(byref(w)), dnn.cudnnCreateConvolutionDescriptor(byref(how)),
     dnn.cudnnSetTensor4dDescriptor(x, 0, 0, 1, 1, 4, 4), dnn.cudnnSetTensor4dDescriptor(y, 0, 0, 1, 1, 2, 2),
     dnn.cudnnSetFilter4dDescriptor(w, 0, 0, 1, 1, 3, 3), dnn.cudnnSetConvolution2dDescriptor(how, 0, 0, 1, 1, 1, 1, 1, 0)]
result = c_uint64(at.value + 1024)
r += [dnn.cudnnConvolutionForward(handle, byref(one), x, at, w, at, how, 0, None, c_size_t(0), byref(none), y, result), cuda.cuCtxSynchronize(),
      cuda.cuMemcpyDtoH_v2(got, result, c_size_t(16)), dnn.cudnnDestroy(handle)]
print(any(r), list(got))
"""


def run(build, folder, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith("METE_")}
    env.update(METE_SOFT_DIR=folder, **variables)
    return subprocess.run([os.path.join(build, "src/cli/mete"), "soft", "run", sys.executable, "-c", PROGRAM], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120, check=False)


def main():
    good = True
    with tempfile.TemporaryDirectory(prefix="mete-t-") as folder:
        empty = os.path.join(folder, "libdnnl.so.3")
        with open(empty, "w", encoding="utf-8"):
            pass
        plain, named = run(sys.argv[1], folder), run(sys.argv[1], folder, METE_ONEDNN=empty)
    for i, (what, done, lines) in enumerate((("no line from a program that works", plain, 0), ("one line that names METE_ONEDNN", named, 1)), 1):
        fits = done.stdout == "False [9.0, 9.0, 9.0, 9.0]\n" and len(done.stderr.splitlines()) == lines and (not lines or f"METE_ONEDNN={empty}" in done.stderr)
        print(f"{'ok' if fits else 'not ok'} {i} - {what}", *([] if fits else [f"\n# {done.stdout!r} {done.stderr!r}"]))
        good = good and fits
    print("1..2")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
