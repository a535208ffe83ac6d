/*
 * figure.h: how much of a device this process occupies according to the driver, for calls whose size is known only
 * afterwards. The face reads it (face.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct figure {
	bool listed; /* the driver lists processes; a process without a context is not in the list */
	bool found;  /* this process is in the list */
	bool whole;  /* the device's figure is known */
	uint64_t process_bytes;
	uint64_t device_bytes;
};

/* Sets the figure of a process that is not in the list to `bytes`, its own account. */
void figure_assume(struct figure *f, uint64_t bytes);
/* Returns the units taken between two readings; negative: given back. */
int64_t figure_difference(const struct figure *before, const struct figure *after);
