/* segment_time.h: what segment.c and segment_time.c have in common, and nobody else. */
#pragma once

#include "softdev/segment.h"

/*
 * Takes a lock that names its holder. Value: whether it was a dead process's. `patience`: after this time, in ns, it is
 * taken from one that lives, too.
 */
bool segment_lock_wait(struct segment_place *p, _Atomic uint32_t *lock, uint32_t mine, uint64_t patience_ns);
/* All contexts of the process at this place go. */
void segment_time_clear(struct segment_place *p, uint32_t place);
