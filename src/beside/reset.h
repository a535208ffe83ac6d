/*
 * reset.h: around a call that resets a device: what the process has there is given back with the context that the
 * runtime itself has made, unless a context of the program's own keeps it.
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

/* The device by the runtime's number. */
void reset_begin(struct resetting *r, int real);
/* `gone`: it was reset, and not only counted. */
void reset_end(struct resetting *r, bool gone);

/* After a call by which the program makes a context of its own. */
vendor_result reset_made(vendor_result r, const face_context *made, int real);
