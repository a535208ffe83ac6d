"""PyTorch without kernels of its own: memory, copies, streams, events, graphs, out of memory and on after it."""
import warnings

import torch

MIB = 1 << 20
# Versions of 2025 make zeros, and begin a graph, by kernels of their own, which are machine code.
OLD = tuple(int(n) for n in torch.__version__.split(".")[:2]) < (2, 15)


def copies():
    a = torch.randn(3, 1000)
    on_device = a.cuda()
    other = torch.empty_like(on_device)
    other.copy_(on_device)
    pinned = torch.randn(MIB).pin_memory()
    stream, begin, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        begin.record()
        moved = pinned.to("cuda", non_blocking=True)
        end.record()
    torch.cuda.current_stream().wait_stream(stream)
    end.synchronize()
    return torch.equal(other.cpu(), a) and torch.equal(moved.cpu(), pinned) and begin.elapsed_time(end) > 0 and \
        (OLD or not torch.zeros(1000, device="cuda").cpu().any())


def graph():
    source, target, graph = torch.randn(1000).cuda(), torch.empty(1000, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        target.copy_(source)
    new = torch.randn(1000)
    source.copy_(new.cuda())
    graph.replay()
    return torch.equal(target.cpu(), new)


def compiled_while_running():
    """NVRTC: a kernel of C++, and an operation that PyTorch compiles when it is asked for."""
    twice = torch.cuda.jiterator._create_jit_fn("template <typename T> T twice_and(T x, T y) { return 2 * x + y; }")
    a, b = torch.randn(1000), torch.rand(1000)
    return torch.allclose(twice(a.cuda(), b.cuda()).cpu(), 2 * a + b) and \
        torch.allclose(torch.special.i1e(b.cuda()).cpu(), torch.special.i1e(b), atol=1e-6)


def memory():
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    before = torch.cuda.memory_allocated()
    block = torch.empty(MIB, dtype=torch.uint8, device="cuda")
    good = torch.cuda.memory_allocated() - before == MIB
    del block
    blocks = []
    try:
        while True:
            blocks.append(torch.empty(64 * MIB, dtype=torch.uint8, device="cuda"))
    except torch.cuda.OutOfMemoryError:
        # The last refusal came where not even one more fitted.
        good = good and torch.cuda.mem_get_info()[0] < 64 * MIB and len(blocks) >= free // (64 * MIB) - 1
    del blocks
    torch.cuda.empty_cache()
    return good and total >= free and torch.cuda.mem_get_info()[0] == free and copies()


def main():
    warnings.simplefilter("error")
    good = torch.cuda.is_available()
    for part in (copies, memory, compiled_while_running, *(() if OLD else (graph,))):
        done = part()
        print(part.__name__, "as on the processor" if done else "NOT as on the processor")
        good = good and done
    print("PASS" if good else "FAIL")


if __name__ == "__main__":
    main()
