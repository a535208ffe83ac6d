/*
 * reset.h: refunds the process's memory when it resets a device. The memory is freed with the context that the runtime
 * itself created, unless a context of the program's own keeps it.
 */
#pragma once

#include "beside/inside.h"
#include "beside/start.h"

#include <stdbool.h>

struct resetting {
	bool granted;
	unsigned int device, before;
	uint32_t age;
	face_context context;
};

/* Before the call; `real`: the runtime's number of the device. */
void reset_begin(struct resetting *r, int real);
/* After the call. `gone`: the device was reset; else only a count of its users fell. */
void reset_end(struct resetting *r, bool gone);

/* After a call with which the program creates a context of its own. */
vendor_result reset_made(vendor_result r, const face_context *made, int real);
