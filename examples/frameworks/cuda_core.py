"""cuda-core: a program compiled by NVRTC to machine code (a cubin), linked of two by nvJitLink, and one as PTX."""
import numpy as np
from cuda.bindings import driver as cu

try:
    from cuda.core import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch
except ImportError:  # before 0.5
    from cuda.core.experimental import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

SOURCE = 'extern "C" __global__ void twice(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }'
CALLER = ('extern "C" __device__ float more(float);\n'
          'extern "C" __global__ void twice(float *a) { int i = blockIdx.x * blockDim.x + threadIdx.x; a[i] = more(a[i]); }')
CALLEE = 'extern "C" __device__ float more(float x) { return x + x; }'

device = Device()
device.set_current()
stream = device.create_stream()
arch = "sm_" + "".join(str(n) for n in device.compute_capability)


def run(code):
    values = np.arange(256, dtype=np.float32)
    memory = device.allocate(values.nbytes, stream=stream)
    stream.sync()
    cu.cuMemcpyHtoD(int(memory.handle), values.ctypes.data, values.nbytes)
    launch(stream, LaunchConfig(grid=2, block=128), code.get_kernel("twice"), memory)
    stream.sync()
    out = np.empty_like(values)
    cu.cuMemcpyDtoH(out.ctypes.data, int(memory.handle), out.nbytes)
    np.testing.assert_array_equal(out, values * 2)


run(Program(SOURCE, "c++", ProgramOptions(arch=arch)).compile("cubin"))
run(Program(SOURCE, "c++", ProgramOptions(arch=arch)).compile("ptx"))
relocatable = ProgramOptions(arch=arch, relocatable_device_code=True)
parts = [Program(s, "c++", relocatable).compile("ptx") for s in (CALLER, CALLEE)]
run(Linker(*parts, options=LinkerOptions(arch=arch)).link("cubin"))
lto = ProgramOptions(arch=arch, relocatable_device_code=True, link_time_optimization=True)
parts = [Program(s, "c++", lto).compile("ltoir") for s in (CALLER, CALLEE)]
run(Linker(*parts, options=LinkerOptions(arch=arch, link_time_optimization=True)).link("cubin"))
mixed = [parts[0], Program(CALLEE, "c++", relocatable).compile("ptx")]
run(Linker(*mixed, options=LinkerOptions(arch=arch, link_time_optimization=True)).link("cubin"))
print("PASS")
