/*
 * memory.h: meters allocations whose size the program gives.
 *
 * The requested size is charged before the call, in units of 512 bytes; HIP does not report its blocks. The library
 * chooses the pitch of pitched memory and the layout of an array. A pitched allocation is charged with its actual rows,
 * an array with its elements.
 */
#pragma once

#include "core/charge.h"
#include "hip/start.h"

#include <stdbool.h>
#include <stdint.h>

/* One allocation in progress. */
struct making {
	struct charge charge;
	bool charged;
};

/* Charges an allocation on the current device. hipSuccess: make the call, then memory_made(). */
hipError_t memory_begin(struct making *m, uint64_t bytes);
/* The same on a device of the grant. */
hipError_t memory_begin_on(struct making *m, unsigned int device, uint64_t bytes);

/* After the call. `kind` and `extra`: of the record (core/records.h). False: undo the call; there is no record. */
bool memory_made(struct making *m, hipError_t r, uint64_t key, uint8_t kind, uint32_t extra);

/* Refunds the charge of a removed record. Outside the gate. */
void memory_give(unsigned int device, uint32_t units);
