/*
 * segment_lock.h: the segment's lock, and what is worked out with it held: totals, and what the dead have left.
 *
 * Order: a mutex among the threads of this process, then the word in the segment among processes. Nothing is called out
 * with them held but system calls on the segment's own files.
 */
#pragma once

#include "softdev/segment.h"

#include <stdbool.h>
#include <stdint.h>

void segment_lock(struct segment_place *p);
void segment_unlock(struct segment_place *p);

/*
 * Takes a lock that names its holder. Value: whether it was a dead process's. `patience`: after this time, in ns, it is
 * taken from one that lives, too.
 */
bool segment_lock_wait(struct segment_place *p, _Atomic uint32_t *lock, uint32_t mine, uint64_t patience_ns);

/* What a process with this place writes into the lock. */
uint32_t segment_word_make(uint32_t index, uint32_t owner);

/* Whether the device has so many units left. */
bool segment_room_locked(const struct segment_device *dev, uint64_t units);
/* What is used of each device, from who holds what. */
void segment_recount_locked(struct segment *s);
/* A place is nobody's. */
void segment_clear_locked(struct segment_place *p, uint32_t place);
/* Places and objects of processes that have died. */
void segment_reap_locked(struct segment_place *p);
