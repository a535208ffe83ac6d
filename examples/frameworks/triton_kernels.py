"""Triton alone, without PyTorch: memory by the driver's binding; element-wise, softmax, reduction, scan and products."""
import numpy as np
import triton
import triton.language as tl
from triton_array import Array


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    v = tl.load(x + row + i, mask=i < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0))
    tl.store(y + row + i, v / tl.sum(v, 0), mask=i < n)


@triton.jit
def prefix(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def product(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, K, BK):
        acc += tl.dot(tl.load(a + m[:, None] * K + (at + k)[None, :]), tl.load(b + (at + k)[:, None] * N + n[None, :]))
    tl.store(c + m[:, None] * N + n[None, :], acc)


random = np.random.default_rng(7)
a, b = random.random(1000, dtype=np.float32), random.random(1000, dtype=np.float32)
c = Array(np.zeros_like(a))
add[(8,)](Array(a), Array(b), c, 1000, BLOCK=128)
np.testing.assert_allclose(c.get(), a + b, rtol=1e-6)
x = random.random((8, 100), dtype=np.float32)
y = Array(np.zeros_like(x))
softmax[(8,)](Array(x), y, 100, BLOCK=128)
e = np.exp(x - x.max(1, keepdims=True))
np.testing.assert_allclose(y.get(), e / e.sum(1, keepdims=True), rtol=1e-5)
s = Array(np.zeros(256, np.int32))
values = random.integers(0, 100, 256, dtype=np.int32)
prefix[(1,)](Array(values), s, BLOCK=256)
np.testing.assert_array_equal(s.get(), np.cumsum(values))
for kind in (np.float16, np.float32):
    left, right = random.random((64, 64)).astype(kind), random.random((64, 64)).astype(kind)
    out = Array(np.zeros((64, 64), np.float32))
    product[(2, 2)](Array(left), Array(right), out, 64, 64, BM=32, BN=32, BK=32)
    # Products of f32 are by TF32, which has 10 bits of fraction.
    np.testing.assert_allclose(out.get(), left.astype(np.float32) @ right.astype(np.float32), rtol=2e-3)
print("PASS")
