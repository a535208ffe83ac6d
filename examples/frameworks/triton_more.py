"""
Triton alone: what its tutorials and compilers of models ask for, each kernel against NumPy: products in five types with and without
a descriptor of the array, attention, layer norm, sums, scans, sorts, atomics, histograms, random numbers.

Prints a line per kernel, and PASS when all are right. What this Triton does not compile for the device is named and not counted.
"""
import sys

import numpy as np
import triton
import triton.language as tl
from triton_array import Array

random = np.random.default_rng(1)


def bf16(x):
    """Rounded to the upper half, as its 16 bits."""
    b = np.asarray(x, np.float32).view(np.uint32)
    return ((b + 0x7fff + (b >> 16 & 1)) >> 16).astype(np.uint16)


def wide(x):
    return (x.astype(np.uint32) << 16).view(np.float32)


E4M3 = np.array([(-1 if b & 128 else 1) * ((b & 7) * 2.0 ** -9 if not b >> 3 & 15 else (1 + (b & 7) / 8) * 2.0 ** ((b >> 3 & 15) - 7))
                 for b in range(256)], np.float32)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr, TF32: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    sum = tl.zeros((BM, BN), dtype=ACC)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :])
        y = tl.load(b + k[:, None] * N + n[None, :])
        if TF32:
            sum = tl.dot(x, y, sum, input_precision="tf32")
        else:
            sum = tl.dot(x, y, sum)
    tl.store(c + m[:, None] * N + n[None, :], sum)


