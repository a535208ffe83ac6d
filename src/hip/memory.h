/*
 * memory.h: memory of which the program says how much it wants.
 *
 * Charged before the call, in units of 512 bytes of what is asked for; HIP tells nowhere what its blocks are. A pitch
 * and the layout of an array are the library's: of a pitched allocation the rows that it made are charged, of an array
 * its elements.
 */
#pragma once

#include "core/charge.h"
#include "hip/start.h"

#include <stdbool.h>
#include <stdint.h>

/* One allocation on its way. */
struct making {
	struct charge charge;
	bool charged;
};

/* hipSuccess: the call may be made; then memory_made(). On the current device. */
hipError_t memory_begin(struct making *m, uint64_t bytes);
/* The same on a device of the grant. */
hipError_t memory_begin_on(struct making *m, unsigned int device, uint64_t bytes);

/* After the call. `kind` and `extra`: of the record (core/records.h). False: it is to be undone, and is no memory. */
bool memory_made(struct making *m, hipError_t r, uint64_t key, uint8_t kind, uint32_t extra);

/* Gives back what was charged for a record that was taken out. Outside the gate. */
void memory_give(unsigned int device, uint32_t units);
