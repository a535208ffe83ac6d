#!/usr/bin/env python3
"""
llama.cpp (cyllama's package): one product of a 4-bit matrix and a vector, on the software device and on llama.cpp's own processor
backend, against the same product in f64.

  mete soft run python bench/frameworks/llama_product.py [--tokens N]

The model's layers add nothing, so its logits are one product: the output matrix times the normalised embedding of the last token. Both
sides round that vector to 8 bits, each in its own way. An error is the root mean square of the differences over that of the logits.
`rounded` compares the device with an f64 product of the vector as CUDA's kernels round it (q8_1: blocks of 32, a scale and a sum of 16
bits each). It is far below the others if the device computes what the kernel says.
"""
import argparse
import os
import sys
import tempfile

import gguf
import numpy as np

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(root, "examples/frameworks"))
import llama_model as model  # noqa: E402

llama = model.llama
WIDTH = 1024
SCALES = {"Q4_0": 1, "Q4_K": 2}  # of a block, f16 each, at its beginning


def blocks(kind, rows, random):
    """Random blocks of the type, as bytes: all numbers that it has, with scales around 0.01."""
    values, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
    data = random.integers(0, 256, (rows * WIDTH // values, size), np.uint8)
    scales = (random.random((len(data), SCALES[kind])) * 0.01 + 0.005).astype(np.float16)
    data[:, :2 * SCALES[kind]] = scales.view(np.uint8)
    return data.reshape(rows, -1)


def model_write(path, kind, output, embedding):
    out = gguf.GGUFWriter(path, "llama")
    out.add_context_length(512)
    out.add_embedding_length(WIDTH)
    out.add_block_count(1)
    out.add_feed_forward_length(WIDTH)
    out.add_head_count(WIDTH // 64)
    out.add_head_count_kv(WIDTH // 64)
    out.add_rope_dimension_count(64)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_vocab_size(model.WORDS)
    out.add_tokenizer_model("llama")
    out.add_token_list([b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(256)] + [b"a"])
    out.add_token_scores([0.0] * model.WORDS)
    out.add_token_types([2, 3, 3] + [6] * 256 + [1])
    out.add_tensor("token_embd.weight", embedding)
    out.add_tensor("output.weight", output, raw_dtype=gguf.GGMLQuantizationType[kind])
    out.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for name in ("attn_norm", "ffn_norm"):
        out.add_tensor(f"blk.0.{name}.weight", np.ones(WIDTH, np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        out.add_tensor(f"blk.0.{name}.weight", np.zeros((WIDTH, WIDTH), np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def logits(path, layers, tokens):
    loaded = model.model_open(path, layers)
    parameters = llama.LlamaContextParams()
    parameters.n_ctx = parameters.n_batch = 64
    parameters.n_threads = parameters.n_threads_batch = 1
    parameters.offload_kqv = parameters.op_offload = layers > 0
    context = llama.LlamaContext(loaded, parameters)
    rows = []
    for place, token in enumerate(tokens):
        context.decode(llama.llama_batch_get_one([token], place))
        rows.append(np.array(context.get_logits_ith(-1), np.float64))
    return np.array(rows)


def rounded(kind, output, matrix, x):
    """The product of x as CUDA's kernels round it. Q4_0 takes 8 times the sum of the exact values from its products."""
    b = x.reshape(-1, 32)
    d = np.abs(b).max(1) / np.float32(127)
    q = np.trunc(b / d[:, None] + np.copysign(np.float32(0.5), b)).astype(np.float64)
    d = d.astype(np.float16).astype(np.float64)
    if kind != "Q4_0":
        return matrix @ (q * d[:, None]).ravel()
    raw = output.reshape(len(matrix), -1, 18)
    scale = np.ascontiguousarray(raw[:, :, :2]).view(np.float16)[:, :, 0].astype(np.float64)
    four = np.concatenate([raw[:, :, 2:] & 15, raw[:, :, 2:] >> 4], 2).astype(np.float64)
    sums = b.sum(1).astype(np.float16).astype(np.float64)
    return (scale * ((four * q).sum(2) * d - 8 * sums)).sum(1)


def apart(a, b):
    return float(np.sqrt(((a - b) ** 2).mean() / (b ** 2).mean()))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tokens", type=int, default=8)
    args = p.parse_args()
    random = np.random.default_rng(3)
    embedding = random.standard_normal((model.WORDS, WIDTH), dtype=np.float32)
    tokens = [int(t) for t in random.integers(3, model.WORDS, args.tokens)]
    bad = False
    for kind in SCALES:
        output = blocks(kind, model.WORDS, random)
        matrix = gguf.quants.dequantize(output, gguf.GGMLQuantizationType[kind]).astype(np.float64)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.gguf")
            model_write(path, kind, output, embedding)
            processor, device = logits(path, 0, tokens), logits(path, 99, tokens)
        rows = [embedding[t] / np.float32(np.sqrt(np.mean(embedding[t].astype(np.float64) ** 2) + 1e-5)) for t in tokens]
        exact = np.array([matrix @ r.astype(np.float64) for r in rows])
        ours = apart(device, np.array([rounded(kind, output, matrix, r) for r in rows]))
        print(f"{kind}: processor {apart(processor, exact):.2e}  device {apart(device, exact):.2e}  "
              f"apart {apart(device, processor):.2e}  rounded {ours:.2e}")
        bad |= not ours < 1e-4
    if bad:
        raise SystemExit("the device does not compute what the kernel says")


main()
