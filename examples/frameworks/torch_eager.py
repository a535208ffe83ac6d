"""PyTorch's own kernels, of a build that holds PTX (Debian's python3-torch-cuda): operations and a training, compared with the processor's."""
import torch

F = torch.nn.functional
torch.manual_seed(7)
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def same(name, operation, *inputs, gradients=True):
    """The operation on both: results, and gradients where the inputs have some."""
    found = []
    for device in ("cpu", "cuda"):
        given = [t.detach().to(device).requires_grad_(gradients and t.is_floating_point()) for t in inputs]
        out = operation(*given)
        out = out if isinstance(out, tuple) else (out,)
        if gradients:
            sum((o * o).sum() for o in out if o.requires_grad).backward()
        found.append([o.detach().cpu() for o in out] + [t.grad.cpu() for t in given if t.grad is not None])
    for here, there in zip(*found):
        torch.testing.assert_close(there, here, rtol=1e-4, atol=1e-4, msg=lambda text: f"{name}: {text}")


a, b, c = torch.randn(37, 50), torch.randn(37, 50), torch.randn(50, 21)
same("arithmetic", lambda x, y: x * y + x / (y.abs() + 1) - torch.exp(-x) + torch.sqrt(y.abs() + 1), a, b)
same("activations", lambda x: F.gelu(x) + F.silu(x) + torch.tanh(x) + torch.sigmoid(x) + F.relu(x), a)
same("reductions", lambda x: (x.sum(), x.mean(0), x.amax(1), x.var(1), torch.logsumexp(x, 1)), a)
same("softmax, norms", lambda x: F.softmax(x, 1) + F.layer_norm(x, (50,)) + F.log_softmax(x, 0), a)
same("products", lambda x, y: (x @ y, torch.einsum("ik,jk->ij", x, x)), a, c)
same("indices", lambda x: (x[3:20:2, ::3], x.t().contiguous(), torch.cat([x, x * 2], 1), torch.where(x > 0, x, -x)), a)
same("sums of a scan", lambda x: (torch.cumsum(x, 1), x.flip(0)), a)
same("embedding", lambda w: F.embedding(torch.arange(30, device=w.device) % 7, w), torch.randn(10, 8))
same("loss", lambda x: F.cross_entropy(x, torch.arange(37, device=x.device) % 50), a)
same("convolution", lambda x, w: F.max_pool2d(F.conv2d(x, w, padding=1), 2), torch.randn(2, 3, 12, 12), torch.randn(4, 3, 3, 3))
same("sorts", lambda x: (torch.sort(x, 1).values, torch.topk(x, 5, 1).values, torch.unique((x * 2).round())), a, gradients=False)
same("integers", lambda x: (x // 3, x % 5, x << 1, torch.bincount(x), (x > 10).nonzero()), torch.arange(40) * 7 % 23, gradients=False)
same("half", lambda x: (x.half() * 2 + 1).float(), a, gradients=False)

random = torch.randn(20000, device="cuda")
assert abs(random.mean().item()) < 0.05 and abs(random.std().item() - 1) < 0.05
assert torch.equal(torch.full((5,), 2.5, device="cuda").cpu(), torch.full((5,), 2.5))


def train(device):
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 5)).to(device)
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-2)
    x, y = torch.randn(64, 20).to(device), (torch.arange(64) % 5).to(device)
    losses = []
    for _ in range(8):
        optimiser.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


here, there = train("cpu"), train("cuda")
assert max(abs(p - q) for p, q in zip(here, there)) < 1e-3 and there[-1] < there[0], (here, there)
try:
    torch.empty(1 << 36, device="cuda")
    raise SystemExit("64 GiB were given")
except torch.OutOfMemoryError:
    pass
assert (torch.ones(9, device="cuda") + 1).sum().item() == 18
print("PASS")
