"""
Dr.Jit on its CUDA back end, which writes PTX itself: arithmetic, loops, branches, reductions, gathers, scatters, derivatives,
calls through a table, random numbers, textures; compared with numpy. Out of memory is Dr.Jit's own exception.
"""
import sys

import drjit as dr
import numpy as np
from drjit.cuda import PCG32, Float, Float16, Float64, TensorXf, Texture2f, UInt32
from drjit.cuda.ad import Float as Derived

n = 10000
x = dr.arange(Float, n) / n
host = np.arange(n, dtype=np.float32) / np.float32(n)


def same(what, got, want, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got, dtype=np.float64), np.asarray(want, dtype=np.float64), rtol=tolerance, atol=tolerance,
                               err_msg=what)


@dr.syntax
def steps(v):
    i, y = UInt32(0), Float(v)
    while i < 20:
        y = y * 0.5 + dr.sqrt(y + 1)
        i += 1
    return y


@dr.syntax
def halves(v):
    y = Float(0)
    if v > 0.5:
        y = dr.sin(v)
    else:
        y = v * v
    return y


def walked(v):
    for _ in range(20):
        v = v * np.float32(0.5) + np.sqrt(v + 1)
    return v


same("arithmetic", dr.sin(x) * x + dr.exp(-x), np.sin(host) * host + np.exp(-host))
same("64 bits", dr.log(Float64(x) + 1), np.log(host.astype(np.float64) + 1), 1e-7)
same("16 bits", Float16(x) * Float16(x), host.astype(np.float16) ** 2, 1e-2)
same("a loop", steps(x), walked(host))
same("branches", halves(x), np.where(host > 0.5, np.sin(host), host * host))
same("a sum", dr.sum(x), [host.sum(dtype=np.float64)], 1e-4)
same("sums so far", dr.cumsum(x), np.cumsum(host.astype(np.float64)), 1e-3)
same("the largest", dr.max(x), [host.max()])
places = (dr.arange(UInt32, n) * 7919) % n
same("a gather", dr.gather(Float, x, places), host[(np.arange(n) * 7919) % n])
bins = dr.zeros(Float, 16)
dr.scatter_add(bins, Float(1), dr.arange(UInt32, n) % 16)
same("a scatter", bins, np.full(16, n / 16))
same("what is above 0.9", dr.compress(x > 0.9), np.nonzero(host > np.float32(0.9))[0])
called = dr.switch(dr.arange(UInt32, n) % 3, [lambda v: v + 1, lambda v: v * 2, dr.sqrt], x)
same("calls through a table", called, np.choose(np.arange(n) % 3, [host + 1, host * 2, np.sqrt(host)]))
learned = Derived(x)
dr.enable_grad(learned)
dr.backward(dr.sum(dr.sin(learned) * learned))
same("derivatives", dr.grad(learned), np.cos(host) * host + np.sin(host))
pixels = np.random.default_rng(2).random((30, 40), dtype=np.float32)
same("a tensor", dr.sum(TensorXf(pixels), axis=1).numpy(), pixels.sum(1), 1e-4)
at = Texture2f(TensorXf(pixels[:, :, None])).eval([(Float(7) + 0.5) / 40, (Float(11) + 0.5) / 30])
same("a texture", at[0], pixels[11, 7], 1e-3)
assert abs(np.mean(PCG32(size=2000).next_float32().numpy()) - 0.5) < 0.05
try:
    many = [dr.arange(Float64, 1 << 31) + 1 for _ in range(4)]
    dr.eval(many)
    sys.exit("more than there is was given")
except (RuntimeError, MemoryError):
    del many
same("after running out of memory", dr.sum(x), [host.sum(dtype=np.float64)], 1e-4)
print("PASS")
