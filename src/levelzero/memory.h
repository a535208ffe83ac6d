/*
 * memory.h: memory of the device, of which the program says how much it wants.
 *
 * Charged before the call, in units of 512 bytes of what is asked for; Level Zero tells nowhere what its blocks are.
 * Memory that the driver frees later (zeMemFreeExt(), zeContextDestroy()) stays charged until it is no memory of the
 * driver's any more.
 */
#pragma once

#include "core/charge.h"
#include "core/records.h"
#include "levelzero/start.h"

#include <stdbool.h>
#include <stdint.h>

/* One allocation on its way. */
struct making {
	struct charge charge;
	const void *owner; /* Level Zero's context */
	bool charged;
};

/* ZE_RESULT_SUCCESS: the call may be made; then memory_made(). */
ze_result_t memory_begin(struct making *m, ze_context_handle_t context, ze_device_handle_t device, uint64_t bytes);
/* After the call. `kind` and `extra`: of the record (core/records.h). False: it is to be undone, and is no memory. */
bool memory_made(struct making *m, ze_result_t r, uint64_t key, uint8_t kind, uint32_t extra);

/* Gives back what was charged for a record that was taken out. Outside the gate. */
void memory_give(unsigned int device, uint32_t units);

/* Gives back what the driver has let go of meanwhile. Value: there was some. */
bool memory_look(unsigned int device);

/* Around the call that destroys a context: what of its memory the driver frees with it is given back. */
struct memory_estate {
	struct record *list;
	size_t count;
};
void memory_context_leaves(ze_context_handle_t context, struct memory_estate *ret);
void memory_context_left(struct memory_estate *estate, bool gone);

/* In the child of fork(). */
void memory_forget(void);
