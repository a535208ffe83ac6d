"""
cuda-core beyond kernels: graphs by capture that fork and join, with a callback and with conditions, graphs node by node with memory of
their own, textures and surfaces, maps for copies of tensors, and the device as NVML sees it.

Prints PASS when all are right.
"""
import ctypes

import numpy as np
from cuda.core import Device, GraphMemoryResource, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch
from cuda.core.graph import GraphBuilder, GraphDefinition
from cuda.core.texture import OpaqueArrayOptions, ResourceDescriptor
from cuda.core.typing import ArrayFormatType
from cuda.core.utils import StridedMemoryView

SOURCE = """
extern "C" __device__ void cudaGraphSetConditional(unsigned long long, unsigned int);
extern "C" __global__ void add(float *x, float v, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += v; }
extern "C" __global__ void count(int *x) { atomicAdd(x, 1); }
extern "C" __global__ void set(unsigned long long c, unsigned int v) { cudaGraphSetConditional(c, v); }
extern "C" __global__ void again(unsigned long long c, int *x, int limit) { cudaGraphSetConditional(c, atomicAdd(x, 1) + 1 < limit); }
extern "C" __global__ void read(cudaTextureObject_t t, float *o, int w) { int x = threadIdx.x, y = blockIdx.x; o[y * w + x] = tex2D<float>(t, x + .5f, y + .5f); }
extern "C" __global__ void triple(cudaSurfaceObject_t s) { int x = threadIdx.x, y = blockIdx.x; float v; surf2Dread(&v, s, x * 4, y); surf2Dwrite(v * 3, s, x * 4, y); }
"""

device = Device()
device.set_current()
stream = device.create_stream()
pinned = LegacyPinnedMemoryResource()
code = Program(SOURCE, "c++", ProgramOptions(std="c++17", arch=f"sm_{device.arch}")).compile("cubin")
ONE = LaunchConfig(grid=1, block=1)


def host(buffer, dtype, count):
    return np.frombuffer((ctypes.c_char * buffer.size).from_address(int(buffer.handle)), dtype=dtype, count=count)


def put(values):
    memory, through = (a.allocate(values.nbytes, stream=stream) for a in (device, pinned))
    host(through, values.dtype, values.size)[:] = values
    memory.copy_from(through, stream=stream)
    stream.sync()
    return memory


def get(memory, dtype, count):
    through = pinned.allocate(memory.size, stream=stream)
    memory.copy_to(through, stream=stream)
    stream.sync()
    return host(through, dtype, count).copy()


def kernel(name):
    return code.get_kernel(name)


def captured():
    """A graph that forks and joins, and calls back."""
    memory, called = put(np.zeros(1000, np.float32)), []
    builder = device.create_graph_builder()
    builder.begin_building()
    launch(builder, LaunchConfig(grid=8, block=128), kernel("add"), memory, np.float32(1), np.int32(1000))
    left, right = builder.split(2)
    launch(left, LaunchConfig(grid=4, block=128), kernel("add"), memory, np.float32(2), np.int32(500))
    launch(right, LaunchConfig(grid=8, block=128), kernel("add"), memory, np.float32(0), np.int32(0))
    builder = GraphBuilder.join(left, right)
    builder.callback(lambda: called.append(1))
    graph = builder.end_building().complete()
    for _ in range(3):
        graph.launch(stream)
    stream.sync()
    np.testing.assert_array_equal(get(memory, np.float32, 1000), np.where(np.arange(1000) < 500, 9, 3))
    assert len(called) == 3, called


def conditional():
    """An if, an if with an else, a switch and a loop, each with a body that counts."""
    for kind, value, want in ("if_then", 1, 1), ("if_then", 0, 0), ("if_else", 0, 2), ("switch", 2, 3), ("while_loop", 1, 7):
        counter = put(np.zeros(4, np.int32))
        builder = device.create_graph_builder()
        builder.begin_building()
        condition = builder.create_condition(default_value=0)
        launch(builder, ONE, kernel("set"), condition, np.uint32(value))
        bodies = builder.switch(condition, 3) if kind == "switch" else getattr(builder, kind)(condition)
        for i, body in enumerate(bodies if isinstance(bodies, tuple) else (bodies,)):
            body.begin_building()
            if kind == "while_loop":
                launch(body, ONE, kernel("again"), condition, counter, np.int32(want))
            else:
                for _ in range(i + 1):
                    launch(body, ONE, kernel("count"), counter)
            body.end_building()
        builder.end_building().complete().launch(stream)
        got = get(counter, np.int32, 1)[0]
        assert got == want, (kind, value, got)


def defined():
    """Node by node: memory of the graph's own, a memset, a copy, a kernel; and a kernel's arguments that change."""
    out, ran = put(np.zeros(4096, np.uint8)), []
    graph = GraphDefinition()
    own = graph.allocate(4096)
    last = own.memset(own.dptr, 5, 4096).memcpy(out, own.dptr, 4096).launch(ONE, kernel("count"), out)
    last.deallocate(own.dptr).callback(lambda: ran.append(1))
    graph.instantiate().launch(stream)
    stream.sync()
    np.testing.assert_array_equal(get(out, np.uint8, 4096), [6] + [5] * 4095)
    assert ran
    memory, graph = put(np.zeros(64, np.float32)), GraphDefinition()
    node = graph.launch(LaunchConfig(grid=1, block=64), kernel("add"), memory, np.float32(1), np.int32(64))
    ready = graph.instantiate()
    node.update(args=(memory, np.float32(10), np.int32(64)))
    ready.update(graph)
    ready.launch(stream)
    np.testing.assert_array_equal(get(memory, np.float32, 64), 10)
    GraphMemoryResource(device).trim()


def textures():
    values = np.arange(128, dtype=np.float32)
    source, out = put(values), put(0 * values)
    array = device.create_opaque_array(OpaqueArrayOptions(shape=(16, 8), format=ArrayFormatType.FLOAT32, num_channels=1,
                                                          is_surface_load_store=True))
    array.copy_from(source, stream=stream)
    resource = ResourceDescriptor.from_opaque_array(array)
    texture, surface = device.create_texture_object(resource=resource), device.create_surface_object(resource=resource)
    launch(stream, LaunchConfig(grid=8, block=16), kernel("read"), np.uint64(int(texture.handle)), out, np.int32(16))
    np.testing.assert_array_equal(get(out, np.float32, 128), values)
    launch(stream, LaunchConfig(grid=8, block=16), kernel("triple"), np.uint64(int(surface.handle)))
    array.copy_to(out, stream=stream)
    np.testing.assert_array_equal(get(out, np.float32, 128), 3 * values)


class Matrix:
    def __init__(self, memory, shape):
        self.memory = memory
        self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f4", "data": (int(memory.handle), False), "version": 3, "strides": None}


def described():
    """cuda-core keeps the map of a tensor in an object of Python's, wherever that lies."""
    if device.compute_capability.major < 9:
        return
    view = StridedMemoryView.from_any_interface(Matrix(put(np.zeros(4096, np.float32)), (64, 64)), stream_ptr=-1)
    for _ in range(8):
        view.as_tensor_map(box_dim=(16, 16))


def seen():
    """By NVML the device has the same UUID."""
    assert device.to_system_device().uuid == "GPU-" + device.uuid


for part in captured, conditional, defined, textures, described, seen:
    part()
print("PASS")
