"""
cuda-core's memory resources: pools of a device's memory, of host memory and of managed memory. A kernel doubles what lies in each, and
the host reads host-accessible memory at its own address. Where the device says that it has no pools of host memory, as behind a wall and
over the network, those two raise cuda-core's own exception, and what comes after them works.
"""
import ctypes

import numpy as np
from cuda.bindings import driver as cu
from cuda.core import (Device, DeviceMemoryResource, LaunchConfig, ManagedMemoryResource, ManagedMemoryResourceOptions, PinnedMemoryResource,
                       Program, ProgramOptions, launch)

SOURCE = 'extern "C" __global__ void twice(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }'
COUNT = 4096

device = Device()
device.set_current()
stream = device.create_stream()
arch = "sm_" + "".join(str(n) for n in device.compute_capability)
kernel = Program(SOURCE, "c++", ProgramOptions(arch=arch)).compile("cubin").get_kernel("twice")
error, there = cu.cuDeviceGetAttribute(cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, device.device_id)
assert not error


def use(resource):
    values = np.arange(COUNT, dtype=np.float32)
    for _ in range(3):  # the second and third time from what the pool has kept
        memory = resource.allocate(values.nbytes, stream=stream)
        stream.sync()
        if memory.is_host_accessible:
            seen = np.ctypeslib.as_array(ctypes.cast(int(memory.handle), ctypes.POINTER(ctypes.c_float)), (COUNT,))
            seen[:] = values
        else:
            cu.cuMemcpyHtoD(int(memory.handle), values.ctypes.data, values.nbytes)
        launch(stream, LaunchConfig(grid=COUNT // 128, block=128), kernel, memory)
        stream.sync()
        out = np.empty_like(values)
        if memory.is_host_accessible:
            out[:] = seen
        else:
            cu.cuMemcpyDtoH(out.ctypes.data, int(memory.handle), out.nbytes)
        np.testing.assert_array_equal(out, values * 2)
        memory.close(stream)
    stream.sync()


def try_it(name, make):
    try:
        use(make())
        print(f"{name}: right")
        assert there, f"{name}: the device says that it is not there"
    except Exception as e:  # cuda-core: CUDAError, or a RuntimeError in words of its own
        if there:
            raise
        assert "NOT_SUPPORTED" in str(e) or "does not support" in str(e), e
        print(f"{name}: {type(e).__name__}: {str(e).split(':')[0]}")


use(DeviceMemoryResource(device))
try_it("pinned", PinnedMemoryResource)
try_it("managed, the device's own pool", ManagedMemoryResource)
try_it("managed, a pool of its own", lambda: ManagedMemoryResource(options=ManagedMemoryResourceOptions(
    preferred_location=device.device_id, preferred_location_type="device")))
use(DeviceMemoryResource(device))
print("PASS")
