"""CuPy on a GPU: element-wise work, reductions, products, transforms, a kernel of one's own; its own exception out of memory, and on."""
import cupy
import numpy as np

random = np.random.default_rng(1)
a, b = random.standard_normal((2, 300, 300)).astype(np.float32)
x, y = cupy.asarray(a), cupy.asarray(b)
twice = cupy.RawKernel('extern "C" __global__ void twice(float *a, int n)'
                       '{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] *= 2; }', "twice")
z = x.copy()
twice((352,), (256,), (z, z.size))
good = {
    "element-wise": np.allclose(cupy.tanh(x * y).get(), np.tanh(a * b), atol=1e-5),
    "reduction": np.allclose(x.sum(0).get(), a.sum(0), atol=1e-2),
    "product": np.allclose((x @ y).get(), a @ b, atol=0.2),
    "transform": np.allclose(cupy.fft.fft(x).get(), np.fft.fft(a), atol=1e-2),
    "sort": np.array_equal(cupy.sort(x, 1).get(), np.sort(a, 1)),
    "kernel": np.array_equal(z.get(), a * 2),
    "solve": np.allclose(cupy.linalg.solve(x, y).get(), np.linalg.solve(a, b), atol=0.5),
}
try:
    cupy.zeros(1 << 40, dtype=cupy.uint8)
    good["out of memory"] = False
except cupy.cuda.memory.OutOfMemoryError:
    good["out of memory"] = np.array_equal((x + 1).get(), a + 1)
for name, right in good.items():
    print(name, right)
print("PASS" if all(good.values()) else "FAIL")
