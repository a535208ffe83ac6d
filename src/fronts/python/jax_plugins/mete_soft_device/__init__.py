"""
Tells JAX what it needs to know where its driver is mete's software device. JAX takes plugins from this namespace.

JAX asks for CUDA devices only where one of a few nodes is in /dev, and else computes on the processor without a word: the
software device has no node, and this file stands for it. XLA assembles with the ptxas of JAX's own package, by its path,
unless it is shown another folder: mete's makes what the device runs. Where cuDNN does not compute, XLA is asked for convolutions without it,
if it knows how; and, on a device below 12.0, not to try several ways of a function: for that it needs kernels that its packages hold
for 12.0 alone, and ends the program without them. What the user set in CUDA_ROOT, XLA_FLAGS and JAX_PLATFORMS stays; a JAX without CUDA is not affected.
"""
import ctypes
import mmap
import os

WITHOUT_LIBRARIES = "xla_gpu_experimental_disable_binary_libraries"
TRIALS = "xla_gpu_autotune_level"


def xla_knows(flag):
    """An unknown one ends the program."""
    import jaxlib
    for name in ("libjax_common.so", "xla_extension.so"):
        try:
            with open(os.path.join(os.path.dirname(jaxlib.__file__), name), "rb") as f, \
                    mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as library:
                return library.find(flag.encode() + b"\0") >= 0
        except (OSError, ValueError):
            continue
    return False


def capability():
    """The compute capability of the first device, times ten; 0: not known."""
    major, minor, device = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        if nvml.nvmlInit_v2():
            return 0
        failed = (nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) or
                  nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor)))
        nvml.nvmlShutdown()
    except (OSError, AttributeError):
        return 0
    return 0 if failed else major.value * 10 + minor.value


def convolves():
    """Whether cuDNN is mete's own, which computes; its front makes handles only."""
    try:
        return not hasattr(ctypes.CDLL("libcudnn.so.9"), "mete_front")
    except OSError:
        return False


def initialize():
    try:
        from jax._src import hardware_utils, lib
        nodes = hardware_utils._NVIDIA_GPU_DEVICES
    except (ImportError, AttributeError):
        return
    if __file__ not in nodes:
        nodes.append(__file__)
    fronts = os.path.abspath(__file__)
    for _ in range(4):
        fronts = os.path.dirname(fronts)
    if not os.environ.get("CUDA_ROOT") and os.access(os.path.join(fronts, "bin/ptxas"), os.X_OK):
        lib.cuda_path = fronts
    for flag, value, wanted in ((WITHOUT_LIBRARIES, "true", not convolves()), (TRIALS, "0", 0 < capability() < 120)):
        flags = os.environ.get("XLA_FLAGS", "")
        if wanted and flag not in flags and xla_knows(flag):
            os.environ["XLA_FLAGS"] = f"{flags} --{flag}={value}".strip()
