"""
Gluon, Triton's language below Triton: layouts, shared memory, copies in stages, products of tensor cores, and from compute capability
9.0 on copies through tensor maps with barriers, groups of warps with tasks of their own, and products of warp groups (9.0 alone).

Prints a line per kernel, and PASS when all are right.
"""
import numpy as np
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2
from triton.experimental.gluon.language.nvidia.hopper import (fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_init,
                                                              warpgroup_mma_wait)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
from triton_array import Array, call, cu

random = np.random.default_rng(4)
LINE = gl.BlockedLayout([1], [32], [4], [0])
TILE = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


@gluon.jit
def turn(x, out, M: gl.constexpr, N: gl.constexpr, L: gl.constexpr):
    R: gl.constexpr = gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])
    m, n = gl.arange(0, M, gl.SliceLayout(1, L)), gl.arange(0, N, gl.SliceLayout(0, L))
    room = gl.allocate_shared_memory(gl.float32, [M, N], gl.SwizzledSharedLayout(4, 1, 8, [1, 0]), gl.load(x + m[:, None] * N + n[None, :]))
    i, j = gl.arange(0, N, gl.SliceLayout(1, R)), gl.arange(0, M, gl.SliceLayout(0, R))
    gl.store(out + i[:, None] * M + j[None, :], room.permute([1, 0]).load(R))


@gluon.jit
def staged(x, y, out, n, BLOCK: gl.constexpr, STAGES: gl.constexpr, L: gl.constexpr):
    flat: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    a = gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK], flat)
    b = gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK], flat)
    i = gl.arange(0, BLOCK, L)
    for k in gl.static_range(STAGES - 1):
        async_copy.async_load(a.index(k), x + k * BLOCK + i, mask=k * BLOCK + i < n)
        async_copy.async_load(b.index(k), y + k * BLOCK + i, mask=k * BLOCK + i < n)
        async_copy.commit_group()
    for k in range(gl.cdiv(n, BLOCK)):
        ahead = k + STAGES - 1
        async_copy.async_load(a.index(ahead % STAGES), x + ahead * BLOCK + i, mask=ahead * BLOCK + i < n)
        async_copy.async_load(b.index(ahead % STAGES), y + ahead * BLOCK + i, mask=ahead * BLOCK + i < n)
        async_copy.commit_group()
        async_copy.wait_group(STAGES - 1)
        gl.store(out + k * BLOCK + i, a.index(k % STAGES).load(L) * b.index(k % STAGES).load(L), mask=k * BLOCK + i < n)
        gl.barrier()


@gluon.jit
def product(a, b, out, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, L: gl.constexpr):
    D: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    S: gl.constexpr = gl.SwizzledSharedLayout(8, 1, 8, [1, 0])
    m, k = gl.arange(0, M, gl.SliceLayout(1, L)), gl.arange(0, K, gl.SliceLayout(0, L))
    down, n = gl.arange(0, K, gl.SliceLayout(1, L)), gl.arange(0, N, gl.SliceLayout(0, L))
    x = gl.allocate_shared_memory(gl.float16, [M, K], S, gl.load(a + m[:, None] * K + k[None, :]))
    y = gl.allocate_shared_memory(gl.float16, [K, N], S, gl.load(b + down[:, None] * N + n[None, :]))
    sum = mma_v2(x.load(gl.DotOperandLayout(0, D, 2)), y.load(gl.DotOperandLayout(1, D, 2)), gl.zeros([M, N], gl.float32, D))
    gl.store(out + m[:, None] * N + n[None, :], gl.convert_layout(sum, L))


@gluon.jit
def spread(x, where, out, counts, N: gl.constexpr, BINS: gl.constexpr, L: gl.constexpr):
    flat: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    i = gl.arange(0, N, L)
    at = gl.load(where + i)
    gl.store(out + i, gl.allocate_shared_memory(gl.float32, [N], flat, gl.load(x + i)).gather(at, 0))
    bins = gl.allocate_shared_memory(gl.int32, [BINS], flat, gl.zeros([BINS], gl.int32, L))
    gl.barrier()
    bins.atomic_scatter_add(gl.full([N], 1, gl.int32, L), at % BINS, 0)
    gl.barrier()
    gl.store(counts + gl.arange(0, BINS, L), bins.load(L))


