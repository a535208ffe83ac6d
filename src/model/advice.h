/*
 * advice.h: what a program has advised about managed memory, and where it has prefetched it to: kept page by page for
 * the queries. Nothing moves by it.
 *
 * Pure. Used by the software device, and by the client of a worker, whose managed memory the driver does not know. A
 * list covers its range's pages without gaps, in order; NULL is a range about which nothing has been said.
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

/* What there is: the devices, and whether there is such a NUMA node. */
struct advice_places {
	unsigned int device_count;
	bool (*node_there)(int node);
};

/* Whether there is such a place. */
CUresult advice_place_check(const CUmemLocation *place, struct advice_places there);
/*
 * The places of a batch of so many ranges: each is meant from the range whose index `from` has to the next place's. All
 * of them are there, and the indices begin at 0 and go up.
 */
CUresult advice_places_check(const CUmemLocation *place, const size_t *from, size_t count, size_t ranges,
			     struct advice_places there);
/* The place that range number `range` is meant for, when that before it was meant for number `at`; 0 for the first. */
size_t advice_place_next(const size_t *from, size_t count, size_t at, size_t range);
/* How the older calls name a place: an ordinal, or CU_DEVICE_CPU. */
CUmemLocation advice_place_of(CUdevice ordinal);
/* Whether the advice is one, and its place there where it counts; the values as of advice_place_check(). */
CUresult advice_check(CUmem_advise what, const CUmemLocation *place, struct advice_places there);

/* About the part of the range `whole`, rounded outwards to pages. CUDA_SUCCESS or _OUT_OF_MEMORY: nothing changed. */
CUresult advice_give(struct advice **list, struct advice_span whole, struct advice_span part, CUmem_advise what,
		     const CUmemLocation *place);
CUresult advice_prefetched(struct advice **list, struct advice_span whole, struct advice_span part,
			   const CUmemLocation *place);

/* Of a query: whether each attribute is one, has somewhere to go, and as many bytes as it takes. */
bool advice_query_good(void *const *data, const size_t *data_bytes, const CUmem_range_attribute *attribute,
		       size_t count);
/* What all pages of the part agree on. CUDA_SUCCESS or _OUT_OF_MEMORY. The query is good. */
CUresult advice_query(struct advice **list, struct advice_span whole, struct advice_span part,
		      unsigned int device_count, void *const *data, const size_t *data_bytes,
		      const CUmem_range_attribute *attribute, size_t count);
