"""NVIDIA's cudnn-frontend: graphs of convolution, product, normalisation and attention with its gradients, compared with numpy."""
import math

import cudnn
import numpy as np
from cuda.bindings import driver

random = np.random.default_rng(1)
TYPES = {np.dtype(np.float32): cudnn.data_type.FLOAT, np.dtype(np.float16): cudnn.data_type.HALF, np.dtype(np.int32): cudnn.data_type.INT32}
B, H, SHARED, Q, KV, D, SCALE = 2, 4, 2, 24, 40, 32, 0.3


def check(result):
    assert int(result[0]) == 0, result
    return result[1] if len(result) > 1 else None


check(driver.cuInit(0))
check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(check(driver.cuDeviceGet(0))))))
handle = cudnn.create_handle()


def normal(*shape, kind=np.float16):
    return random.standard_normal(shape).astype(kind)


class Graph:
    """A graph, its tensors in the device's memory, and what it computes."""

    def __init__(self, kind=np.float16):
        self.g = cudnn.pygraph(io_data_type=TYPES[np.dtype(kind)], intermediate_data_type=cudnn.data_type.FLOAT,
                               compute_data_type=cudnn.data_type.FLOAT, handle=handle)
        self.pack, self.results = {}, []

    def tensor(self, array):
        strides = [s // array.itemsize for s in array.strides]
        t = self.g.tensor(dim=list(array.shape), stride=strides, data_type=TYPES[array.dtype])
        self.pack[t] = at = int(check(driver.cuMemAlloc(array.nbytes)))
        check(driver.cuMemcpyHtoD(at, np.ascontiguousarray(array), array.nbytes))
        return t

    def result(self, t, shape, kind=np.float16):
        array = np.zeros(shape, kind)
        t.set_output(True).set_dim(list(shape)).set_stride([s // array.itemsize for s in array.strides]).set_data_type(TYPES[array.dtype])
        self.pack[t] = int(check(driver.cuMemAlloc(array.nbytes)))
        self.results.append((t, array))

    def run(self):
        g = self.g
        g.validate()
        g.build_operation_graph()
        g.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        g.check_support()
        g.build_plans()
        workspace = int(check(driver.cuMemAlloc(max(g.get_workspace_size(), 1))))
        g.execute(self.pack, workspace, handle=handle)
        check(driver.cuCtxSynchronize())
        for t, array in self.results:
            check(driver.cuMemcpyDtoH(array, self.pack[t], array.nbytes))
        for at in [*self.pack.values(), workspace]:
            check(driver.cuMemFree(at))
        return [array for _, array in self.results]


def off(here, there):
    return max(float(np.abs(a.astype(np.float64) - b).max() / np.abs(b).max()) for a, b in zip(here, there))


def convolution():
    x, w = normal(2, 8, 9, 9, kind=np.float32), normal(6, 8, 3, 3, kind=np.float32)
    g = Graph(np.float32)
    y = g.g.conv_fprop(image=g.tensor(x), weight=g.tensor(w), padding=[1, 1], stride=[1, 1], dilation=[1, 1])
    g.result(g.g.relu(input=y), (2, 6, 9, 9), np.float32)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return off(g.run(), [np.maximum(np.einsum("nchwij,kcij->nkhw", windows, w), 0)])


def product():
    a, b, c = normal(3, 16, 32), normal(3, 32, 24), normal(1, 1, 24)
    g = Graph()
    y = g.g.add(a=g.g.matmul(A=g.tensor(a), B=g.tensor(b)), b=g.tensor(c))
    g.result(y, (3, 16, 24))
    return off(g.run(), [a.astype(np.float64) @ b + c])


def attend(q, k, v, mask):
    """Result, statistics and weights, in double."""
    k, v = (np.repeat(x.astype(np.float64), H // SHARED, axis=1) for x in (k, v))
    scores = np.where(mask, q.astype(np.float64) @ k.swapaxes(2, 3) * SCALE, -np.inf)
    stats = np.log(np.exp(scores).sum(-1, keepdims=True))
    weights = np.exp(scores - stats)
    return weights @ v, stats, weights


def attention(implementation, causal, lengths):
    q, k, v = normal(B, H, Q, D), normal(B, SHARED, KV, D), normal(B, SHARED, KV, D)
    mask = np.ones((B, 1, Q, KV), bool)
    g = Graph()
    more = {"implementation": getattr(cudnn.attention_implementation, implementation), "use_causal_mask": causal}
    if causal:
        mask &= np.tri(Q, KV, dtype=bool)
    if lengths:
        held = np.array([KV, 17], np.int32).reshape(B, 1, 1, 1)
        mask &= np.arange(KV) < held
        more.update(use_padding_mask=True, seq_len_q=g.tensor(np.full((B, 1, 1, 1), Q, np.int32)), seq_len_kv=g.tensor(held))
    out, stats = g.g.sdpa(name="attention", q=g.tensor(q), k=g.tensor(k), v=g.tensor(v), generate_stats=True, attn_scale=SCALE, **more)
    g.result(out, (B, H, Q, D))
    g.result(stats, (B, H, Q, 1), np.float32)
    return off(g.run(), attend(q, k, v, mask)[:2])


def gradients(causal):
    q, k, v, dy = normal(B, H, Q, D), normal(B, SHARED, KV, D), normal(B, SHARED, KV, D), normal(B, H, Q, D)
    out, stats, weights = attend(q, k, v, np.tri(Q, KV, dtype=bool) if causal else True)
    g = Graph()
    t = [g.tensor(x) for x in (q, k, v, out.astype(np.float16), dy)]
    found = g.g.sdpa_backward(q=t[0], k=t[1], v=t[2], o=t[3], dO=t[4], stats=g.tensor(stats.astype(np.float32)), attn_scale=SCALE,
                              use_causal_mask=causal)
    for gradient, like in zip(found, (q, k, v)):
        g.result(gradient, like.shape)
    whole = dy.astype(np.float64)
    keys, values = (np.repeat(x.astype(np.float64), H // SHARED, axis=1) for x in (k, v))
    slopes = weights * (whole @ values.swapaxes(2, 3) - (whole * out).sum(-1, keepdims=True)) * SCALE
    grouped = (B, SHARED, H // SHARED, KV, D)
    return off(g.run(), [slopes @ keys, (slopes.swapaxes(2, 3) @ q).reshape(grouped).sum(2),
                         (weights.swapaxes(2, 3) @ whole).reshape(grouped).sum(2)])


def main():
    results = {"convolution and relu": convolution(), "product and addition": product()}
    for implementation in ("COMPOSITE", "UNIFIED"):
        for causal, lengths in ((False, False), (True, False), (True, True)):
            what = f"attention, {implementation.lower()}{', causal' if causal else ''}{', lengths' if lengths else ''}"
            results[what] = attention(implementation, causal, lengths)
    results |= {f"its gradients{', causal' if causal else ''}": gradients(causal) for causal in (False, True)}
    for name, result in results.items():
        print(f"{name}: {result:.1e}", flush=True)
    print("PASS" if max(results.values()) <= 5e-3 and not math.isnan(sum(results.values())) else "FAIL")


if __name__ == "__main__":
    main()
