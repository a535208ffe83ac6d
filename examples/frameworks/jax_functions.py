"""JAX: functions, gradients, loops and a training step, on the device and on the processor; out of memory and on after it."""
import jax
import jax.numpy as jnp
import numpy as np

random = np.random.default_rng(1)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def train(a, b, c, x, y):
    def loss(p):
        return ((jnp.tanh(x @ p[0] + p[1]) @ p[2] - y) ** 2).mean()
    return jax.tree.map(lambda p, g: p - 0.1 * g, (a, b, c), jax.grad(loss)((a, b, c)))


# What it is, the arguments, and how much of the largest value may differ: products are of tf32 there.
FUNCTIONS = {
    "element-wise": (lambda x, y: jnp.tanh(x) * jnp.exp(-y * y), [normal(50, 70), normal(50, 70)], 1e-5),
    "reductions": (lambda x: (x.sum(0), x.max(1), x.mean(), jax.nn.softmax(x)), [normal(50, 700)], 1e-5),
    "gradient": (jax.grad(lambda x: (jnp.sin(x) ** 2).sum()), [normal(100)], 1e-5),
    "scan": (lambda x: jax.lax.scan(lambda c, v: (c + v, c * v), 0.0, x), [normal(100)], 1e-4),
    "sort": (lambda x: (jnp.sort(x), jax.lax.top_k(x, 5)[0]), [normal(1000)], 0),
    "random numbers": (lambda x: x + jax.random.normal(jax.random.key(1), (100,)), [normal(1)], 1e-5),
    "product": (lambda x, y: x @ y, [normal(32, 32), normal(32, 32)], 1e-2),
    "convolution": (lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME"), [normal(1, 3, 8, 8), normal(4, 3, 3, 3)], 1e-2),
    "training step": (train, [normal(8, 16), normal(16), normal(16, 1), normal(32, 8), normal(32, 1)], 1e-2),
}


def on(device, function, arguments):
    return [np.asarray(r) for r in jax.tree.leaves(jax.jit(function)(*(jax.device_put(a, device) for a in arguments)))]


def main():
    device, processor = jax.devices("cuda")[0], jax.devices("cpu")[0]
    good = jax.default_backend() == "gpu"
    for name, (function, arguments, tolerance) in FUNCTIONS.items():
        pairs = zip(on(processor, function, arguments), on(device, function, arguments))
        done = all(np.abs(a - b).max() <= tolerance * max(1, np.abs(a).max()) for a, b in pairs)
        print(name, "as on the processor" if done else "NOT as on the processor", flush=True)
        good = good and done
    try:
        jnp.zeros((1 << 50,), jnp.uint8, device=device).block_until_ready()
        good = False
    except RuntimeError as e:
        good = good and "memory" in str(e).lower()
    good = good and float(jax.device_put(np.float32(2), device) * 3) == 6
    print("PASS" if good else "FAIL")


if __name__ == "__main__":
    main()
