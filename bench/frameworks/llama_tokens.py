#!/usr/bin/env python3
"""
llama.cpp (cyllama's package): tokens a second of a q4_0 model of random weights, on the software device beside llama.cpp's own
processor backend, by turns.

  mete soft run python bench/frameworks/llama_tokens.py [--rounds N] [--width N] [--layers N] [--kind KIND] [--threads N] [--json]

Both have as many threads. The prompt is 64 tokens in one batch; after it 16 tokens come one by one. A ratio is the median over the
rounds of (time on the device) / (time on the processor), so below 1 the device is faster. The logits must agree. Goal: at most 4.

`cpu` is the same of the processor time of all threads. It is worth reading with one thread on each side, `mete soft run --threads 1` and
`--threads 1`: the processor backend's threads spin while they wait for each other.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

import numpy as np

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(root, "examples/frameworks"))
import llama_model as model  # noqa: E402

llama = model.llama
PROMPT, MORE = 64, 16


class Side:
    def __init__(self, path, layers, threads):
        self.model = model.model_open(path, layers)
        parameters = llama.LlamaContextParams()
        parameters.n_ctx, parameters.n_batch = 512, PROMPT
        parameters.n_threads = parameters.n_threads_batch = threads
        parameters.offload_kqv = parameters.op_offload = layers > 0
        self.context = llama.LlamaContext(self.model, parameters)

    def decode(self, tokens, place):
        """Seconds, seconds of all threads, and the logits."""
        begun, used = time.perf_counter(), time.process_time()
        self.context.decode(llama.llama_batch_get_one(tokens, place))
        logits = np.array(self.context.get_logits_ith(-1), np.float32)  # waits for the device
        return np.array([time.perf_counter() - begun, time.process_time() - used]), logits

    def turn(self, tokens):
        """Both seconds of the prompt and of a token after it, and the last logits."""
        self.context.kv_cache_clear()
        prompt, logits = self.decode(tokens[:PROMPT], 0)
        seconds = 0.0
        for place in range(PROMPT, PROMPT + MORE):
            took, logits = self.decode(tokens[place:place + 1], place)
            seconds += took
        return prompt, seconds / MORE, logits


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--width", type=int, default=1024)
    p.add_argument("--layers", type=int, default=8)
    p.add_argument("--kind", default="Q4_0")
    p.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    p.add_argument("--json", action="store_true")
    return p.parse_args()


def main():
    args = options()
    shape = model.Shape(args.width, args.width // 64, args.layers, args.width * 2)
    tokens = [int(t) for t in np.random.default_rng(5).integers(3, model.WORDS, PROMPT + MORE)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.gguf")
        model.model_write(path, args.kind, shape)
        size = os.path.getsize(path)
        sides = Side(path, 0, args.threads), Side(path, 99, args.threads)
        first = [s.turn(tokens) for s in sides]
        rounds = [[s.turn(tokens) for s in sides] for _ in range(args.rounds)]
    apart = max(float(np.abs(d[2] - p[2]).max() / np.abs(p[2]).max()) for p, d in [first] + rounds)
    result = {"model_mib": round(size / 2**20, 1), "threads": args.threads}
    for i, name in enumerate(("prompt", "token")):
        for k, clock in enumerate(("", "_cpu")):
            ratios = [d[i][k] / p[i][k] for p, d in rounds]
            result.update({f"{name}{clock}_processor_ms": round(1e3 * statistics.median(p[i][k] for p, d in rounds), 2),
                           f"{name}{clock}_device_ms": round(1e3 * statistics.median(d[i][k] for p, d in rounds), 2),
                           f"{name}{clock}_ratio": round(statistics.median(ratios), 2),
                           f"{name}{clock}_ratio_least": round(min(ratios), 2),
                           f"{name}{clock}_ratio_most": round(max(ratios), 2)})
    result["logits_apart"] = apart
    print(json.dumps(result) if args.json else "\n".join(f"{name:24} {value}" for name, value in result.items()))
    if apart > 0.15:
        raise SystemExit("the logits differ")


main()
