"""JAX: convolutions, their gradients, pooling, normalisation and attention, by cuDNN on the device, and on the processor."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

random = np.random.default_rng(1)
IMAGES = ("NCHW", "OIHW", "NCHW")
LAST = ("NHWC", "HWIO", "NHWC")
LINES = ("NCH", "OIH", "NCH")
VOLUMES = ("NCDHW", "OIDHW", "NCDHW")


def normal(*shape, dtype=np.float32):
    return random.standard_normal(shape).astype(dtype)


def conv(numbers, stride=1, padding="SAME", spread=1, dilation=1, groups=1):
    dims = len(numbers[0]) - 2
    return lambda x, w: lax.conv_general_dilated(x, w, (stride,) * dims, padding, lhs_dilation=(spread,) * dims,
                                                 rhs_dilation=(dilation,) * dims, dimension_numbers=numbers, feature_group_count=groups)


def with_gradients(f):
    return lambda *a: (f(*a), jax.vjp(f, *a)[1](f(*a)))


def network(x, w, b, w2):
    h = jax.nn.relu(conv(LAST)(x, w) + b)
    h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    h = (h - h.mean((0, 1, 2))) / jnp.sqrt(h.var((0, 1, 2)) + 1e-3)
    return (conv(LAST)(h, w2) ** 2).mean()


def attention(way):
    return lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation=way)


# What it is, the arguments, and how much of the largest value may differ.
FUNCTIONS = {
    "convolution": (with_gradients(conv(IMAGES)), [normal(4, 16, 28, 28), normal(32, 16, 3, 3)], 1e-5),
    "channels last": (with_gradients(conv(LAST)), [normal(4, 14, 14, 16), normal(3, 3, 16, 24)], 1e-5),
    "strided": (with_gradients(conv(IMAGES, 2)), [normal(2, 8, 17, 17), normal(12, 8, 3, 3)], 1e-5),
    "dilated": (with_gradients(conv(IMAGES, dilation=2)), [normal(2, 8, 17, 17), normal(12, 8, 3, 3)], 1e-5),
    "transposed": (with_gradients(conv(IMAGES, padding=[(2, 2), (2, 2)], spread=2)), [normal(2, 8, 9, 9), normal(12, 8, 3, 3)], 1e-5),
    "in groups": (with_gradients(conv(IMAGES, groups=4)), [normal(2, 8, 9, 9), normal(12, 2, 3, 3)], 1e-5),
    "by channel": (with_gradients(conv(IMAGES, groups=8)), [normal(2, 8, 9, 9), normal(8, 1, 3, 3)], 1e-5),
    "lines": (with_gradients(conv(LINES)), [normal(2, 8, 33), normal(12, 8, 3)], 1e-5),
    "volumes": (with_gradients(conv(VOLUMES)), [normal(2, 4, 7, 8, 9), normal(6, 4, 3, 3, 3)], 1e-5),
    "half": (with_gradients(conv(IMAGES)), [normal(2, 8, 9, 9, dtype=np.float16), normal(12, 8, 3, 3, dtype=np.float16)], 2e-3),
    "bfloat16": (with_gradients(conv(IMAGES)), [normal(2, 8, 9, 9, dtype=jnp.bfloat16), normal(12, 8, 3, 3, dtype=jnp.bfloat16)], 2e-2),
    "network": (jax.grad(network, (0, 1, 2, 3)), [normal(4, 16, 16, 8), normal(3, 3, 8, 16), normal(16), normal(3, 3, 16, 16)], 1e-3),
}


def on(device, function, arguments):
    results = jax.jit(function)(*(jax.device_put(a, device) for a in arguments))
    return [np.asarray(r, np.float32) for r in jax.tree.leaves(results)]


def main():
    device, processor = jax.devices("cuda")[0], jax.devices("cpu")[0]
    good = jax.default_backend() == "gpu"
    heads = [normal(2, 64, 4, 32, dtype=jnp.bfloat16) for _ in range(3)]
    cases = [(name, on(device, f, a), on(processor, f, a), tolerance) for name, (f, a, tolerance) in FUNCTIONS.items()]
    cases.append(("attention", on(device, attention("cudnn"), heads), on(processor, attention("xla"), heads), 2e-2))
    for name, here, there, tolerance in cases:
        off = max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) for a, b in zip(here, there))
        print(f"{name}: {off:.1e}", flush=True)
        good = good and off <= tolerance
    print("PASS" if good else "FAIL")


if __name__ == "__main__":
    main()