@triton.jit
def attention(q, k, v, o, N, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    norm = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n0 in range(0, N, BN):
        n = n0 + tl.arange(0, BN)
        s = tl.dot(x, tl.trans(tl.load(k + n[:, None] * D + d[None, :]))) * scale
        if CAUSAL:
            s = tl.where(m[:, None] >= n[None, :], s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        old = tl.exp(top - new)
        norm = norm * old + tl.sum(p, 1)
        acc = acc * old[:, None] + tl.dot(p.to(tl.float16), tl.load(v + n[:, None] * D + d[None, :]))
        top = new
    tl.store(o + m[:, None] * D + d[None, :], acc / norm[:, None])


@triton.jit
def layer_norm(x, w, b, y, n, eps, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    v = tl.load(x + row + i, mask=i < n, other=0.0)
    mean = tl.sum(v, 0) / n
    c = tl.where(i < n, v - mean, 0.0)
    y0 = c / tl.sqrt(tl.sum(c * c, 0) / n + eps) * tl.load(w + i, mask=i < n) + tl.load(b + i, mask=i < n)
    tl.store(y + row + i, y0, mask=i < n)


@triton.jit
def sorted_rows(x, y, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, tl.sort(tl.load(x + i)))


@triton.jit
def extremes(x, y, N: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    o = y + tl.program_id(0) * 4
    tl.store(o, tl.argmax(v, 0).to(tl.float32))
    tl.store(o + 1, tl.argmin(v, 0).to(tl.float32))
    tl.store(o + 2, tl.max(v, 0))
    tl.store(o + 3, tl.min(v, 0))


@triton.jit
def scan(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(y + i, tl.cumsum(v, 0))
    tl.store(y + N + i, tl.cumsum(v, 0, reverse=True))


@triton.jit
def counts(x, y, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.histogram(tl.load(x + i), BINS)
    tl.atomic_add(y + tl.arange(0, BINS), h)


@triton.jit
def atomics(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.atomic_max(y + i % 4, v)
    tl.atomic_min(y + 4 + i % 4, v)
    tl.atomic_add(y + 8 + i % 4, v)
    tl.atomic_xor(y + 12 + i % 4, v)


@triton.jit
def dice(y, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.rand(seed, i))


@triton.jit
def functions(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    r = tl.sin(v) + tl.exp(-v * v) + tl.log(1.0 + v * v) + tl.sqrt(tl.abs(v)) + tl.sigmoid(v) + tl.where(v > 0, v, 0.1 * v)
    tl.store(y + i, r, mask=i < n)


@triton.jit
def tiles(c, a, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Twice the array, by descriptors that the kernel makes."""
    x = tl.make_tensor_descriptor(a, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    y = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    y.store([m, n], x.load([m, n]) * 2)


@triton.jit
def described(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    x = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    y = tl.make_tensor_descriptor(b, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    sum = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sum = tl.dot(x.load([m, k]), y.load([k, n]), sum)
    i, j = m + tl.arange(0, BM), n + tl.arange(0, BN)
    tl.store(c + i[:, None] * N + j[None, :], sum)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def run_product(a, b, out, to_float, acc, tf32=False, wide_block=False):
    M, K, N = a.shape[0], a.shape[1], b.shape[1]
    x, y, c = Array(a), Array(b), Array(np.zeros((M, N), out))
    bm, bn = (128, 128) if wide_block else (64, 32)
    product[(M // bm, N // bn)](x, y, c, M, N, K, BM=bm, BN=bn, BK=32, ACC=acc, TF32=tf32, num_warps=8 if wide_block else 4)
    want = to_float(a).astype(np.float64) @ to_float(b).astype(np.float64)
    return np.abs(c.get() - want).max() / max(1, np.abs(want).max())


def f16_product():
    return run_product(normal(128, 64).astype(np.float16), normal(64, 64).astype(np.float16), np.float32,
                       lambda x: x.astype(np.float32), tl.float32)


def f16_wide_product():
    return run_product(normal(128, 128).astype(np.float16), normal(128, 128).astype(np.float16), np.float32,
                       lambda x: x.astype(np.float32), tl.float32, wide_block=True)


def bf16_product():
    return run_product(bf16(normal(64, 64)), bf16(normal(64, 64)), np.float32, wide, tl.float32)


def f8_product():
    return run_product(random.integers(0, 0x78, (64, 64)).astype(np.uint8), random.integers(0, 0x78, (64, 64)).astype(np.uint8), np.float32,
                       lambda x: E4M3[x], tl.float32)


def tf32_product():
    return run_product(normal(64, 64), normal(64, 64), np.float32, lambda x: x, tl.float32, tf32=True) / 4


def s8_product():
    return run_product(random.integers(-128, 128, (64, 64)).astype(np.int8), random.integers(-128, 128, (64, 64)).astype(np.int8),
                       np.int32, lambda x: x.astype(np.int32), tl.int32)


def run_attention(causal):
    n, d = 128, 64
    q, k, v = (normal(n, d).astype(np.float16) for _ in range(3))
    o = Array(np.zeros((n, d), np.float32))
    attention[(n // 64,)](Array(q), Array(k), Array(v), o, n, d ** -0.5, BM=64, BN=32, D=d, CAUSAL=causal)
    s = q.astype(np.float64) @ k.astype(np.float64).T * d ** -0.5
    if causal:
        s[np.triu_indices(n, 1)] = -np.inf
    p = np.exp(s - s.max(1, keepdims=True))
    return np.abs(o.get() - p / p.sum(1, keepdims=True) @ v.astype(np.float64)).max()


def full_attention():
    return run_attention(False)


def causal_attention():
    return run_attention(True)


def norms():
    x, w, b = normal(7, 100), normal(100), normal(100)
    y = Array(np.zeros_like(x))
    layer_norm[(7,)](Array(x), Array(w), Array(b), y, 100, 1e-5, BLOCK=128)
    want = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b
    return np.abs(y.get() - want).max()


def sorts():
    x = normal(4, 256)
    y = Array(np.zeros_like(x))
    sorted_rows[(4,)](Array(x), y, N=256)
    return np.abs(y.get() - np.sort(x, 1)).max()


def reductions():
    x = normal(5, 512)
    y = Array(np.zeros((5, 4), np.float32))
    extremes[(5,)](Array(x), y, N=512)
    return np.abs(y.get() - np.stack([x.argmax(1), x.argmin(1), x.max(1), x.min(1)], 1)).max()


def scans():
    x = random.integers(-9, 9, 1024).astype(np.int32)
    y = Array(np.zeros(2048, np.int32))
    scan[(1,)](Array(x), y, N=1024)
    return np.abs(y.get() - np.concatenate([x.cumsum(), x[::-1].cumsum()[::-1]])).max()


def histograms():
    x = random.integers(0, 64, 4096).astype(np.int32)
    y = Array(np.zeros(64, np.int32))
    counts[(4,)](Array(x), y, 4096, BLOCK=1024, BINS=64)
    return np.abs(y.get() - np.bincount(x, minlength=64)).max()


def atomic_operations():
    x = random.integers(-1000, 1000, 512).astype(np.int32)
    y = Array(np.zeros(16, np.int32))
    atomics[(4,)](Array(x), y, BLOCK=128)
    c = x.reshape(-1, 4)
    want = np.concatenate([np.maximum(c.max(0), 0), np.minimum(c.min(0), 0), c.sum(0), np.bitwise_xor.reduce(c, 0)])
    return np.abs(y.get() - want).max()


def random_numbers():
    y = Array(np.zeros(8192, np.float32))
    dice[(8,)](y, 42, BLOCK=1024)
    v = y.get()
    return max(abs(float(v.mean()) - 0.5) - 0.02, abs(float(v.var()) - 1 / 12) - 0.01, float(v.max()) - 1, -float(v.min()), 0)


def elementwise():
    x = normal(1000)
    y = Array(np.zeros_like(x))
    functions[(4,)](Array(x), y, 1000, BLOCK=256)
    v = x.astype(np.float64)
    want = (np.sin(v) + np.exp(-v * v) + np.log(1 + v * v) + np.sqrt(np.abs(v)) + 1 / (1 + np.exp(-v)) + np.where(v > 0, v, 0.1 * v))
    return np.abs(y.get() - want).max()


def allocator(size, align, stream):
    return Array(np.zeros(size + align, np.int8))


def descriptors():
    a = normal(96, 80)
    c = Array(np.zeros_like(a))
    triton.set_allocator(allocator)
    tiles[(3, 3)](c, Array(a), 96, 80, BM=32, BN=32)
    return np.abs(c.get() - 2 * a).max()


def described_product():
    a, b = normal(128, 64).astype(np.float16), normal(64, 128).astype(np.float16)
    c = Array(np.zeros((128, 128), np.float32))
    triton.set_allocator(allocator)
    described[(2, 2)](Array(a), Array(b), c, 128, 128, 64, BM=64, BN=64, BK=32)
    return np.abs(c.get() - a.astype(np.float64) @ b.astype(np.float64)).max()


wrong = 0
for f in (elementwise, reductions, norms, scans, sorts, histograms, atomic_operations, random_numbers, f16_product, f16_wide_product,
          bf16_product, f8_product, tf32_product, s8_product, full_attention, causal_attention, descriptors, described_product):
    if len(sys.argv) > 1 and f.__name__ not in sys.argv[1:]:
        continue
    try:
        error = float(f())
        good = error <= 2e-3
        print(f"{'ok' if good else 'WRONG'}: {f.__name__}: {error:.2g}")
    except triton.compiler.errors.CompilationError as e:
        good = True
        print(f"not for this device: {f.__name__}: {str(e).strip().splitlines()[-1]}")
    except Exception as e:  # pylint: disable=broad-except
        good = False
        print(f"FAILED: {f.__name__}: {type(e).__name__}: {str(e)[:600]}")
    wrong += not good
print("PASS" if not wrong else f"FAIL: {wrong}")
sys.exit(wrong != 0)
