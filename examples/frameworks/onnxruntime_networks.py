"""ONNX Runtime: operators that its CUDA provider gives to cuDNN and cuBLAS, all on the device, and on the processor."""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

onnxruntime.set_default_logger_severity(4)
random = np.random.default_rng(1)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def recurrent(kind, gates, **more):
    weights = [("w", normal(1, 5 * gates, 4)), ("r", normal(1, 5 * gates, 5)), ("b", normal(1, 10 * gates))]
    return helper.make_node(kind, ["x", "w", "r", "b"], ["y"], hidden_size=5, **more), normal(6, 3, 4), weights


# What it is: the node, its input, and its weights.
NODES = {
    "Conv": (helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2]), normal(2, 4, 9, 9),
             [("w", normal(6, 4, 3, 3)), ("b", normal(6))]),
    "Conv in groups": (helper.make_node("Conv", ["x", "w"], ["y"], group=2), normal(2, 4, 9, 9), [("w", normal(6, 2, 3, 3))]),
    "ConvTranspose": (helper.make_node("ConvTranspose", ["x", "w"], ["y"]), normal(2, 4, 5, 5), [("w", normal(4, 6, 3, 3))]),
    "MaxPool": (helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2]), normal(2, 4, 9, 9), []),
    "AveragePool": (helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3]), normal(2, 4, 9, 9), []),
    "BatchNormalization": (helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"]), normal(2, 4, 9, 9),
                           [(n, np.abs(normal(4))) for n in "sbmv"]),
    "MatMul": (helper.make_node("MatMul", ["x", "w"], ["y"]), normal(3, 8, 16), [("w", normal(16, 12))]),
    "Gemm": (helper.make_node("Gemm", ["x", "w"], ["y"], transB=1), normal(8, 16), [("w", normal(12, 16))]),
    "LSTM": recurrent("LSTM", 4),
    "GRU": recurrent("GRU", 3, linear_before_reset=1),
    "RNN": recurrent("RNN", 1),
    "ReduceL2": (helper.make_node("ReduceL2", ["x"], ["y"], axes=[1]), normal(6, 32), []),
}


def run(node, x, weights, provider):
    graph = helper.make_graph([node], "graph", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(v, n) for n, v in weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    options = onnxruntime.SessionOptions()
    if provider != "CPUExecutionProvider":
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return onnxruntime.InferenceSession(model, options, providers=[provider]).run(None, {"x": x})[0]


def main():
    good = True
    for name, (node, x, weights) in NODES.items():
        here, there = (run(node, x, weights, provider) for provider in ("CUDAExecutionProvider", "CPUExecutionProvider"))
        off = float(np.abs(here - there).max() / np.abs(there).max())
        print(f"{name}: {off:.1e}", flush=True)
        good = good and off <= 1e-5
    print("PASS" if good else "FAIL")


if __name__ == "__main__":
    main()
