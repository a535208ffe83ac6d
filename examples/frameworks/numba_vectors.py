"""numba-cuda, as its documentation installs it: vector addition, a reduction with shared memory and atomics, out of memory."""
import sys

import numpy as np
from numba import cuda, float32
from numba.cuda.cudadrv.driver import CudaAPIError


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < a.size:
        c[i] = a[i] + b[i]


@cuda.jit
def total(a, out):
    part = cuda.shared.array(128, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    part[t] = a[i] if i < a.size else 0
    cuda.syncthreads()
    step = 64
    while step:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


@cuda.jit(device=True)
def square(x):
    return x * x


@cuda.jit
def squares(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = square(a[i])


n = 100000
a = np.arange(n, dtype=np.float32) / n
b = np.sqrt(a)
c = cuda.device_array_like(a)
add[(n + 127) // 128, 128](a, b, c)
np.testing.assert_allclose(c.copy_to_host(), a + b, rtol=1e-6)
out = cuda.to_device(np.zeros(1, np.float32))
total[(n + 127) // 128, 128](cuda.to_device(a), out)
np.testing.assert_allclose(out.copy_to_host()[0], a.sum(), rtol=1e-5)
squares[(n + 127) // 128, 128](c)
np.testing.assert_allclose(c.copy_to_host(), (a + b) ** 2, rtol=1e-6)
free, _ = cuda.current_context().get_memory_info()
try:
    cuda.device_array(free + (64 << 20), dtype=np.uint8)
    sys.exit("more than there is was given")
except CudaAPIError:
    pass
add[(n + 127) // 128, 128](a, b, c)
np.testing.assert_allclose(c.copy_to_host(), a + b, rtol=1e-6)
print("PASS")
