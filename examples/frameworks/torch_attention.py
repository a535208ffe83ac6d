"""PyTorch: attention and its gradients by cuDNN on the device, and on the processor."""
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.manual_seed(1)
aten = torch.ops.aten


def off(here, there):
    return max(float((a.detach().cpu().float() - b.detach().float()).abs().max() / b.detach().float().abs().max())
               for a, b in zip(here, there))


def attend(kind, queries, keys, width, **more):
    q, k, v = (torch.randn(2, 4, s, width).to(kind) for s in (queries, keys, keys))
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        here = F.scaled_dot_product_attention(q.cuda(), k.cuda(), v.cuda(), **more)
    return off([here], [F.scaled_dot_product_attention(q.float(), k.float(), v.float(), **more)])


def gradients(causal):
    q, k, v, dy = (torch.randn(2, 4, 64, 64).half() for _ in range(4))
    device = [x.cuda() for x in (q, k, v)]
    out, stats, sum_q, sum_k, most_q, most_k, seed, offset, _ = aten._scaled_dot_product_cudnn_attention(*device, None, True, 0.0, causal, False)
    here = aten._scaled_dot_product_cudnn_attention_backward(dy.cuda(), *device, out, stats, seed, offset, None, sum_q, sum_k, most_q, most_k,
                                                             0.0, causal)
    there = [x.float().requires_grad_() for x in (q, k, v)]
    F.scaled_dot_product_attention(*there, is_causal=causal).backward(dy.float())
    return off(here, [x.grad for x in there])


def main():
    results = {
        "half": attend(torch.half, 64, 64, 64),
        "causal": attend(torch.bfloat16, 64, 64, 64, is_causal=True),
        "with a scale": attend(torch.half, 40, 72, 32, scale=0.3),
        "gradients": gradients(False),
        "gradients, causal": gradients(True),
    }
    for name, result in results.items():
        print(f"{name}: {result:.1e}", flush=True)
    print("PASS" if max(results.values()) <= 2e-2 else "FAIL")


if __name__ == "__main__":
    main()
