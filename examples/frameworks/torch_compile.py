"""
torch.compile on a device without PyTorch's own kernels: Inductor writes all of it in Triton, and a small network trains.

The options are torch.compile's: products by Triton too, without timing candidates on the device (whose inputs would be made
by kernels of PyTorch's own), and without computing constants on it.
"""
import copy
import os

# Triton 3.9 says in every program that this default will change.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

OPTIONS = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON", "deterministic": True,
           "benchmark_template_fusion": False, "joint_graph_constant_folding": False}
OPTIONS = {name: value for name, value in OPTIONS.items() if name in torch._inductor.list_options()}  # 2.9 knows fewer


def attention(q, k, v):
    return ((q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5).softmax(-1) @ v


FUNCTIONS = {
    "element-wise": (lambda x, y: torch.sin(x) * y + F.gelu(x), (1000,), (1000,)),
    "reductions": (lambda x: (x.sum(1), x.amax(0), x.mean(), x.var(1)), (130, 700)),
    "softmax": (lambda x: x.softmax(-1), (50, 1000)),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (300,), w, b), (40, 300), (300,), (300,)),
    "product": (lambda x, w, b: F.linear(x, w, b).relu(), (64, 96), (128, 96), (128,)),
    "attention": (attention, (2, 2, 32, 64), (2, 2, 32, 64), (2, 2, 32, 64)),
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(32, 64), nn.LayerNorm(64), nn.Linear(64, 10)

    def forward(self, x):
        return self.second(F.gelu(self.norm(self.first(x))))


def close(want, got, tolerance=1e-4):
    want, got = [list(x) if isinstance(x, (tuple, list)) else [x] for x in (want, got)]
    return all((a - b.cpu()).abs().max() <= tolerance * max(1, a.abs().max()) for a, b in zip(want, got))


def train(net, x, y, compiled):
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1, foreach=True)

    def forward(x, y):
        return F.cross_entropy(net(x), y)
    if compiled:
        forward = torch.compile(forward, options=OPTIONS)
    step = torch.compile(optimiser.step, options=OPTIONS) if compiled else optimiser.step
    losses, one = [], torch.tensor(1.0).to(x.device)
    for _ in range(4):
        loss = forward(x, y)
        loss.backward(one)
        step()
        optimiser.zero_grad(set_to_none=True)
        losses.append(loss.item())
    return losses


def main():
    torch.manual_seed(1)
    good = True
    for name, (function, *shapes) in FUNCTIONS.items():
        inputs = [torch.randn(*s) for s in shapes]
        done = close(function(*inputs), torch.compile(function, dynamic=False, options=OPTIONS)(*(x.cuda() for x in inputs)))
        print(name, "as on the processor" if done else "NOT as on the processor", flush=True)
        good = good and done
    net, x, y = Net(), torch.randn(64, 32), torch.randint(0, 10, (64,))
    on_device = copy.deepcopy(net).cuda()
    losses, got = train(net, x, y, False), train(on_device, x.cuda(), y.cuda(), True)
    done = max(abs(a - b) for a, b in zip(losses, got)) < 1e-5 and losses[-1] < losses[0] and \
        all(close(a.detach(), b.detach(), 1e-5) for a, b in zip(net.parameters(), on_device.parameters()))
    print("training", "as on the processor" if done else "NOT as on the processor", losses, got)
    print("PASS" if good and done else "FAIL")


if __name__ == "__main__":
    main()
