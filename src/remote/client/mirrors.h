/*
 * mirrors.h: copies into the program's pinned memory that were asked for, through a relay, and whose bytes have not
 * come: until then the worker's copy of that memory is newer than this process's.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MIRRORS 64u

struct mirrors {
	atomic_flag lock; /* guards what follows; held for some instructions */
	_Atomic uint32_t count;
	uint32_t unlisted; /* of them: those that found no place */
	struct {
		uint64_t offset, bytes; /* in the arena; bytes 0: free */
	} list[MIRRORS];
};

void mirrors_ask(struct mirrors *m, uint64_t offset, uint64_t bytes);
/* They are there, or will not come. */
void mirrors_come(struct mirrors *m, uint64_t offset, uint64_t bytes);
/* Whether any of these bytes may be on their way. */
bool mirrors_overlap(struct mirrors *m, uint64_t offset, uint64_t bytes);
