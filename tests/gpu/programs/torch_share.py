"""
PyTorch under a quota on a GPU: a small network trains as on the processor, memory is taken until PyTorch's own exception, and at that
point the program says HELD and waits for a line, so that the driver's own count can be read from outside. It works on after it.
"""
import copy
import sys

import torch
from torch import nn

MIB = 1 << 20


def trained(device, model, inputs, targets):
    model = copy.deepcopy(model).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    inputs, targets = inputs.to(device), targets.to(device)
    for _ in range(20):
        optimiser.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimiser.step()
    return loss.item()


def fill():
    """All memory that there is, in pieces; how many bytes came."""
    blocks, piece = [], 256 * MIB
    while piece >= 2 * MIB:
        try:
            blocks.append(torch.empty(piece, dtype=torch.uint8, device="cuda"))
        except torch.cuda.OutOfMemoryError:
            piece //= 2
    return blocks


torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = False
network = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 8))
data, wanted = torch.randn(512, 64), torch.randn(512, 8)
here, there = trained("cpu", network, data, wanted), trained("cuda", network, data, wanted)
convolved = torch.randn(2, 3, 32, 32), torch.randn(8, 3, 3, 3)
close = torch.allclose(nn.functional.conv2d(*convolved), nn.functional.conv2d(*(t.cuda() for t in convolved)).cpu(), atol=1e-2)
free, total = torch.cuda.mem_get_info()
blocks = fill()
held = torch.cuda.memory_reserved()
print(f"HELD {held} of {total}, {free} were free", flush=True)
sys.stdin.readline()
blocks.clear()
torch.cuda.empty_cache()
again = torch.ones(1 << 20, device="cuda").sum().item() == 1 << 20
print(f"loss {here:.6f} on the processor, {there:.6f} on the device; convolution {close}; works on {again}")
print("PASS" if abs(here - there) < 1e-3 * max(1, abs(here)) and close and again else "FAIL")
