/*
 * spare.h: how many waiting workers there is room for. Their contexts are charged to no grant, so they may take only
 * memory of a device that is promised to nobody, and a bounded part of the machine's memory.
 */
#pragma once

#include <stdint.h>

struct daemon;
struct pool;

/*
 * The number of workers of this pool for which there is room, besides those whose contexts a grant is charged for.
 * UINT_MAX: their contexts take nothing.
 */
unsigned int spare_room(const struct pool *pool);
/* The number that exist: waiting or starting, without those for a client that is charged already. */
unsigned int spare_count(const struct pool *pool);
/* What the contexts of spare workers take of a device, except those of one pool (or NULL). */
uint64_t spare_bytes(const struct daemon *daemon, const struct pool *except, const uint8_t *uuid);
/*
 * The number that may wait in this pool regardless of device memory: what other pools leave of the limits of all and of
 * a user.
 */
unsigned int spare_places(struct pool *pool);
