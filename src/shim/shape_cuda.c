/* shape_cuda.c: CUDA's own names (core/shape.h). */
#include "core/shape.h"
#include "cuda_shim.h"

#pragma GCC visibility push(default)
CUresult cuInit(unsigned int Flags);
#pragma GCC visibility pop

const struct shape shape = {
	.library = "libcuda.so.1",
	.plain = "cu",
	.prefix = "cu",
	.visible = "CUDA_VISIBLE_DEVICES",
	.init = (void *)cuInit,
};
