/*
 * physical.h: memory that is made as a handle and mapped at addresses: charged when it is made, and given back when the
 * last handle is freed and the last mapping gone.
 */
#pragma once

#include "beside/memory.h"

/* Begun by memory_begin_on(). False: the handle is to be freed, and the program gets VENDOR_NO_MEMORY. */
bool physical_made(struct making *m, vendor_result r, uint64_t handle);

/* One more holds the handle. */
vendor_result physical_held(vendor_result r, uint64_t handle);

/* Around a call that frees a handle, or maps one, or ends a mapping. */
struct letting {
	uint64_t handle, units, device, at, size;
	bool last, entered;
	unsigned int before;
};

void physical_free_begin(struct letting *l, uint64_t handle);
vendor_result physical_free_end(struct letting *l, vendor_result r);

void physical_map_begin(struct letting *l, uint64_t at, uint64_t handle);
vendor_result physical_map_end(struct letting *l, vendor_result r);

void physical_unmap_begin(struct letting *l, uint64_t at);
vendor_result physical_unmap_end(struct letting *l, vendor_result r);

/* In the child of fork(). */
void physical_forget(void);
