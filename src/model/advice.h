/*
 * advice.h: a program's advice about managed memory and the places that it prefetched to, stored by page for queries.
 * It moves no memory.
 *
 * Pure. Used by the software device, and by the client of a worker, whose managed memory the driver does not know. A
 * list covers the pages of its range without gaps, in order; NULL: a range without advice.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct advice;

struct advice_span {
	uint64_t begin, bytes;
};

void advice_free(struct advice *list);

/* The existing places: the devices, and whether a NUMA node exists. */
struct advice_places {
	unsigned int device_count;
	bool (*node_there)(int node);
};

/* Checks that a place exists. */
CUresult advice_place_check(const CUmemLocation *place, struct advice_places there);
/*
 * Checks the places of a batch of `ranges` ranges: each place applies from the range with index `from` to that of the
 * next place. All must exist, and the indices must begin at 0 and increase.
 */
CUresult advice_places_check(const CUmemLocation *place, const size_t *from, size_t count, size_t ranges,
			     struct advice_places there);
/* Returns the index of the place for range number `range`, if the range before used place `at`; 0 for the first. */
size_t advice_place_next(const size_t *from, size_t count, size_t at, size_t range);
/* Converts the ordinal of older calls, or CU_DEVICE_CPU, into a place. */
CUmemLocation advice_place_of(CUdevice ordinal);
/* Checks an advice and, where it matters, its place; the values are those of advice_place_check(). */
CUresult advice_check(CUmem_advise what, const CUmemLocation *place, struct advice_places there);

/*
 * Stores an advice or a prefetch for a part of the range `whole`, rounded outwards to pages. CUDA_SUCCESS, or
 * _OUT_OF_MEMORY: nothing changed.
 */
CUresult advice_give(struct advice **list, struct advice_span whole, struct advice_span part, CUmem_advise what,
		     const CUmemLocation *place);
CUresult advice_prefetched(struct advice **list, struct advice_span whole, struct advice_span part,
			   const CUmemLocation *place);

/* True if each attribute of a query exists, has a destination, and has the size that it needs. */
bool advice_query_good(void *const *data, const size_t *data_bytes, const CUmem_range_attribute *attribute,
		       size_t count);
/* Returns the values on which all pages of the part agree. CUDA_SUCCESS or _OUT_OF_MEMORY. The query was checked. */
CUresult advice_query(struct advice **list, struct advice_span whole, struct advice_span part,
		      unsigned int device_count, void *const *data, const size_t *data_bytes,
		      const CUmem_range_attribute *attribute, size_t count);