@gluon.jit
def doubled(x, out, M: gl.constexpr, N: gl.constexpr, L: gl.constexpr):
    room = gl.allocate_shared_memory(x.dtype, x.block_shape, x.layout)
    there = mbarrier.allocate_mbarrier()
    mbarrier.init(there, count=1)
    i, j = gl.program_id(0) * M, gl.program_id(1) * N
    mbarrier.expect(there, x.nbytes_per_cta)
    tma.async_load(x, [i, j], there, room)
    mbarrier.wait(there, 0)
    mbarrier.invalidate(there)
    room.store(room.load(L) * 2)
    fence_async_shared()
    tma.async_store(out, [i, j], room)
    tma.store_wait(0)


@gluon.jit
def added(out, x, M: gl.constexpr, N: gl.constexpr, L: gl.constexpr):
    m, n = gl.arange(0, M, gl.SliceLayout(1, L)), gl.arange(0, N, gl.SliceLayout(0, L))
    v = gl.load(x + gl.program_id(0) * M * N + m[:, None] * N + n[None, :])
    room = gl.allocate_shared_memory(out.dtype, out.block_shape, out.layout, v)
    fence_async_shared()
    tma.async_atomic_add(out, [0, 0], room)
    tma.store_wait(0)


@gluon.jit
def loads(x, room, full, empty, steps, STAGES: gl.constexpr):
    for k in range(steps):
        mbarrier.wait(empty.index(k % STAGES), ((k // STAGES) & 1) ^ 1)
        mbarrier.expect(full.index(k % STAGES), x.nbytes_per_cta)
        tma.async_load(x, [k * x.block_shape[0], 0], full.index(k % STAGES), room.index(k % STAGES))


@gluon.jit
def sums(out, room, full, empty, steps, STAGES: gl.constexpr, L: gl.constexpr):
    sum = gl.zeros([room.shape[1], room.shape[2]], gl.float32, L)
    for k in range(steps):
        mbarrier.wait(full.index(k % STAGES), (k // STAGES) & 1)
        sum += room.index(k % STAGES).load(L)
        mbarrier.arrive(empty.index(k % STAGES), count=1)
    gl.store(out + gl.arange(0, room.shape[1], gl.SliceLayout(1, L)), gl.sum(sum, 1))


@gluon.jit
def two_tasks(x, out, steps, STAGES: gl.constexpr, L: gl.constexpr):
    room = gl.allocate_shared_memory(x.dtype, [STAGES] + x.block_shape, x.layout)
    full, empty = mbarrier.allocate_mbarrier(batch=STAGES), mbarrier.allocate_mbarrier(batch=STAGES)
    for s in gl.static_range(STAGES):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    gl.warp_specialize([(sums, (out, room, full, empty, steps, STAGES, L)), (loads, (x, room, full, empty, steps, STAGES))], [1], [24])


@gluon.jit
def group_product(a, b, out, K, STAGES: gl.constexpr, DEEP: gl.constexpr):
    BK: gl.constexpr = a.block_shape[1]
    D: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, b.block_shape[1], DEEP])
    x = gl.allocate_shared_memory(a.dtype, [STAGES] + a.block_shape, a.layout)
    y = gl.allocate_shared_memory(b.dtype, [STAGES] + b.block_shape, b.layout)
    there = mbarrier.allocate_mbarrier(batch=STAGES)
    for s in gl.static_range(STAGES):
        mbarrier.init(there.index(s), count=1)
    i, j, steps = gl.program_id(0) * a.block_shape[0], gl.program_id(1) * b.block_shape[1], gl.cdiv(K, BK)
    sum = warpgroup_mma_init(gl.zeros(out.block_shape, gl.float32, D))
    for k in range(1 - STAGES, steps):
        ahead = k + STAGES - 1
        if k >= 0:
            mbarrier.wait(there.index(k % STAGES), (k // STAGES) & 1)
            sum = warpgroup_mma(x.index(k % STAGES), y.index(k % STAGES), sum, is_async=True)
            sum = warpgroup_mma_init(warpgroup_mma_wait(0, deps=(sum, )))
        mbarrier.expect(there.index(ahead % STAGES), a.nbytes_per_cta + b.nbytes_per_cta, pred=ahead < steps)
        tma.async_load(a, [i, ahead * BK], there.index(ahead % STAGES), x.index(ahead % STAGES), pred=ahead < steps)
        tma.async_load(b, [ahead * BK, j], there.index(ahead % STAGES), y.index(ahead % STAGES), pred=ahead < steps)
    room = gl.allocate_shared_memory(out.dtype, out.block_shape, out.layout, warpgroup_mma_wait(0, deps=(sum, )))
    fence_async_shared()
    tma.async_store(out, [i, j], room)
    tma.store_wait(0)


def described(array, block, dtype):
    shape = list(array.shape)
    return TensorDescriptor(array, shape, [shape[1], 1], block, gl.NVMMASharedLayout.get_default_for(block, dtype))


def check(name, got, want, tolerance):
    worst = np.max(np.abs(got.astype(np.float64) - want) / (1 + np.abs(want)))
    print(f"{name}: {worst:.1e}")
    assert worst <= tolerance, name


def any_device():
    x = normal(64, 32)
    out = Array(np.zeros((32, 64), np.float32))
    turn[(1, )](Array(x), out, 64, 32, TILE)
    check("a transpose", out.get(), x.T, 0)
    x, y = normal(1000), normal(1000)
    out = Array(0 * x)
    staged[(1, )](Array(x), Array(y), out, 1000, 128, 3, LINE)
    check("copies in stages", out.get(), x * y, 0)
    a, b = normal(64, 64).astype(np.float16), normal(64, 32).astype(np.float16)
    out = Array(np.zeros((64, 32), np.float32))
    product[(1, )](Array(a), Array(b), out, 64, 32, 64, TILE)
    check("a product", out.get(), a.astype(np.float64) @ b, 1e-4)
    x, at = normal(512), random.permutation(512).astype(np.int32)
    out, counts = Array(0 * x), Array(np.zeros(128, np.int32))
    spread[(1, )](Array(x), Array(at), out, counts, 512, 128, LINE)
    check("a gather", out.get(), x[at], 0)
    check("a scatter that adds", counts.get(), np.bincount(at % 128, minlength=128), 0)


def by_tensor_maps():
    for dtype, name in (np.float32, gl.float32), (np.float16, gl.float16):
        x = normal(100, 136).astype(dtype)
        out = Array(0 * x)
        doubled[(4, 3)](described(Array(x), [32, 64], name), described(out, [32, 64], name), 32, 64, TILE)
        check(f"copies of {name} through maps", out.get(), 2 * x, 0)
    x = np.round(normal(6, 32, 64) * 16)
    out = Array(np.zeros((32, 64), np.float32))
    added[(6, )](described(out, [32, 64], gl.float32), Array(x), 32, 64, TILE)
    check("sums through maps", out.get(), x.sum(0), 0)
    x = normal(144, 64)
    out = Array(np.zeros(16, np.float32))
    two_tasks[(1, )](described(Array(x), [16, 64], gl.float32), out, 9, 3, TILE)
    check("warps with tasks of their own", out.get(), x.reshape(9, 16, 64).sum((0, 2)), 1e-5)


def by_warp_groups():
    a, b = normal(128, 160).astype(np.float16), normal(160, 128).astype(np.float16)
    out = Array(np.zeros((128, 128), np.float32))
    group_product[(2, 2)](described(Array(a), [64, 32], gl.float16), described(Array(b), [32, 64], gl.float16),
                          described(out, [64, 64], gl.float32), 160, 3, 16)
    check("a product of warp groups", out.get(), a.astype(np.float64) @ b, 1e-4)


major = call(cu.cuDeviceGetAttribute(cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0))
any_device()
if major >= 9:
    by_tensor_maps()
if major == 9:
    by_warp_groups()
print("PASS")
