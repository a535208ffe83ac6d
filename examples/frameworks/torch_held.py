"""
PyTorch's memory at four points, at each of which the program says HELD and waits for a line: tensors, memory that PyTorch keeps after
them, all that the quota has room for, nothing. Whoever reads it compares the account with the device's own count.
"""
import sys

import torch

MIB = 1 << 20


def held(what):
    torch.cuda.synchronize()
    print(f"HELD {torch.cuda.memory_reserved()} {what}", flush=True)
    sys.stdin.readline()


tensors = [torch.randn(n, 1000).cuda() for n in (1, 300, 7000)]
held("three tensors")
del tensors
held("what PyTorch keeps")
blocks = []
try:
    while True:
        blocks.append(torch.empty(24 * MIB, dtype=torch.uint8, device="cuda"))
except torch.cuda.OutOfMemoryError:
    held("until the quota is full")
del blocks
torch.cuda.empty_cache()
held("nothing")
source = torch.randn(5000)
same = torch.equal(source.cuda().cpu(), source)
print("PASS" if same else "FAIL")
sys.exit(not same)
