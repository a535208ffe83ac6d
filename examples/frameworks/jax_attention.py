"""JAX: attention and its gradients by cuDNN on the device, and by XLA on the processor."""
import jax
import jax.numpy as jnp
import numpy as np

random = np.random.default_rng(1)
processor = jax.devices("cpu")[0]
# What it is, and what else dot_product_attention() is told.
MORE = {
    "plain": {},
    "causal": {"is_causal": True},
    "with a bias": {"bias": random.standard_normal((1, 4, 64, 64))},
    "lengths": {"query_seq_lengths": np.array([64, 30], np.int32), "key_value_seq_lengths": np.array([64, 20], np.int32)},
    "a window": {"is_causal": True, "local_window_size": (8, 0)},
}


def gradients(implementation, arrays, more):
    def loss(q, k, v):
        return (jax.nn.dot_product_attention(q, k, v, implementation=implementation, **more).astype(jnp.float32) ** 2).sum()

    value, slopes = jax.jit(jax.value_and_grad(loss, (0, 1, 2)))(*arrays)
    return [np.asarray(x, np.float32) for x in (value, *slopes)]


def main():
    good = True
    for name, more in MORE.items():
        arrays = [random.standard_normal((2, 64, 4, 64)) for _ in range(3)]
        found = []
        for implementation, device in (("cudnn", jax.devices()[0]), ("xla", processor)):
            with jax.default_device(device):
                told = {n: jnp.array(x, jnp.bfloat16 if x.dtype == np.float64 else None) if isinstance(x, np.ndarray) else x for n, x in more.items()}
                found.append(gradients(implementation, [jnp.array(x, jnp.bfloat16) for x in arrays], told))
        off = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(*found))
        print(f"{name}: {off:.1e}", flush=True)
        good = good and off <= 3e-2
    print("PASS" if good and jax.devices()[0].platform == "gpu" else "FAIL")


if __name__ == "__main__":
    main()
