"""
How many products of matrices a tenant gets done: torch_rate.py SIZE SECONDS. Says READY, waits for a line, works for so long with 8
products in flight, and prints how many ended.
"""
import sys
import time

import torch

size, seconds = int(sys.argv[1]), float(sys.argv[2])
a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
out = torch.empty_like(a)
for _ in range(20):
    torch.mm(a, b, out=out)
torch.cuda.synchronize()
print("READY", flush=True)
sys.stdin.readline()
events = [torch.cuda.Event() for _ in range(8)]
done, end = 0, time.monotonic() + seconds
while time.monotonic() < end:
    if done >= 8:
        events[done % 8].synchronize()
    torch.mm(a, b, out=out)
    events[done % 8].record()
    done += 1
print(f"RATE {(done - 8) / seconds:.1f}", flush=True)
