/* ring_program.h: what the programs of the ring's benchmarks have in common: a kernel, and batches by size. */
#pragma once

#include "stamp_ptx.h"

#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>

#define BATCHES_MOST 1001

static CUfunction kernel; /* of one word, stamp(word, words, seed) */

/* The end, unless it has worked. */
static inline void must(CUresult r, const char *what)
{
	if (r == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, (int)r);
	exit(1);
}

static inline void prepare_kernel(void)
{
	CUcontext context;
	CUmodule module;

	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, stamp_ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&kernel, module, "stamp"), "cuModuleGetFunction");
}

/* For qsort() of the batches' figures. */
static inline int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}
