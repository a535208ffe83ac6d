"""ONNX Runtime: its CUDA provider starts, and copies; its kernels have no PTX, which is its own exception, and it works on."""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

onnxruntime.set_default_logger_severity(4)
values = {n: helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "abc"}
graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["c"])], "graph", [values["a"], values["b"]], [values["c"]])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
a = np.arange(4, dtype=np.float32)


def run(provider):
    session = onnxruntime.InferenceSession(model, providers=[provider])
    assert session.get_providers()[0] == provider, session.get_providers()
    return session.run(None, {"a": a, "b": a})[0]


np.testing.assert_array_equal(onnxruntime.OrtValue.ortvalue_from_numpy(a, "cuda", 0).numpy(), a)
try:
    run("CUDAExecutionProvider")
    raise SystemExit("a kernel without PTX ran")
except Exception as error:  # onnxruntime.capi.onnxruntime_pybind11_state.Fail, which it does not export
    assert "no kernel image is available" in str(error), error
np.testing.assert_array_equal(run("CPUExecutionProvider"), 2 * a)
print("PASS")
