/*
 * mirrors.h: copies into the program's pinned memory through a relay that were requested and whose bytes have not
 * arrived: until then the worker's copy of that memory is newer than this process's.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MIRRORS 64u

struct mirrors {
	atomic_flag lock; /* guards the fields below; held for some instructions */
	_Atomic uint32_t count;
	uint32_t unlisted; /* the number that did not fit into the list */
	struct {
		uint64_t offset, bytes; /* in the arena; bytes 0: free */
	} list[MIRRORS];
};

void mirrors_ask(struct mirrors *m, uint64_t offset, uint64_t bytes);
/* The bytes have arrived, or will not come. */
void mirrors_come(struct mirrors *m, uint64_t offset, uint64_t bytes);
/* True if any of these bytes may still be on their way. */
bool mirrors_overlap(struct mirrors *m, uint64_t offset, uint64_t bytes);
