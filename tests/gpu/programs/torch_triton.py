"""torch.compile as it comes: Triton's kernels and CUDA graphs, trained beside the same network without compilation."""
import copy

import torch
from torch import nn


def step(model, inputs, targets):
    loss = nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.1 * p.grad
            p.grad = None
    return loss.item()


torch.manual_seed(1)
plain = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 10)).cuda()
compiled = torch.compile(copy.deepcopy(plain), mode="reduce-overhead")
data, wanted = torch.randn(256, 128, device="cuda"), torch.randint(10, (256,), device="cuda")
losses = [(step(plain, data, wanted), step(compiled, data, wanted)) for _ in range(8)]
print(losses[0], losses[-1])
print("PASS" if all(abs(a - b) < 1e-2 for a, b in losses) and losses[-1][0] < losses[0][0] else "FAIL")
