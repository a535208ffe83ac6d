/*
 * spare.h: how many waiting workers there is room for. Their contexts are charged to no grant, so they may take only
 * what a device has promised to nobody, and a bounded part of the machine's memory.
 */
#pragma once

#include <stdint.h>

struct daemon;
struct pool;

/* Workers of this pool, besides those whose contexts a grant is charged for. UINT_MAX: their contexts take nothing. */
unsigned int spare_room(const struct pool *pool);
/* How many there are: waiting or starting, and of no client that is charged already. */
unsigned int spare_count(const struct pool *pool);
/* What the contexts of spare workers take of a device, but for those of one pool (or NULL). */
uint64_t spare_bytes(const struct daemon *daemon, const struct pool *except, const uint8_t *uuid);
/* How many may wait in this pool, whatever they take of devices: what others leave of the bounds of all and of a user.
 */
unsigned int spare_places(struct pool *pool);
