"""PyTorch: convolutions, their gradients and batch normalisation, by cuDNN on the device, and on the processor."""
import torch
import torch.nn.functional as F

torch.backends.cudnn.allow_tf32 = False  # a GPU's cuDNN would round the factors to 10 bits
torch.manual_seed(1)
aten = torch.ops.aten


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(dtype)


def gradients(stride, padding, groups):
    """Of images and filter, for the gradient dy."""
    return lambda dy, x, w: aten.convolution_backward(dy, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups,
                                                      [True, True, False])[:2]


def batch_norm(x, scale, bias, mean, variance):
    return (aten.cudnn_batch_norm if x.is_cuda else aten.native_batch_norm)(x, scale, bias, mean, variance, True, 0.1, 1e-5)[:3]


def conv_relu(x, w, b):
    if x.is_cuda:
        return aten.cudnn_convolution_relu(x, w, b, [1, 1], [1, 1], [1, 1], 1)
    return F.relu(F.conv2d(x, w, b, padding=1))


# What it is, the function, its arguments, and how much of the largest value may differ. No function has a kernel of PyTorch's own.
FUNCTIONS = {
    "conv1d": (F.conv1d, [normal(2, 4, 32), normal(6, 4, 3)], 1e-5),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1), [normal(4, 16, 28, 28), normal(32, 16, 3, 3)], 1e-5),
    "conv3d": (F.conv3d, [normal(1, 4, 8, 8, 8), normal(6, 4, 3, 3, 3)], 1e-5),
    "in groups": (lambda x, w: F.conv2d(x, w, groups=4, stride=2), [normal(4, 16, 28, 28), normal(32, 4, 3, 3)], 1e-5),
    "transposed": (lambda x, w: F.conv_transpose2d(x, w, stride=2), [normal(2, 16, 9, 9), normal(16, 8, 3, 3)], 1e-5),
    "bfloat16": (lambda x, w: F.conv2d(x, w), [normal(2, 8, 9, 9, dtype=torch.bfloat16), normal(12, 8, 3, 3, dtype=torch.bfloat16)], 2e-2),
    "gradients": (gradients(1, 1, 1), [normal(4, 32, 28, 28), normal(4, 16, 28, 28), normal(32, 16, 3, 3)], 1e-4),
    "gradients in groups": (gradients(2, 1, 4), [normal(2, 32, 7, 7), normal(2, 16, 13, 13), normal(32, 4, 3, 3)], 1e-4),
    "with relu": (conv_relu, [normal(4, 16, 28, 28), normal(32, 16, 3, 3), normal(32)], 1e-5),
    "batch norm": (batch_norm, [normal(4, 16, 9, 9), normal(16), normal(16), normal(16), torch.rand(16)], 1e-5),
}


def main():
    good = torch.backends.cudnn.is_available()
    for name, (function, arguments, tolerance) in FUNCTIONS.items():
        pairs = [function(*(a.to(device).clone() for a in arguments)) if device == "cpu" else function(*(a.cuda() for a in arguments))
                 for device in ("cuda", "cpu")]
        here, there = (p if isinstance(p, (tuple, list)) else (p,) for p in pairs)
        off = max(float((a.cpu().float() - b.float()).abs().max() / b.float().abs().max()) for a, b in zip(here, there))
        print(f"{name}: {off:.1e}", flush=True)
        good = good and off <= tolerance
    print("PASS" if good else "FAIL")


if __name__ == "__main__":
    main()
