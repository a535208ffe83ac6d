"""Warp holds NVIDIA's CUDA runtime: devices and their memory are there, an allocation is Warp's own exception, whose reason mete says once."""
import warp

warp.config.quiet = True
warp.init()
assert warp.get_cuda_device_count() >= 1
device = warp.get_device("cuda:0")
assert 0 < device.free_memory <= device.total_memory, (device.free_memory, device.total_memory)
try:
    warp.zeros(4, device=device)
    raise SystemExit("an allocation by the runtime came through")
except RuntimeError as error:
    assert "Failed to allocate" in str(error), error
print("PASS")
