"""
The kernels that Triton's tutorials teach, written anew and without torch, each against NumPy: vector addition, a softmax of one pass
with a loop over rows, a product of matrices in groups of blocks with an activation, dropout from a seed, layer norm forward and
backward with a lock, attention in stages, functions of libdevice, several products in one launch by pointers and by descriptors that
the kernel makes, a product whose blocks stay.

Prints a line per kernel, and PASS when all are right.
"""
import sys

import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton_array import Array

random = np.random.default_rng(7)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def half(*shape):
    return normal(*shape).astype(np.float16)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def softmax(out, x, step, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        i = tl.arange(0, BLOCK)
        v = tl.load(x + row * step + i, mask=i < columns, other=-float("inf"))
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(out + row * columns + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def product(a, b, c, M, N, K, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
            ACTIVATION: tl.constexpr):
    """Blocks in groups of rows, so that a group finds what it reads in a cache."""
    pid = tl.program_id(axis=0)
    across = tl.cdiv(N, BN)
    group = pid // (GROUP * across)
    first = group * GROUP
    height = min(tl.cdiv(M, BM) - first, GROUP)
    pm = first + (pid % (GROUP * across)) % height
    pn = (pid % (GROUP * across)) // height
    tl.assume(pm >= 0)
    m = (pm * BM + tl.arange(0, BM)) % M
    n = (pn * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    pa = a + (m[:, None] * am + k[None, :] * ak)
    pb = b + (k[:, None] * bk + n[None, :] * bn)
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=k[None, :] < K - step * BK, other=0.0)
        y = tl.load(pb, mask=k[:, None] < K - step * BK, other=0.0)
        sum = tl.dot(x, y, sum)
        pa += BK * ak
        pb += BK * bk
    if ACTIVATION:
        sum = leaky(sum)
    i, j = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    tl.store(c + cm * i[:, None] + cn * j[None, :], sum.to(tl.float16), mask=(i[:, None] < M) & (j[None, :] < N))


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, i) > p
    tl.store(out + i, tl.where(kept, tl.load(x + i, mask=i < n) / (1 - p), 0.0), mask=i < n)


@triton.jit
def norm_forward(x, y, w, b, means, scales, step, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    sums = tl.zeros([BLOCK], dtype=tl.float32)
    for from_ in range(0, N, BLOCK):
        i = from_ + tl.arange(0, BLOCK)
        sums += tl.load(x + row * step + i, mask=i < N, other=0.).to(tl.float32)
    mean = tl.sum(sums, axis=0) / N
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for from_ in range(0, N, BLOCK):
        i = from_ + tl.arange(0, BLOCK)
        d = tl.where(i < N, tl.load(x + row * step + i, mask=i < N, other=0.).to(tl.float32) - mean, 0.)
        squares += d * d
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    for from_ in range(0, N, BLOCK):
        i = from_ + tl.arange(0, BLOCK)
        v = (tl.load(x + row * step + i, mask=i < N, other=0.).to(tl.float32) - mean) * scale
        tl.store(y + row * step + i, v * tl.load(w + i, mask=i < N) + tl.load(b + i, mask=i < N), mask=i < N)


@triton.jit
def norm_backward(dx, dy, dw, db, x, w, means, scales, locks, step, N, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of one group add up what they know of w and b under a lock; the first one finds nothing there."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < N
    group = row % GROUPS
    lock, count = locks + group, locks + GROUPS + group
    mean, scale = tl.load(means + row), tl.load(scales + row)
    v = tl.load(x + row * step + i, mask=inside, other=0).to(tl.float32)
    g = tl.load(dy + row * step + i, mask=inside, other=0).to(tl.float32)
    k = tl.load(w + i, mask=inside).to(tl.float32)
    u = tl.where(inside, (v - mean) * scale, 0.)
    gw = tl.where(inside, k * g, 0.)
    c1 = tl.sum(u * gw, axis=0) / N
    c2 = tl.sum(gw, axis=0) / N
    tl.store(dx + row * step + i, (gw - (u * c1 + c2)) * scale, mask=inside)
    part_w, part_b = g * u, g
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part_w += tl.load(dw + group * N + i, mask=inside)
        part_b += tl.load(db + group * N + i, mask=inside)
    tl.store(dw + group * N + i, part_w, mask=inside)
    tl.store(db + group * N + i, part_b, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def norm_sum(part, out, rows, N, BM: tl.constexpr, BN: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, rows, BM):
        m = i + tl.arange(0, BM)
        sums += tl.load(part + m[:, None] * N + n[None, :], mask=(m[:, None] < rows) & (n[None, :] < N), other=0.)
    tl.store(out + n, tl.sum(sums, axis=0), mask=n < N)


@triton.jit
def attention_part(acc, norm, top, q, k, v, first, last, m, N, scale, D: tl.constexpr, BN: tl.constexpr, MASKED: tl.constexpr):
    for n0 in tl.range(first, last, BN):
        n = n0 + tl.arange(0, BN)
        d = tl.arange(0, D)
        s = tl.dot(q, tl.load(k + n[None, :] * D + d[:, None]))
        if MASKED:
            s = s * scale + tl.where(m[:, None] >= n[None, :], 0, -1.0e6)
            new = tl.maximum(top, tl.max(s, 1))
            s -= new[:, None]
        else:
            new = tl.maximum(top, tl.max(s, 1) * scale)
            s = s * scale - new[:, None]
        p = tl.math.exp2(s)
        old = tl.math.exp2(top - new)
        acc = acc * old[:, None]
        acc = tl.dot(p.to(tl.float16), tl.load(v + n[:, None] * D + d[None, :]), acc)
        norm = norm * old + tl.sum(p, 1)
        top = new
    return acc, norm, top


@triton.jit
def attention(q, k, v, out, logs, N, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    """What lies before a block of queries first, without a mask, then the block on the diagonal."""
    block, head = tl.program_id(0), tl.program_id(1)
    m = block * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q += head * N * D
    k += head * N * D
    v += head * N * D
    x = tl.load(q + m[:, None] * D + d[None, :])
    top = tl.zeros([BM], dtype=tl.float32) - float("inf")
    norm = tl.zeros([BM], dtype=tl.float32) + 1.0
    norm -= 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    scale *= 1.44269504
    if CAUSAL:
        acc, norm, top = attention_part(acc, norm, top, x, k, v, 0, block * BM, m, N, scale, D, BN, False)
        acc, norm, top = attention_part(acc, norm, top, x, k, v, block * BM, (block + 1) * BM, m, N, scale, D, BN, True)
    else:
        acc, norm, top = attention_part(acc, norm, top, x, k, v, 0, N, m, N, scale, D, BN, False)
    tl.store(logs + head * N + m, top + tl.math.log2(norm))
    tl.store(out + head * N * D + m[:, None] * D + d[None, :], (acc / norm[:, None]).to(tl.float16))


@triton.jit
def arcsine(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, libdevice.asin(tl.load(x + i, mask=i < n)), mask=i < n)


@triton.jit
def grouped(pa, pb, pc, sizes, count, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Several products; each program takes every PROGRAMS-th block of all of them."""
    tile = tl.program_id(0)
    end = 0
    for g in range(count):
        M, N, K = tl.load(sizes + g * 3), tl.load(sizes + g * 3 + 1), tl.load(sizes + g * 3 + 2)
        across = tl.cdiv(N, BN)
        tiles = tl.cdiv(M, BM) * across
        while tile >= end and tile < end + tiles:
            a = tl.load(pa + g).to(tl.pointer_type(tl.float16))
            b = tl.load(pb + g).to(tl.pointer_type(tl.float16))
            c = tl.load(pc + g).to(tl.pointer_type(tl.float16))
            in_product = tile - end
            m = in_product // across * BM + tl.arange(0, BM)
            n = in_product % across * BN + tl.arange(0, BN)
            k = tl.arange(0, BK)
            sum = tl.zeros((BM, BN), dtype=tl.float32)
            for step in range(0, tl.cdiv(K, BK)):
                x = tl.load(a + m[:, None] * K + (step * BK + k)[None, :])
                y = tl.load(b + (step * BK + k)[:, None] * N + n[None, :])
                sum += tl.dot(x, y)
            tl.store(c + m[:, None] * N + n[None, :], sum.to(tl.float16))
            tile += PROGRAMS
        end = end + tiles


@triton.jit
def grouped_described(pa, pb, pc, sizes, count, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The same by descriptors that the kernel makes for each product; B is given with its columns as rows."""
    tile = tl.program_id(0)
    end = 0
    for g in range(count):
        M, N, K = tl.load(sizes + g * 3), tl.load(sizes + g * 3 + 1), tl.load(sizes + g * 3 + 2)
        across = tl.cdiv(N, BN)
        tiles = tl.cdiv(M, BM) * across
        if tile >= end and tile < end + tiles:
            a = tl.make_tensor_descriptor(tl.load(pa + g).to(tl.pointer_type(tl.float16)), shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
            b = tl.make_tensor_descriptor(tl.load(pb + g).to(tl.pointer_type(tl.float16)), shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
            c = tl.make_tensor_descriptor(tl.load(pc + g).to(tl.pointer_type(tl.float16)), shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
            while tile >= end and tile < end + tiles:
                in_product = tile - end
                m, n = in_product // across * BM, in_product % across * BN
                sum = tl.zeros((BM, BN), dtype=tl.float32)
                for step in range(0, tl.cdiv(K, BK)):
                    sum += tl.dot(a.load([m, step * BK]), b.load([n, step * BK]).T)
                c.store([m, n], sum.to(tl.float16))
                tile += PROGRAMS
        end = end + tiles


@triton.jit
def staying(a, b, c, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A product whose programs stay for several blocks, in a loop that the compiler may flatten."""
    across = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * across, PROGRAMS, flatten=True):
        m = tile // across * BM + tl.arange(0, BM)
        n = tile % across * BN + tl.arange(0, BN)
        sum = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(tl.cdiv(K, BK)):
            k = step * BK + tl.arange(0, BK)
            x = tl.load(a + m[:, None] * K + k[None, :])
            y = tl.load(b + k[:, None] * N + n[None, :])
            sum = tl.dot(x, y, sum)
        tl.store(c + m[:, None] * N + n[None, :], sum.to(tl.float16))


def error(got, want):
    return float(np.abs(got.astype(np.float64) - want).max() / max(1, np.abs(want).max()))


def vector_addition():
    x, y = normal(98432), normal(98432)
    out = Array(np.zeros_like(x))
    add[lambda meta: (triton.cdiv(98432, meta["BLOCK"]),)](Array(x), Array(y), out, 98432, BLOCK=1024)
    return error(out.get(), x + y)


def softmax_rows():
    x = normal(37, 781)
    out = Array(np.zeros_like(x))
    softmax[(8,)](out, Array(x), 781, 37, 781, BLOCK=1024, STAGES=2, num_warps=8)
    e = np.exp(x - x.max(1, keepdims=True))
    return error(out.get(), e / e.sum(1, keepdims=True))


def run_product(activation, turned=False):
    m, n, k = 150, 130, 96
    a, b = half(m, k), half(k, n)
    c = Array(np.zeros((m, n), np.float16))
    blocks = triton.cdiv(m, 64) * triton.cdiv(n, 32)
    given = Array(b.T) if turned else Array(b)
    product[(blocks,)](Array(a), given, c, m, n, k, k, 1, *((1, k) if turned else (n, 1)), n, 1, BM=64, BN=32, BK=32, GROUP=2,
                       ACTIVATION=activation, num_stages=3)
    want = a.astype(np.float64) @ b.astype(np.float64)
    return error(c.get(), np.where(want >= 0, want, 0.01 * want) if activation else want) / 4


def matrix_product():
    return run_product(False)


def turned_product():
    return run_product(False, True)


def product_with_activation():
    return run_product(True)


def seeded_dropout():
    x = normal(10240)
    first, again, other = (Array(np.zeros_like(x)) for _ in range(3))
    for out, seed in ((first, 123), (again, 123), (other, 512)):
        dropout[(10,)](Array(x), out, 10240, 0.5, seed, BLOCK=1024)
    a, b, c = first.get(), again.get(), other.get()
    kept = a != 0
    return max(error(a[kept], 2 * x[kept]), float((a != b).sum()), float((a == c).all()), abs(kept.mean() - 0.5) - 0.03)


def layer_norm_both_ways():
    rows, n, groups = 23, 300, 4
    x, w, b, g = normal(rows, n), normal(n), normal(n), normal(rows, n)
    y, dx = Array(np.zeros_like(x)), Array(np.zeros_like(x))
    means, scales = Array(np.zeros(rows, np.float32)), Array(np.zeros(rows, np.float32))
    norm_forward[(rows,)](Array(x), y, Array(w), Array(b), means, scales, n, n, 1e-5, BLOCK=128)
    part_w, part_b = Array(np.zeros((groups, n), np.float32)), Array(np.zeros((groups, n), np.float32))
    norm_backward[(rows,)](dx, Array(g), part_w, part_b, Array(x), Array(w), means, scales, Array(np.zeros(2 * groups, np.int32)), n, n,
                           GROUPS=groups, BLOCK=512, num_warps=4)
    dw, db = Array(np.zeros(n, np.float32)), Array(np.zeros(n, np.float32))
    for part, out in ((part_w, dw), (part_b, db)):
        norm_sum[(triton.cdiv(n, 128),)](part, out, groups, n, BM=32, BN=128)
    scale = 1 / np.sqrt(x.astype(np.float64).var(1, keepdims=True) + 1e-5)
    u = (x - x.astype(np.float64).mean(1, keepdims=True)) * scale
    gw = g * w
    want = (gw - u * (u * gw).mean(1, keepdims=True) - gw.mean(1, keepdims=True)) * scale
    return max(error(y.get(), u * w + b), error(dx.get(), want), error(dw.get(), (g * u).sum(0)), error(db.get(), g.sum(0)))


def run_attention(causal):
    heads, n, d = 2, 128, 64
    q, k, v = half(heads, n, d), half(heads, n, d), half(heads, n, d)
    out, logs = Array(np.zeros_like(q)), Array(np.zeros((heads, n), np.float32))
    attention[(n // 64, heads)](Array(q), Array(k), Array(v), out, logs, n, d ** -0.5, D=d, BM=64, BN=32, CAUSAL=causal, num_stages=2)
    s = np.einsum("hmd,hnd->hmn", q.astype(np.float64), k.astype(np.float64)) * d ** -0.5
    if causal:
        s[:, np.triu(np.ones((n, n), bool), 1)] = -np.inf
    top = s.max(2, keepdims=True)
    p = np.exp(s - top)
    want = p / p.sum(2, keepdims=True) @ v.astype(np.float64)
    return max(error(out.get(), want), error(logs.get(), ((top + np.log(p.sum(2, keepdims=True))) * 1.44269504)[:, :, 0])) / 4


def attention_of_all():
    return run_attention(False)


def attention_causal():
    return run_attention(True)


def arcsines():
    x = random.uniform(-1, 1, 98432).astype(np.float32)
    y = Array(np.zeros_like(x))
    arcsine[(triton.cdiv(98432, 1024),)](Array(x), y, 98432, BLOCK=1024)
    return error(y.get(), np.arcsin(x.astype(np.float64)))


def allocator(size, align, stream):
    return Array(np.zeros(size + align, np.int8))


def run_grouped(kernel, turned):
    sizes = np.array([[128, 64, 64], [64, 128, 32], [64, 64, 96]], np.int32)
    a, b = [half(m, k) for m, n, k in sizes], [half(k, n) for m, n, k in sizes]
    c = [Array(np.zeros((m, n), np.float16)) for m, n, k in sizes]
    inputs = [Array(x) for x in a], [Array(x.T if turned else x) for x in b]
    addresses = [Array(np.array([x.address for x in group], np.int64)) for group in (*inputs, c)]
    triton.set_allocator(allocator)
    kernel[(3,)](*addresses, Array(sizes), 3, PROGRAMS=3, BM=64, BN=32, BK=32)
    return max(error(out.get(), x.astype(np.float64) @ y.astype(np.float64)) for out, x, y in zip(c, a, b)) / 4


def grouped_products():
    return run_grouped(grouped, False)


def grouped_products_described():
    return run_grouped(grouped_described, True)


def staying_product():
    a, b = half(128, 64), half(64, 96)
    c = Array(np.zeros((128, 96), np.float16))
    staying[(5,)](Array(a), Array(b), c, 128, 96, 64, PROGRAMS=5, BM=32, BN=32, BK=32, num_stages=3)
    return error(c.get(), a.astype(np.float64) @ b.astype(np.float64)) / 4


failed = 0
for check in (vector_addition, softmax_rows, matrix_product, turned_product, product_with_activation, seeded_dropout, layer_norm_both_ways,
              attention_of_all, attention_causal, arcsines, grouped_products, grouped_products_described, staying_product):
    try:
        off = check()
        good = off <= 1e-3
        print(f"{check.__name__:28s} off by {off:.2e}{'' if good else ' WRONG'}")
        failed += not good
    except triton.CompilationError as e:
        print(f"{check.__name__:28s} not compiled: {str(e).splitlines()[-1]}")
        failed += 1
print("FAIL" if failed else "PASS")
sys.exit(1 if failed else 0)
