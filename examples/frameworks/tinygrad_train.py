"""tinygrad on its CUDA device: a small network learns the same as in numpy, step by step."""
import os

os.environ.setdefault("DEV", "CUDA")
import numpy as np  # noqa: E402
from tinygrad import Device, Tensor  # noqa: E402

assert Device.DEFAULT.startswith("CUDA"), Device.DEFAULT


def weights(values):
    found = Tensor(values)
    return found.requires_grad_() if hasattr(found, "requires_grad_") else found  # versions of 2025 want it said


random = np.random.default_rng(3)
x = random.random((32, 8), dtype=np.float32)
y = x.sum(1, keepdims=True)
w0 = random.random((8, 1), dtype=np.float32)
w, host = weights(w0), w0.copy()
for _ in range(5):
    loss = (Tensor(x) @ w - Tensor(y)).square().mean()
    loss.backward()
    error = x @ host - y
    np.testing.assert_allclose(loss.item(), (error ** 2).mean(), rtol=1e-4)
    host -= 0.05 * 2 * x.T @ error / len(x)
    w = weights(w.numpy() - 0.05 * w.grad.numpy())
np.testing.assert_allclose(w.numpy(), host, rtol=1e-4)
print("PASS")
