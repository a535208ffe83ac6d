/*
 * segment_lock.h: the segment's lock, and what is computed with it held: totals, and the cleanup after dead processes.
 *
 * Order: a mutex among the threads of this process, then the word in the segment among processes. With them held, only
 * system calls on the segment's own files are made.
 */
#pragma once

#include "softdev/segment.h"

#include <stdbool.h>
#include <stdint.h>

void segment_lock(struct segment_place *p);
void segment_unlock(struct segment_place *p);

/*
 * Takes a lock that names its holder. Value: true if it was a dead process's. `patience`: after this time, in ns, it is
 * also taken from a living one.
 */
bool segment_lock_wait(struct segment_place *p, _Atomic uint32_t *lock, uint32_t mine, uint64_t patience_ns);

/* What a process with this place writes into the lock. */
uint32_t segment_word_make(uint32_t index, uint32_t owner);

/* True if the device has so many units left. */
bool segment_room_locked(const struct segment_device *dev, uint64_t units);
/* Recomputes the use of each device from its holders. */
void segment_recount_locked(struct segment *s);
/* Frees a place. */
void segment_clear_locked(struct segment_place *p, uint32_t place);
/* True if the memory of a dead process at this place is not to be freed yet (METE_SOFT_LINGER). */
bool segment_lingers(const struct segment *s, uint32_t place);
/* Frees places and objects of processes that have died. */
void segment_reap_locked(struct segment_place *p);
