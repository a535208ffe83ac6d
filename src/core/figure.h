/*
 * figure.h: what the driver says this process occupies of a device, for calls whose size only shows afterwards. The
 * face reads it (face.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct figure {
	bool listed; /* the driver lists processes; this one is not in the list before its first context */
	bool found;  /* it is */
	bool whole;  /* the device's figure is known */
	uint64_t process_bytes;
	uint64_t device_bytes;
};

/* The list says nothing about a process without a context: what it holds according to its own account stands in. */
void figure_assume(struct figure *f, uint64_t bytes);
/* What was taken between two readings, in units; negative: given back. */
int64_t figure_difference(const struct figure *before, const struct figure *after);
