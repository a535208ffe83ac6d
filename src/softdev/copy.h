/* copy.h: converts the driver's descriptions of a copy or a fill to checked work. */
#pragma once

#include "softdev/work.h"

/*
 * Checks all sides and sets w->copy. An empty copy becomes WORK_EMPTY. `later`: for a graph, whose own memory need not
 * be allocated yet.
 */
CUresult copy_describe(const CUDA_MEMCPY3D *d, bool later, struct work *ret);
/* Queues it on the stream, following the vendor's documented behaviour for memory that the driver does not know. */
CUresult copy_submit(struct work *w, CUstream stream, bool wait);
/* A fill of `width` elements of `element` bytes in each of `height` rows. */
CUresult fill_describe(CUdeviceptr target, size_t pitch, uint32_t value, uint32_t element, size_t width, size_t height,
		       bool later, struct work *ret);
