"""CuPy holds NVIDIA's CUDA runtime: what asks the driver is answered, all else is CuPy's own exception, whose reason mete says once."""
import cupy

assert cupy.cuda.runtime.driverGetVersion() >= 12000
for call in (cupy.cuda.runtime.getDeviceCount, lambda: cupy.cuda.Device(0).mem_info, lambda: cupy.arange(4)):
    try:
        call()
        raise SystemExit("a call of the runtime came through")
    except cupy.cuda.runtime.CUDARuntimeError as error:
        assert "cudaErrorSymbolNotFound" in str(error), error
print("PASS")
