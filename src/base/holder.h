/* holder.h: which file of the process holds an address: the program itself, or a library. */
#pragma once

#include <stdbool.h>

struct holder {
	char name[64];	  /* of the file, without its folder; cut off where it is longer */
	const void *base; /* where it is loaded */
	bool is_program;
};

/* False: no file holds the address; it lies in memory that the program has taken. */
bool holder_of(const void *address, struct holder *ret);

/*
 * True when it is asked for the first time of this file, so that a line is written once for each. Any thread may call.
 * Of more than 32 files it is true each time.
 */
bool holder_first(const struct holder *h);
