"""
numba's arrays at three points, at each of which the program says HELD and waits for a line: arrays, all that the quota has room for,
nothing. Whoever reads it compares the account with the device's own count.
"""
import sys

import numpy as np
from numba import cuda

MIB = 1 << 20


def held(what):
    cuda.synchronize()
    print(f"HELD 0 {what}", flush=True)
    sys.stdin.readline()


@cuda.jit
def doubled(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


arrays = [cuda.to_device(np.arange(n, dtype=np.float32)) for n in (7, 100_000, 3_000_000)]
doubled[200, 512](arrays[1])
held("three arrays and a kernel")
blocks = []
try:
    while True:
        blocks.append(cuda.device_array(24 * MIB, np.uint8))
except cuda.cudadrv.driver.CudaAPIError as e:
    assert "OUT_OF_MEMORY" in str(e), e
    held("until the quota is full")
same = np.array_equal(arrays[1].copy_to_host(), np.arange(100_000, dtype=np.float32) * 2)
del arrays, blocks
cuda.current_context().deallocations.clear()
held("what numba keeps")
print("PASS" if same else "FAIL")
sys.exit(not same)
