/*
 * memory.h: one call that takes or frees memory of a device.
 *
 * Charged before the call, in units of 512 bytes of what is asked for: how the runtime rounds, it tells nowhere. A
 * runtime may put a thread that has no context into one, within the call: that thread's first is charged after it.
 */
#pragma once

#include "beside/start.h"
#include "core/charge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One allocation on its way. */
struct making {
	struct charge charge;
	bool charged, entered;
	uint64_t late; /* bytes that are charged after the call: the thread had no context before it */
	unsigned int before; /* inside.h */
};

/* VENDOR_SUCCESS: the call may be made; then memory_made(). On the current device. */
vendor_result memory_begin(struct making *m, uint64_t bytes);
/* The same on a device by the runtime's number. */
vendor_result memory_begin_on(struct making *m, int real, uint64_t bytes);

/* After the call. False: the memory at `address` is to be freed, and the program gets VENDOR_NO_MEMORY. */
bool memory_made(struct making *m, vendor_result r, uint64_t address);
/* After a call that was not made, or whose memory has a record of another kind. */
void memory_left(struct making *m);

/* Around a call that frees what is at `address`: not that of a call for memory within another. */
struct freeing {
	uint64_t address;
	uint32_t units, age;
	uint8_t device;
	bool ours, entered;
	unsigned int before;
};

void memory_free_begin(struct freeing *f, uint64_t address);
vendor_result memory_free_end(struct freeing *f, vendor_result r);

/* Gives back what was charged. Outside the gate. */
void memory_give(unsigned int device, uint32_t units);

/* What the device has, as the share shows it. */
vendor_result memory_info(vendor_result r, size_t *free, size_t *total);

/* Before a device is reset: what is made from now on is younger than the value. */
uint32_t memory_ages(unsigned int device);
/* All on the device that is not younger is gone. */
void memory_swept(unsigned int device, uint32_t age);
