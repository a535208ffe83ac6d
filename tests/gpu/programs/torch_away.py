"""
PyTorch trains, and is set aside in the middle: at HELD it waits for a line with all of its memory, and meanwhile others take that memory off
the device. Then it goes on. Everything is compared bit for bit with a second run in the same process that nobody disturbs.
"""
import os
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch
from torch import nn

torch.use_deterministic_algorithms(True)
MIB = 1 << 20


def pause(what):
    torch.cuda.synchronize()
    print(f"HELD {torch.cuda.memory_allocated()} {what}", flush=True)
    sys.stdin.readline()


def total(block):
    return sum(piece.sum(dtype=torch.int64).item() for piece in block.split(16 * MIB))


def trained(disturbed):
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.LayerNorm(1024), nn.Linear(1024, 16)).cuda()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    inputs, targets = torch.randn(512, 256, device="cuda"), torch.randn(512, 16, device="cuda")
    block = torch.randint(0, 1 << 30, (256 * MIB,), dtype=torch.int32, device="cuda")  # 1 GiB that nobody touches
    sums = [total(block)]
    for step in range(40):
        optimiser.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimiser.step()
        if disturbed and step in (10, 25):
            pause(f"after step {step}")
    sums.append(total(block))
    return sums, [p.detach().cpu() for p in model.parameters()]


first, second = trained(True), trained(False)
same = first[0] == second[0] and first[0][0] == first[0][1] and all(torch.equal(a, b) for a, b in zip(first[1], second[1]))
print("PASS" if same else "FAIL")
sys.exit(not same)
