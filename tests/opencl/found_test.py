#!/usr/bin/env python3
"""
Programs as they are found, of other authors and for other purposes, bare and under a grant, with and without a share of
time: they say the same. found_test.py BUILD [NAME...]

For OpenCL they are asked of the machine's first OpenCL device, for Vulkan of its first Vulkan device. What is not installed
is skipped, by name; METE_TEST_PROGRAMS is the bin folder of a Python with packages of its own. A long test.
"""
import os
import re
import shutil
import subprocess
import sys

from kit import METE, Place, finish, ok, same, skip

FRAMES = ("-nostdin", "-hide_banner", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=size=128x96:rate=1:duration=2")
WAYS = (("", ()), (" at 50 %", ("-c", "50", "-C", "50")))
PYTHON = os.path.join(os.environ.get("METE_TEST_PROGRAMS", "/nowhere"), "python3")
ARRAYS = """
import pyopencl as cl, numpy as np
ctx = cl.Context([cl.get_platforms()[0].get_devices()[0]])
q = cl.CommandQueue(ctx)
x = np.arange(4096, dtype=np.float32).reshape(64, 64) / 4096
"""


def frames(device, filters):
    """Checksums of two pictures that a chain of filters made."""
    return ["ffmpeg", *FRAMES[:4], "-init_hw_device", f"{device}=d", "-filter_hw_device", "d", *FRAMES[4:],
            "-vf", f"format=yuv420p,hwupload,{filters},hwdownload,format=yuv420p", "-f", "framemd5", "-"]


def piglit(name):
    return [f"/usr/lib/x86_64-linux-gnu/piglit/bin/{name}"]


def all_of(line):
    return line


def words_of(line):
    """Without figures, which are times."""
    return re.sub(r"[\d.]+", "", line).strip()


# Name, API, words, what is compared.
PROGRAMS = [
    *((f"ffmpeg {f.split('=')[0]}", "opencl", frames("opencl", f), all_of) for f in
      ("avgblur_opencl=2", "boxblur_opencl=2", "sobel_opencl", "unsharp_opencl", "transpose_opencl=1")),
    ("OpenCV", "opencl", ["/usr/bin/python3", "-c", """
import cv2, numpy as np
cv2.ocl.setUseOpenCL(True)
a = cv2.UMat(np.arange(10000, dtype=np.float32).reshape(100, 100))
print(cv2.ocl.useOpenCL(), cv2.GaussianBlur(a, (5, 5), 1).get().sum(), cv2.resize(a, (50, 50)).get().sum(), cv2.gemm(a, a, 1, None, 0).get()[7, 7])
"""], all_of),
    ("clFFT", "opencl", ["clFFT-client", "-x", "64", "-p", "1"], words_of),
    ("piglit: create-context", "opencl", piglit("cl-api-create-context"), all_of),
    ("piglit: buffers by parts", "opencl", piglit("cl-api-enqueue-copy-buffer-rect"), all_of),
    ("piglit: copies", "opencl", piglit("cl-api-enqueue-copy-buffer"), all_of),
    ("piglit: filled buffers", "opencl", piglit("cl-api-enqueue-fill-buffer"), all_of),
    ("piglit: kernels' arguments", "opencl", piglit("cl-api-set-kernel-arg"), all_of),
    ("piglit: events", "opencl", piglit("cl-api-get-event-info"), all_of),
    ("OpenMM", "opencl", [PYTHON, "-c", """
import openmm as mm, random
from openmm import unit
s = mm.System(); f = mm.NonbondedForce(); random.seed(1); at = []
for i in range(64):
    s.addParticle(40); f.addParticle(0, 0.3, 1); at.append(mm.Vec3(i % 4, i // 4 % 4, i // 16) * 0.4)
s.addForce(f)
c = mm.Context(s, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName("OpenCL"), {"Precision": "double"})
c.setPositions(at)
print(round(c.getState(getEnergy=True).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole), 6))
"""], all_of),
    ("pyvkfft", "opencl", [PYTHON, "-c", ARRAYS + """
import pyopencl.array as ca
from pyvkfft.fft import fftn
d = ca.to_device(q, x.astype(np.complex64))
print(np.allclose(fftn(d).get(), np.fft.fftn(x), atol=1e-2))
"""], all_of),
    ("reikna", "opencl", [PYTHON, "-c", """
import numpy as np
from reikna.cluda import ocl_api
from reikna.linalg import MatrixMul
api = ocl_api(); t = api.Thread(api.get_platforms()[0].get_devices()[0])
a = np.arange(1024, dtype=np.float32).reshape(32, 32)
d = t.to_device(a); r = t.array((32, 32), np.float32)
MatrixMul(d, d, out_arr=r).compile(t)(r, d, d)
print(np.allclose(r.get(), a @ a, rtol=1e-4))
"""], all_of),
    ("loopy", "opencl", [PYTHON, "-c", ARRAYS + """
import loopy as lp
k = lp.make_kernel("{[i]: 0<=i<n}", "o[i] = 2*a[i]", lang_version=(2018, 2))
e, (o,) = k(q, a=x.ravel())
print(float(np.asarray(o).sum()))
"""], all_of),
    ("silx", "opencl", [PYTHON, "-c", """
import numpy as np
from silx.opencl.medfilt import medfilt2d
print(float(medfilt2d(np.arange(4096, dtype=np.float32).reshape(64, 64) % 37, 3).sum()))
"""], all_of),
    ("tinygrad", "opencl", ["env", "DEV=CL", "CL=1", PYTHON, "-c", """
from tinygrad import Tensor
print((Tensor.arange(100).reshape(10, 10).float() @ Tensor.ones(10, 10)).sum().item())
"""], all_of),
    *((f"ffmpeg {f.split('=')[0]}", "vulkan", frames("vulkan", f), all_of) for f in
      ("avgblur_vulkan=sizeX=3:sizeY=3", "gblur_vulkan", "hflip_vulkan", "vflip_vulkan", "chromaber_vulkan")),
    ("wgpu", "vulkan", [PYTHON, "-c", """
import numpy as np
from wgpu.utils.compute import compute_with_buffers
code = "@group(0) @binding(0) var<storage,read> a: array<i32>; @group(0) @binding(1) var<storage,read_write> b: array<i32>;" \\
       "@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) i: vec3<u32>) { b[i.x] = a[i.x] * 2; }"
print(compute_with_buffers({0: np.arange(99, dtype=np.int32)}, {1: (99, "i")}, code, n=99)[1].tolist())
"""], all_of),
    ("ncnn", "vulkan", [PYTHON, "-c", """
import ncnn, numpy as np
print(ncnn.get_gpu_count() > 0)
net = ncnn.Net(); net.opt.use_vulkan_compute = True
net.load_param_mem("7767517\\n2 2\\nInput in 0 1 a 0=8 1=8 2=1\\nPooling p 1 1 a b 0=0 1=2 2=2\\n")
net.load_model_mem(b"\\0" * 16) if hasattr(net, "load_model_mem") else None
ex = net.create_extractor(); ex.input("a", ncnn.Mat(np.arange(64, dtype=np.float32).reshape(1, 8, 8)))
print(np.array(ex.extract("b")[1]).sum())
"""], all_of),
]


def bare(place, api, words):
    return subprocess.run(words, env=place.env, timeout=250, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, cwd=place.meted.dir)


def granted(place, api, words, options):
    kind = ["--opencl"] if api == "opencl" else ["--soft"]
    return subprocess.run([METE, "run", *kind, "--mem", "2G", *options, "--", *words], env=place.env, timeout=250,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=place.meted.dir)


def compare(place, name, api, words, keep):
    program = words[3] if words[0] == "env" else words[0]
    if not shutil.which(program):
        skip(f"{name} ({api})", f"no {program}")
        return
    try:
        plain = bare(place, api, words)
    except subprocess.TimeoutExpired:
        skip(f"{name} ({api})", "bare it takes longer than 250 s here")
        return
    want = [k for k in map(keep, plain.stdout.splitlines()) if k]
    if plain.returncode or not want:
        skip(f"{name} ({api})", f"it does not run here without mete either ({plain.returncode}): {plain.stderr.strip().splitlines()[-1:]}")
        return
    for way, options in WAYS:
        r = granted(place, api, words, options)
        got = [k for k in map(keep, r.stdout.splitlines()) if k]
        same((r.returncode, got), (0, want), f"{name} ({api}){way}: says what it says without mete")
        ok("mete:" not in r.stderr, f"{name} ({api}){way}: and mete says nothing", r.stderr[-300:])


def main():
    chosen = [a for a in sys.argv[2:] if not a.startswith("-")]
    if not os.environ.get("METE_TEST_LONG"):
        print("1..0 # SKIP a long test: METE_TEST_LONG=1")
        return
    home = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"mete-found-{os.getuid()}")
    os.makedirs(home, exist_ok=True)  # what programs compile is there for the second run, bare or not
    place = Place(HOME=home, OPENCV_OPENCL_DEVICE=":CPU:", XDG_RUNTIME_DIR=home, DEBUG="0")
    for name, api, words, keep in PROGRAMS:
        if not chosen or any(c in name for c in chosen):
            compare(place, name, api, words, keep)
    place.close()
    finish()


main()
