/* copy.h: from the driver's descriptions of a copy or a fill to checked work. */
#pragma once

#include "softdev/work.h"

/* Checks all sides and fills in w->copy. An empty copy becomes WORK_EMPTY. */
CUresult copy_describe(const CUDA_MEMCPY3D *d, struct work *ret);
/* A fill of `width` elements of `element` bytes in each of `height` rows. */
CUresult fill_describe(CUdeviceptr target, size_t pitch, uint32_t value, uint32_t element, size_t width, size_t height,
		       struct work *ret);
