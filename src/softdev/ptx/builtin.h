/* builtin.h: arguments and results of functions that the engine implements: places in the caller's call area. */
#pragma once

#include "softdev/ptx/engine.h"

#include <string.h>

static inline uint64_t builtin_argument(const struct warp *w, uint32_t lane, uint32_t offset, uint32_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, w->local + (size_t)lane * w->local_stride + offset, bytes);
	return v;
}

static inline void builtin_result(struct warp *w, const struct op *o, uint32_t lane, uint64_t v, uint32_t bytes)
{
	if (o->d != LOC_NONE)
		memcpy(w->local + (size_t)lane * w->local_stride + o->d, &v, bytes);
}
