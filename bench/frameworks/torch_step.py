#!/usr/bin/env python3
"""
A training step of a small transformer by torch.compile: the software device beside PyTorch's own processor backend, by turns.

  mete soft run --compile always python bench/frameworks/torch_step.py [--rounds N] [--steps N] [--width N] [--layers N] [--threads N] [--json]

Both compile the same network by Inductor: for the processor it writes C++, for the device Triton, with the options of
examples/frameworks/torch_compile.py. Both have as many threads. A step is forward, backward and optimiser. The ratio is the median over
the rounds of (time on the device) / (time on the processor), so below 1 the device is faster. `cpu` is the same of the processor time of
all threads; with one thread on each side (`mete soft run --threads 1`, `--threads 1`) it can be read on a busy machine. The losses must
agree. Goal: at most 5.

With `--compile always` each kernel is compiled before its first launch, in the two steps that are not measured; otherwise the first seconds of
a program are interpreted, unless the cache has its kernels.
"""
import argparse
import copy
import json
import os
import statistics
import time

# Triton 3.9 says in every program that this default will change.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

OPTIONS = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON", "deterministic": True,
           "benchmark_template_fusion": False, "joint_graph_constant_folding": False}
OPTIONS = {name: value for name, value in OPTIONS.items() if name in torch._inductor.list_options()}
WORDS, LENGTH, BATCH, HEADS = 128, 64, 8, 4


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, mask):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(batch, length, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        a = ((q @ k.transpose(-1, -2)) * (width // HEADS) ** -0.5 + mask).softmax(-1) @ v
        x = x + self.out(a.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.after(x))))


class Transformer(nn.Module):
    """Its input is a vector for each place, as an embedding gives them: the gradient of one is no kernel of Inductor's."""

    def __init__(self, width, layers):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, WORDS)

    def forward(self, x, mask):
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


class Trainer:
    def __init__(self, net, x, y, mask, options):
        self.net, self.x, self.y, self.mask = net, x, y, mask
        self.optimiser = torch.optim.SGD(net.parameters(), lr=0.05, foreach=True)
        self.one = torch.tensor(1.0).to(x.device)
        self.loss = torch.compile(lambda x, y, mask: F.cross_entropy(net(x, mask).flatten(0, 1), y.flatten()), options=options)
        self.update = torch.compile(self.optimiser.step, options=options)

    def step(self):
        loss = self.loss(self.x, self.y, self.mask)
        loss.backward(self.one)
        self.update()
        self.optimiser.zero_grad(set_to_none=True)
        return loss.item()

    def steps(self, count):
        """Seconds of a step, seconds of all threads, and the last loss."""
        begun, used = time.perf_counter(), time.process_time()
        for _ in range(count):
            loss = self.step()
        return (time.perf_counter() - begun) / count, (time.process_time() - used) / count, loss


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--steps", type=int, default=4)
    p.add_argument("--width", type=int, default=128)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    p.add_argument("--json", action="store_true")
    return p.parse_args()


def main():
    args = options()
    torch.manual_seed(1)
    torch.set_num_threads(args.threads)
    net = Transformer(args.width, args.layers)
    x, y = torch.randn(BATCH, LENGTH, args.width), torch.randint(0, WORDS, (BATCH, LENGTH))
    mask = torch.full((LENGTH, LENGTH), float("-inf")).triu(1)
    on_device = copy.deepcopy(net).cuda()
    trainers = Trainer(net, x, y, mask, {}), Trainer(on_device, x.cuda(), y.cuda(), mask.cuda(), OPTIONS)
    first = [t.steps(2) for t in trainers]  # Inductor compiles, and the device's own compiler works behind
    rounds = [[t.steps(args.steps) for t in trainers] for _ in range(args.rounds)]
    ratios = [device[0] / processor[0] for processor, device in rounds]
    cpu = statistics.median(device[1] / processor[1] for processor, device in rounds)
    apart = max(abs(device[2] - processor[2]) / abs(processor[2]) for processor, device in [first] + rounds)
    result = {"torch": torch.__version__, "threads": torch.get_num_threads(), "parameters": sum(p.numel() for p in net.parameters()),
              "processor_ms": round(1e3 * statistics.median(r[0][0] for r in rounds), 2),
              "device_ms": round(1e3 * statistics.median(r[1][0] for r in rounds), 2),
              "ratio": round(statistics.median(ratios), 2), "ratio_least": round(min(ratios), 2), "ratio_most": round(max(ratios), 2),
              "processor_cpu_ms": round(1e3 * statistics.median(r[0][1] for r in rounds), 2),
              "device_cpu_ms": round(1e3 * statistics.median(r[1][1] for r in rounds), 2), "ratio_cpu": round(cpu, 2),
              "losses_apart": apart}
    print(json.dumps(result) if args.json else "\n".join(f"{name:16} {value}" for name, value in result.items()))
    if apart > 1e-3:
        raise SystemExit("the losses differ")


main()
