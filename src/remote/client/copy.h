/*
 * copy.h: a copy as the program asks for it, whatever the call: a box of bytes from one side to the other. copy_run()
 * finds out what lies where, checks what can be checked here, and cuts it into requests (remote/copy.h).
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
	size_t pitch, height; /* 0: rows, slices without gaps */
};

struct copy {
	struct copy_end from, to;
	size_t width, height, depth;
	CUstream stream;
	bool async;
	struct session *at; /* device addresses are this worker's, whatever is known of them here; or NULL */
	bool read_now; /* the source has been read when the call returns, pinned or not */
};

CUresult copy_run(const struct copy *copy);
/* The same without looking at unified.h. */
CUresult copy_plain(const struct copy *copy);
/*
 * Several, each from a device to pageable memory of this process without gaps: all are asked for before any is waited
 * for. All are done, or the first error.
 */
CUresult copy_out_all(const struct copy *copies, size_t count);
/* What of it can be found wrong without sending anything. */
CUresult copy_check(const struct copy *copy);

#define ADDRESS(p) ((uint64_t)(uintptr_t)(p))

/* Calls that copy at once do it in the null stream: the twin's is the thread's own. */
#define AT_ONCE(symbol, parameters, function, ...)                                                                     \
	CUresult client_##symbol parameters                                                                            \
	{                                                                                                              \
		return function(__VA_ARGS__, NULL, false);                                                             \
	}                                                                                                              \
	CUresult client_##symbol##_ptds parameters                                                                     \
	{                                                                                                              \
		return function(__VA_ARGS__, CU_STREAM_PER_THREAD, false);                                             \
	}
