"""bitsandbytes: 8-bit blocks quantised and back as on the processor, but for values in the middle between two codes."""
import bitsandbytes.functional as F
import torch

torch.manual_seed(7)
a, code = torch.randn(4096), F.create_dynamic_map()
want, state = F.quantize_blockwise(a, code=code.clone(), blocksize=256)
have, on_device = F.quantize_blockwise(a.cuda(), code=code.cuda(), blocksize=256)
apart = (have.cpu().int() - want.int()).abs()
places = apart.nonzero().flatten()
middle = (code[have.cpu().int()] + code[want.int()]) / 2
assert apart.max() <= 1 and ((a / state.absmax.repeat_interleave(256) - middle)[places].abs() < 2e-5).all(), apart.sum()
torch.testing.assert_close(on_device.absmax.cpu(), state.absmax)
state.absmax = on_device.absmax.cpu()
torch.testing.assert_close(F.dequantize_blockwise(have, on_device).cpu(), F.dequantize_blockwise(have.cpu(), state))
print("PASS")
