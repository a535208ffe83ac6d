/*
 * copy.h: a copy as the program requests it, by whichever call: a box of bytes from one side to the other. copy_run()
 * determines the location of both sides, checks what can be checked here, and divides the copy into requests
 * (remote/copy.h).
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;

struct copy_end {
	CUmemorytype type;
	uint64_t address;
	CUarray array;
	size_t x, y, z, lod;
	size_t pitch, height; /* 0: rows, slices are contiguous */
};

struct copy {
	struct copy_end from, to;
	size_t width, height, depth;
	CUstream stream;
	bool async;
	struct session *at; /* device addresses are this worker's, even if unknown here; or NULL */
	bool read_now; /* the source must have been read when the call returns, pinned or not */
};

CUresult copy_run(const struct copy *copy);
/* The same without considering unified.h. */
CUresult copy_plain(const struct copy *copy);
/*
 * Several contiguous copies, each from a device to pageable memory of this process: all are requested before the first
 * is waited for. All are done, or the first error.
 */
CUresult copy_out_all(const struct copy *copies, size_t count);
/* Checks for errors that can be found without a request. */
CUresult copy_check(const struct copy *copy);

#define ADDRESS(p) ((uint64_t)(uintptr_t)(p))

/* Synchronous copies run in the null stream; their twins run in the per-thread stream. */
#define AT_ONCE(symbol, parameters, function, ...)                                                                     \
	CUresult client_##symbol parameters                                                                            \
	{                                                                                                              \
		return function(__VA_ARGS__, NULL, false);                                                             \
	}                                                                                                              \
	CUresult client_##symbol##_ptds parameters                                                                     \
	{                                                                                                              \
		return function(__VA_ARGS__, CU_STREAM_PER_THREAD, false);                                             \
	}
