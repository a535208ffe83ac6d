"""PyTorch: recurrent networks, their gradients, and the CTC loss, by cuDNN on the device, and on the processor."""
import torch
import torch.nn.functional as F

torch.backends.cudnn.allow_tf32 = False  # a GPU's cuDNN would round the factors to 10 bits
torch.manual_seed(1)
aten = torch.ops.aten
KINDS = {"RNN": (1, torch.rnn_tanh), "LSTM": (2, torch.lstm), "GRU": (3, torch.gru)}  # as cuDNN numbers them, and the processor's
STEPS, IMAGES, INPUT, HIDDEN, LENGTHS = 6, 4, 7, 12, [6, 5, 3, 1]


def off(here, there):
    return max(float((a.detach().cpu() - b.detach()).abs().max() / b.detach().abs().max()) for a, b in zip(here, there))


def gradients(kind, layers, both, packed):
    """Results and gradients of a step of training, by the operations that nn.LSTM and so on call."""
    number, processor = KINDS[kind]
    module = getattr(torch.nn, kind)(INPUT, HIDDEN, num_layers=layers, bidirectional=both)
    x = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(STEPS, IMAGES, INPUT), LENGTHS)
    sizes = x.batch_sizes.tolist() if packed else []
    x = (x.data if packed else torch.randn(STEPS, IMAGES, INPUT)).requires_grad_()
    states = [torch.randn(layers * (2 if both else 1), IMAGES, HIDDEN).requires_grad_() for _ in range(2 if kind == "LSTM" else 1)]
    weights = [w.detach().requires_grad_() for w in module._flat_weights]
    given = states if kind == "LSTM" else states[0]
    if packed:
        there = processor(x, torch.tensor(sizes), given, weights, True, layers, 0.0, True, both)
    else:
        there = processor(x, given, weights, True, layers, 0.0, True, both, False)
    slopes = [torch.randn_like(t) for t in there]
    torch.autograd.backward(there, slopes)
    device = [w.detach().cuda() for w in weights]
    h, c = states[0].detach().cuda(), states[1].detach().cuda() if kind == "LSTM" else None
    y, h_last, c_last, reserve, buffer = aten._cudnn_rnn(x.detach().cuda(), device, 4, None, h, c, number, HIDDEN, 0, layers, False, 0.0, True,
                                                         both, sizes, None)
    dy, dh, dc = (slopes[i].cuda() if i < len(slopes) else None for i in range(3))
    dx, dh, dc, dw = aten._cudnn_rnn_backward(x.detach().cuda(), device, 4, buffer, h, c, y, dy, dh, dc, number, HIDDEN, 0, layers, False, 0.0,
                                              True, both, sizes, None, reserve, [True, True, kind == "LSTM", True])
    here = [y, h_last, c_last][:len(there)] + [dx, dh] + ([dc] if kind == "LSTM" else []) + list(dw)
    return off(here, list(there) + [x.grad] + [s.grad for s in states] + [w.grad for w in weights])


def module(kind):
    """nn.LSTM and so on as they are."""
    m = getattr(torch.nn, kind)(INPUT, HIDDEN, num_layers=2, bidirectional=True)
    x, h = torch.randn(STEPS, IMAGES, INPUT), torch.randn(4, IMAGES, HIDDEN)
    states = (h, torch.randn_like(h)) if kind == "LSTM" else h
    there = m(x, states)[0]
    return off([m.cuda()(x.cuda(), tuple(s.cuda() for s in states) if kind == "LSTM" else states.cuda())[0]], [there])


def loss(in_device):
    x = torch.randn(12, 4, 6)
    inputs, labels = [12] * 4, [4, 3, 5, 1]  # PyTorch gives cuDNN samples of full length only
    targets = torch.randint(1, 6, (sum(labels),), dtype=torch.int32)
    lengths = [torch.tensor(n, dtype=torch.int32).cuda() for n in (inputs, labels)] if in_device else [inputs, labels]
    here = aten._cudnn_ctc_loss(x.log_softmax(2).cuda(), targets.cuda() if in_device else targets, *lengths, 0, True, False)
    x.requires_grad_()  # cuDNN's gradients are those to what the softmax is of
    there = F.ctc_loss(x.log_softmax(2), targets.long(), torch.tensor(inputs), torch.tensor(labels), reduction="none")
    there.sum().backward()
    return off(here, [there, x.grad])


def main():
    results = {f"{kind}, {layers} layers, {'both ways, ' if both else ''}{'packed' if packed else 'even'}": gradients(kind, layers, both, packed)
               for kind in KINDS for layers, both, packed in ((1, False, False), (2, True, False), (3, True, True))}
    results |= {f"nn.{kind}": module(kind) for kind in KINDS}
    results |= {f"CTC loss, labels {'in the device' if way else 'on the processor'}": loss(way) for way in (False, True)}
    for name, result in results.items():
        print(f"{name}: {result:.1e}", flush=True)
    print("PASS" if max(results.values()) <= 2e-5 else "FAIL")


if __name__ == "__main__":
    main()
