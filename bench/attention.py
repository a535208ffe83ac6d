#!/usr/bin/env python3
"""
Attention and recurrent networks by cuDNN on the software device, and by PyTorch's own kernels of the processor, by turns, in processor time
of one thread. PyTorch's bfloat16 uses the processor's instructions for it, where it has them. Under the device:

  METE_SOFT_THREADS=1 mete soft run -- python bench/attention.py
"""
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.set_num_threads(1)


def attention(device, kind):
    torch.manual_seed(1)
    q, k, v = (torch.randn(2, 8, 256, 64).to(kind).to(device) for _ in range(3))

    def run():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION if device == "cuda" else [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
            F.scaled_dot_product_attention(q, k, v)
    return run


def network(device, kind):
    torch.manual_seed(1)
    model, x = kind(256, 256, 1).to(device), torch.randn(64, 32, 256).to(device)

    def run():
        with torch.no_grad():
            model(x)
    return run


def seconds(run, times=3):
    best = float("inf")
    for _ in range(times + 1):  # the first one prepares
        begin = time.process_time()
        run()
        torch.cuda.synchronize()
        best = min(best, time.process_time() - begin)
    return best


CASES = [("attention, half", attention, torch.half), ("attention, bfloat16", attention, torch.bfloat16), ("nn.LSTM", network, torch.nn.LSTM),
         ("nn.GRU", network, torch.nn.GRU), ("nn.RNN", network, torch.nn.RNN)]
for name, make, kind in CASES:
    runs = make("cpu", kind), make("cuda", kind)
    turns = [[seconds(run) for run in runs] for _ in range(3)]
    host, device = (min(t[i] for t in turns) for i in range(2))
    print(f"{name:20} processor {host * 1e3:7.1f} ms  device {device * 1e3:7.1f} ms  {host / device:.2f} of its speed", flush=True)
