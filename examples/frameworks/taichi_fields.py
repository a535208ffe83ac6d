"""Taichi on CUDA: fields, a reduction, and a two-dimensional kernel."""
import numpy as np
import taichi as ti

ti.init(arch=ti.cuda, log_level=ti.ERROR)
assert ti.cfg.arch == ti.cuda
x = ti.field(ti.f32, 1000)
grid = ti.field(ti.f32, (32, 16))


@ti.kernel
def fill():
    for i in x:
        x[i] = ti.sqrt(i * 1.0)
    for i, j in grid:
        grid[i, j] = i * 100 + j


@ti.kernel
def total() -> ti.f32:
    s = 0.0
    for i in x:
        s += x[i]
    return s


fill()
np.testing.assert_allclose(x.to_numpy(), np.sqrt(np.arange(1000)), rtol=1e-6)
np.testing.assert_array_equal(grid.to_numpy(), np.arange(32)[:, None] * 100 + np.arange(16)[None, :])
np.testing.assert_allclose(total(), np.sqrt(np.arange(1000)).sum(), rtol=1e-4)
print("PASS")
