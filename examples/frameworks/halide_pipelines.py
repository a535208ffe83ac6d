"""Halide's CUDA target, compiled at run time: a blur in two stages, a product, functions, a histogram by atomics; out of memory."""
import ctypes
import sys

import halide as hl
import numpy as np

target = hl.Target("host-cuda")
x, y, xo, yo, xi, yi = hl.vars("x y xo yo xi yi")
random = np.random.default_rng(4)
picture = random.random((64, 96), dtype=np.float32)


def computed(function, *sizes):
    got = function.realize(list(sizes), target)
    got.copy_to_host()
    return np.asarray(got)


def blurred(values):
    wide = np.pad(values, 1, mode="edge")
    rows = (wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]) / 3
    return (rows[:-2] + rows[1:-1] + rows[2:]) / 3


rows, blur = hl.Func("rows"), hl.Func("blur")
edges = hl.BoundaryConditions.repeat_edge(hl.Buffer(picture))
rows[x, y] = (edges[x - 1, y] + edges[x, y] + edges[x + 1, y]) / 3
blur[x, y] = (rows[x, y - 1] + rows[x, y] + rows[x, y + 1]) / 3
blur.gpu_tile(x, y, xo, yo, xi, yi, 16, 16)
rows.compute_at(blur, xo).gpu_threads(x, y)  # in shared memory
np.testing.assert_allclose(computed(blur, 96, 64), blurred(picture), rtol=1e-5)

a, b = random.random((64, 64), dtype=np.float32), random.random((64, 64), dtype=np.float32)
k, product = hl.RDom([(0, 64)]), hl.Func("product")
left, right = hl.Buffer(a), hl.Buffer(b)
product[x, y] = hl.f32(0)
product[x, y] += left[k, y] * right[x, k]
product.compute_root().gpu_tile(x, y, xo, yo, xi, yi, 8, 8)
product.update(0).gpu_tile(x, y, xo, yo, xi, yi, 8, 8)
np.testing.assert_allclose(computed(product, 64, 64), a @ b, rtol=1e-5)

curve, points = hl.Func("curve"), np.arange(1000, dtype=np.float32)
curve[x] = hl.sin(hl.f32(x)) * hl.exp(-hl.f32(x) / 100) + hl.pow(hl.f32(x), 1.5)
curve.gpu_tile(x, xo, xi, 32)
wanted = np.sin(points) * np.exp(-points / 100) + points ** 1.5
np.testing.assert_allclose(computed(curve, 1000), wanted, rtol=1e-4, atol=1e-4)

source, bins, area = hl.Buffer(picture), hl.Func("bins"), hl.RDom([(0, 96), (0, 64)])
bins[x] = hl.i32(0)
bins[hl.clamp(hl.i32(source[area.x, area.y] * 16), 0, 15)] += 1
bins.compute_root().gpu_tile(x, xo, xi, 16)
bins.update(0).atomic().gpu_tile(area.x, area.y, *(hl.RVar(name) for name in ("ox", "oy", "ix", "iy")), 8, 8)
np.testing.assert_array_equal(computed(bins, 16), np.bincount((picture * 16).astype(int).ravel(), minlength=16))

cuda, total = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t()
assert not cuda.cuInit(0) and not cuda.cuDeviceTotalMem_v2(ctypes.byref(total), 0)
if total.value < 2 << 30:  # a larger one would be filled piece by piece, which takes long
    huge = hl.Func("huge")
    huge[x, y] = hl.f64(x + y)
    huge.gpu_tile(x, y, xo, yo, xi, yi, 16, 16)
    try:
        huge.realize([1 << 14, 16000], target)
        sys.exit("more than there is was given")
    except hl.HalideError as error:
        assert "OUT_OF_MEMORY" in str(error), error
np.testing.assert_allclose(computed(curve, 1000), wanted, rtol=1e-4, atol=1e-4)
print("PASS")
