"""pycuda: a kernel that nvcc compiles while the program runs, and its arrays. Needs nvcc in PATH."""
import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.driver as driver
from pycuda import gpuarray
from pycuda.compiler import SourceModule

module = SourceModule("__global__ void add(float *a, const float *b) { int i = threadIdx.x; a[i] += b[i]; }")
a, b = np.random.rand(64).astype(np.float32), np.random.rand(64).astype(np.float32)
c = a.copy()
module.get_function("add")(driver.InOut(c), driver.In(b), block=(64, 1, 1))
np.testing.assert_allclose(c, a + b, rtol=1e-6)
values = gpuarray.to_gpu(a)
np.testing.assert_allclose((2 * values + 1).get(), 2 * a + 1, rtol=1e-6)
np.testing.assert_allclose(gpuarray.sum(values).get(), a.sum(), rtol=1e-5)
print("PASS")
