/*
 * memory.h: meters allocations of device memory whose size the program gives.
 *
 * The requested size is charged before the call, in units of 512 bytes; Level Zero does not report its blocks. Memory
 * that the driver frees later (zeMemFreeExt(), zeContextDestroy()) stays charged until the driver has freed it.
 */
#pragma once

#include "core/charge.h"
#include "core/records.h"
#include "levelzero/start.h"

#include <stdbool.h>
#include <stdint.h>

/* One allocation in progress. */
struct making {
	struct charge charge;
	const void *owner; /* Level Zero's context */
	bool charged;
};

/* Charges an allocation. ZE_RESULT_SUCCESS: make the call, then memory_made(). */
ze_result_t memory_begin(struct making *m, ze_context_handle_t context, ze_device_handle_t device, uint64_t bytes);
/* After the call. `kind` and `extra`: of the record (core/records.h). False: undo the call; there is no record. */
bool memory_made(struct making *m, ze_result_t r, uint64_t key, uint8_t kind, uint32_t extra);

/* Refunds the charge of a removed record. Outside the gate. */
void memory_give(unsigned int device, uint32_t units);

/* Refunds memory that the driver has freed meanwhile. Returns whether there was some. */
bool memory_look(unsigned int device);

/* Around the call that destroys a context: refunds the memory that the driver frees with it. */
struct memory_estate {
	struct record *list;
	size_t count;
};
void memory_context_leaves(ze_context_handle_t context, struct memory_estate *ret);
void memory_context_left(struct memory_estate *estate, bool gone);

/* In the child of fork(). */
void memory_forget(void);
