/* memory.h: what the calls that allocate device memory share. */
#pragma once

#include "cuda_table.h"
#include "remote/client/ranges.h"

#include <stdbool.h>

/* Kinds of ranges that cuMemFree() and cuMemFreeAsync() free. */
#define MEMORY_FREED (1u << RANGE_DEVICE | 1u << RANGE_POOL)

/* One allocation request. `sent`: its values. */
struct memory_want {
	enum cuda_call call;
	uint64_t sent[3];
	size_t count;
	CUstream stream; /* of stream-ordered requests */
	CUmemoryPool pool;
	bool ordered;
};

struct client_call;

/*
 * The device of the memory: stream-ordered memory is on the device of its pool or stream, which may differ from that of
 * the context `current`. The call has used both.
 */
CUdevice memory_device(const struct memory_want *want, const struct client_call *c, uint64_t current);
/*
 * Begins an allocating call. `good`: its result pointers are valid. Value: CUDA_SUCCESS, the error of a missing
 * context, or CUDA_ERROR_INVALID_VALUE.
 */
CUresult memory_begin(bool good);
/*
 * Requests memory from the worker until its address is also free here; the range is then known. *ret_pitch: a second
 * result, if there is one, or NULL.
 */
CUresult memory_get(const struct memory_want *want, struct range *range, size_t *ret_pitch);
/* Drops memory of a pool that was freed outside the stream's order. */
void ordered_gone(const struct range *range);
