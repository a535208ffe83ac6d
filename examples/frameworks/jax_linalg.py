"""JAX: Fourier transforms (cuFFT) and linear algebra (cuSOLVER), on the device and on the processor."""
import jax
import jax.numpy as jnp
import numpy as np

random = np.random.default_rng(1)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def positive(*shape):
    a = normal(*shape)
    return a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1], dtype=np.float32)


def svd_product(a):
    u, s, v = jnp.linalg.svd(a, full_matrices=False)
    return (u * s) @ v


COMPLEX = (normal(8, 60) + 1j * normal(8, 60)).astype(np.complex64)
# What it is, the arguments, and how much of the largest value may differ: products are of tf32 there.
FUNCTIONS = {
    "fft, ifft": (lambda x: (jnp.fft.fft(x), jnp.fft.ifft(x)), [COMPLEX], 1e-5),
    "rfft, irfft": (lambda x: (jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x))), [normal(8, 64)], 1e-5),
    "fft2, rfft2": (lambda x: (jnp.fft.fft2(x), jnp.fft.rfft2(x.real)), [COMPLEX], 1e-5),
    "fftn": (jnp.fft.fftn, [(normal(4, 6, 10) + 1j * normal(4, 6, 10)).astype(np.complex64)], 1e-5),
    "gradient through an fft": (jax.grad(lambda x: (jnp.abs(jnp.fft.fft(x)) ** 2).sum()), [normal(32)], 1e-4),
    "cholesky": (jnp.linalg.cholesky, [positive(12, 12)], 1e-4),
    "cholesky, batched": (jnp.linalg.cholesky, [positive(5, 8, 8)], 1e-4),
    "solve": (jnp.linalg.solve, [positive(12, 12), normal(12, 3)], 1e-2),
    "inverse": (jnp.linalg.inv, [positive(9, 9)], 1e-2),
    "lu": (lambda a: jax.scipy.linalg.lu_factor(a)[0], [normal(12, 12)], 1e-3),
    "qr": (lambda a: jnp.abs(jnp.linalg.qr(a)[1]), [normal(12, 7)], 1e-3),
    "svd": (svd_product, [normal(12, 7)], 1e-2),
    "singular values": (lambda a: jnp.linalg.svd(a, compute_uv=False), [normal(12, 12)], 1e-3),
    "eigenvalues": (lambda a: jnp.linalg.eigh(a)[0], [positive(12, 12)], 1e-4),
    "eigenvalues, batched": (lambda a: jnp.linalg.eigh(a)[0], [positive(5, 8, 8)], 1e-4),
    "least squares": (lambda a, b: jnp.linalg.lstsq(a, b)[0], [normal(12, 5), normal(12, 2)], 1e-2),
}


def on(device, function, arguments):
    return [np.asarray(r) for r in jax.tree.leaves(jax.jit(function)(*(jax.device_put(a, device) for a in arguments)))]


def main():
    device, processor = jax.devices("cuda")[0], jax.devices("cpu")[0]
    good = jax.default_backend() == "gpu"
    for name, (function, arguments, tolerance) in FUNCTIONS.items():
        pairs = zip(on(device, function, arguments), on(processor, function, arguments))
        off = max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) for a, b in pairs)
        print(f"{name}: {off:.1e}", flush=True)
        good = good and off <= tolerance
    print("PASS" if good else "FAIL")


if __name__ == "__main__":
    main()
