/*
 * vmm.h: memory by handle: create, map, share.
 *
 * A handle's memory is a shared mapping (of an object's file, when it may be exported), doubled by mremap to wherever
 * the program maps it. It is charged at cuMemCreate and refunded when the last reference and the last mapping are gone.
 */
#pragma once

#include "softdev/handle.h"
#include "softdev/memory.h"

struct allocation {
	struct handle head;
	struct device *device;
	CUmemAllocationProp props;
	uint64_t bytes;
	uint64_t object; /* id in the segment; 0: private to this process */
	void *home;	 /* the mapping that keeps it */
	/* memory_mutex guards the following */
	uint32_t references; /* the program's handles */
	uint32_t mappings;
};
