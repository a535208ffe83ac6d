/*
 * memory.h: meters one call that allocates or frees memory of a device.
 *
 * The requested size is charged before the call, in units of 512 bytes; the runtime does not report how it rounds. A
 * runtime may give a thread without a context one during the call. The thread's first allocation is therefore charged
 * after the call.
 */
#pragma once

#include "beside/start.h"
#include "core/charge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One allocation in progress. */
struct making {
	struct charge charge;
	bool charged, entered;
	uint64_t late; /* bytes that are charged after the call: the thread had no context before it */
	unsigned int before; /* inside.h */
};

/* Charges an allocation on the current device. VENDOR_SUCCESS: make the call, then memory_made(). */
vendor_result memory_begin(struct making *m, uint64_t bytes);
/* The same on a device by the runtime's number. */
vendor_result memory_begin_on(struct making *m, int real, uint64_t bytes);

/* After the call. False: free the memory at `address` and return VENDOR_NO_MEMORY to the program. */
bool memory_made(struct making *m, vendor_result r, uint64_t address);
/* Instead of memory_made(), if the call was not made or its memory has a record of another kind. */
void memory_left(struct making *m);

/* Around a call that frees the memory at `address`. No effect on a call within another call for memory. */
struct freeing {
	uint64_t address;
	uint32_t units, age;
	uint8_t device;
	bool ours, entered;
	unsigned int before;
};

void memory_free_begin(struct freeing *f, uint64_t address);
vendor_result memory_free_end(struct freeing *f, vendor_result r);

/* Refunds a charge. Outside the gate. */
void memory_give(unsigned int device, uint32_t units);

/* Replaces the device's free and total memory by those of the share. */
vendor_result memory_info(vendor_result r, size_t *free, size_t *total);

/* Call before a device is reset. Returns an age; memory allocated from now on is younger. */
uint32_t memory_ages(unsigned int device);
/* Refunds all memory of the device that is not younger: it is gone. */
void memory_swept(unsigned int device, uint32_t age);
