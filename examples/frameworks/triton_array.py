"""
Arrays for Triton without PyTorch: memory by the driver's binding, in the primary context of device 0, which is current after the
import. A program imports it from its own folder.
"""
import numpy as np
import triton.language as tl
from cuda.bindings import driver as cu


def call(answer):
    """The result of a call of the binding; an exception when the call failed."""
    if answer[0] != 0:
        raise RuntimeError(answer[0])
    return answer[1] if len(answer) == 2 else None


call(cu.cuInit(0))
call(cu.cuCtxSetCurrent(call(cu.cuDevicePrimaryCtxRetain(call(cu.cuDeviceGet(0))))))


class Array:
    """What Triton asks of a tensor: a type, an address, a shape. NumPy has no bf16 and no f8: their bits are unsigned integers."""
    TYPES = {"float32": tl.float32, "float16": tl.float16, "int32": tl.int32, "int64": tl.int64, "int8": tl.int8,
             "uint16": tl.bfloat16, "uint8": tl.float8e4nv}

    def __init__(self, host):
        self.host = np.ascontiguousarray(host)
        self.dtype, self.shape = self.TYPES[self.host.dtype.name], self.host.shape
        self.address = int(call(cu.cuMemAlloc(max(self.host.nbytes, 16))))
        call(cu.cuMemcpyHtoD(self.address, self.host.ctypes.data, self.host.nbytes))

    def data_ptr(self):
        return self.address

    def stride(self, i=None):
        s = [v // self.host.itemsize for v in self.host.strides]
        return s if i is None else s[i]

    def element_size(self):
        return self.host.itemsize

    def get(self):
        out = np.empty_like(self.host)
        call(cu.cuCtxSynchronize())
        call(cu.cuMemcpyDtoH(out.ctypes.data, self.address, out.nbytes))
        return out
