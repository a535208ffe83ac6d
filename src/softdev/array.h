/*
 * array.h: arrays and mipmapped arrays: opaque to the program, rows of elements to the driver.
 *
 * An array takes its logical bytes, rounded up to 512, from the device. Levels of a mipmap share its memory.
 */
#pragma once

#include "softdev/handle.h"
#include "softdev/memory.h"

#define MIPMAP_LEVELS 18u

struct array {
	struct handle head;
	struct range *range; /* owned unless a level of a mipmap */
	struct mipmap *mipmap;
	struct context *context;
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	uint64_t data;
	size_t element_bytes;
	size_t row_bytes, height, depth; /* at least 1 each */
};

struct mipmap {
	struct handle head;
	struct range *range;
	struct context *context;
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	unsigned levels;
	struct array *level[MIPMAP_LEVELS];
};

CUresult array_find(CUarray h, struct array **ret);
/* The bytes of an array of this shape, or with `levels` above 0 of a mipmap; 0: there is no such shape. */
uint64_t array_need_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels);
/* Frees all arrays of the context, without their memory, which is freed with its ranges. */
void array_free_all(struct context *c);
