/* memory.h: what the calls that ask for device memory share. */
#pragma once

#include "cuda_table.h"
#include "remote/client/ranges.h"

#include <stdbool.h>

/* Kinds of ranges that cuMemFree() and cuMemFreeAsync() free. */
#define MEMORY_FREED (1u << RANGE_DEVICE | 1u << RANGE_POOL)

/* One request for memory. `sent`: its values. */
struct memory_want {
	enum cuda_call call;
	uint64_t sent[3];
	size_t count;
	CUstream stream; /* of stream-ordered ones */
	CUmemoryPool pool;
	bool ordered;
};

struct client_call;

/*
 * Where it lies: stream-ordered memory is its pool's or its stream's, not always that of the context `current`. The
 * call has used both.
 */
CUdevice memory_device(const struct memory_want *want, const struct client_call *c, uint64_t current);
/* A context is current, and what the call gives out has a place to go. */
CUresult memory_begin(bool good);
/*
 * Asks the worker until an address comes that is free here too; the range is known then. *ret_pitch: a second result,
 * where there is one, or NULL.
 */
CUresult memory_get(const struct memory_want *want, struct range *range, size_t *ret_pitch);
/* Memory of a pool that was freed out of the stream's order. */
void ordered_gone(const struct range *range);
