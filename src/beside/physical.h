/*
 * physical.h: physical memory, which a program creates as a handle and maps at addresses. It is charged when it is
 * created, and refunded when its last handle is freed and its last mapping has ended.
 */
#pragma once

#include "beside/memory.h"

/* After memory_begin_on() and the call. False: free the handle and return VENDOR_NO_MEMORY to the program. */
bool physical_made(struct making *m, vendor_result r, uint64_t handle);

/* Adds a reference to the handle. */
vendor_result physical_held(vendor_result r, uint64_t handle);

/* Around a call that frees or maps a handle, or ends a mapping. */
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
