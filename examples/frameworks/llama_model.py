"""llama.cpp (cyllama's package): tiny models of random weights give the logits of the processor; too large a cache is its own exception."""
import collections
import os
import tempfile

import gguf
import numpy as np
from cyllama.llama import llama_cpp as llama

Shape = collections.namedtuple("Shape", "width heads layers hidden")
SMALL = Shape(256, 4, 2, 512)
WORDS, PROMPT, MORE = 260, 40, 8
KINDS = {"f32": ("F32", 1e-2), "f16": ("F16", 1e-2), "q8_0": ("Q8_0", 5e-2), "q4_0": ("Q4_0", 1e-1)}


def model_write(path, kind, shape=SMALL):
    """A Llama whose matrices have the type; its vocabulary is the 256 bytes."""
    random = np.random.default_rng(11)
    out = gguf.GGUFWriter(path, "llama")
    out.add_context_length(1 << 22)
    out.add_embedding_length(shape.width)
    out.add_block_count(shape.layers)
    out.add_feed_forward_length(shape.hidden)
    out.add_head_count(shape.heads)
    out.add_head_count_kv(shape.heads)
    out.add_rope_dimension_count(shape.width // shape.heads)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_vocab_size(WORDS)
    out.add_tokenizer_model("llama")
    out.add_token_list([b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(256)] + [b"a"])
    out.add_token_scores([0.0] * WORDS)
    out.add_token_types([2, 3, 3] + [6] * 256 + [1])

    def matrix(name, rows, columns):
        values = random.standard_normal((rows, columns), dtype=np.float32) / np.sqrt(columns)
        quantized = gguf.GGMLQuantizationType[kind]
        out.add_tensor(name, gguf.quants.quantize(values, quantized), raw_dtype=quantized)

    matrix("token_embd.weight", WORDS, shape.width)
    matrix("output.weight", WORDS, shape.width)
    out.add_tensor("output_norm.weight", np.ones(shape.width, np.float32))
    for i in range(shape.layers):
        for name in ("attn_norm", "ffn_norm"):
            out.add_tensor(f"blk.{i}.{name}.weight", random.random(shape.width, np.float32) + 0.5)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            matrix(f"blk.{i}.{name}.weight", shape.width, shape.width)
        matrix(f"blk.{i}.ffn_gate.weight", shape.hidden, shape.width)
        matrix(f"blk.{i}.ffn_up.weight", shape.hidden, shape.width)
        matrix(f"blk.{i}.ffn_down.weight", shape.width, shape.hidden)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


class Model(llama.LlamaModel):
    n_vocab = WORDS  # cyllama 0.2.18 reads it for the logits and does not set it


def model_open(path, layers):
    parameters = llama.LlamaModelParams()
    parameters.n_gpu_layers = layers
    return Model(path, parameters)


def context_open(model, length, device):
    parameters = llama.LlamaContextParams()
    parameters.n_ctx, parameters.n_batch = length, 64
    parameters.offload_kqv = parameters.op_offload = device
    return llama.LlamaContext(model, parameters)


def logits_of(path, layers, tokens):
    """The logits after the prompt and after each further token."""
    model = model_open(path, layers)
    context = context_open(model, 256, layers > 0)
    found = []
    for start, end in [(0, PROMPT)] + [(i, i + 1) for i in range(PROMPT, PROMPT + MORE)]:
        context.decode(llama.llama_batch_get_one(tokens[start:end], start))
        found.append(np.array(context.get_logits_ith(-1), np.float32))
    context.close()
    model.close()
    return np.stack(found)


llama.disable_logging()
llama.ggml_backend_load_all()


def main():
    assert llama.llama_supports_gpu_offload()
    tokens = [int(t) for t in np.random.default_rng(5).integers(3, WORDS, PROMPT + MORE)]
    with tempfile.TemporaryDirectory() as folder:
        for name, (kind, tolerance) in KINDS.items():
            path = os.path.join(folder, name + ".gguf")
            model_write(path, kind)
            want, have = logits_of(path, 0, tokens), logits_of(path, 99, tokens)
            error = np.abs(want - have).max() / np.abs(want).max()
            assert error < tolerance, f"{name}: the logits differ by {error}"
            if os.environ.get("LLAMA_SHOW"):
                print(name, error)
        model = model_open(path, 99)
        try:
            context_open(model, 1 << 24, True)
            raise SystemExit("a cache of 32 GiB was given")
        except (MemoryError, RuntimeError, ValueError):
            pass
        model.close()
        again = logits_of(path, 99, tokens)
        np.testing.assert_array_equal(again, have)
    print("PASS")


if __name__ == "__main__":
    main()
