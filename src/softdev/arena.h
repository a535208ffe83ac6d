/*
 * arena.h: the address space of one device's memory, and the map of it.
 *
 * Device addresses are host addresses in reserved space, several times the device's size, so that fragmentation never
 * refuses what the account allows. What is free reads as zero and takes no memory of the host; it is touched lazily.
 * Requests below 4 KiB and larger ones live in two halves, so that a larger one owns whole pages.
 *
 * Both halves are treaps over free and used extents, in the order of addresses, each node knowing the largest free
 * extent below it: first fit, lookup and free are logarithmic. The caller locks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

#define ARENA_ALIGN 512u

struct arena *arena_new(uint64_t device_bytes);
/* An address for `bytes`, aligned to ARENA_ALIGN; 0: no address space or memory. `owner` comes back from arena_find().
 */
uint64_t arena_alloc(struct arena *a, uint64_t bytes, void *owner);
/* Gives back what begins at `address`; its contents become zero. */
void arena_free(struct arena *a, uint64_t address);
/* The contents of what begins at `address` become zero; it stays in use. */
void arena_clear(struct arena *a, uint64_t address);
/* The owner of the extent in use that contains `address`, or NULL. */
void *arena_find(const struct arena *a, uint64_t address);
/* Whether the address lies in this arena, in use or not. */
bool arena_covers(const struct arena *a, uint64_t address);
/* Whether what begins at `address` shares no 4 KiB page with anything else. */
bool arena_owns_pages(const struct arena *a, uint64_t address);
/* Whether anything is in use in [begin, end). */
bool arena_used(const struct arena *a, uint64_t begin, uint64_t end);
/*
 * Whether the address lies in memory that is in front of all that is given out, and which nobody gets. On hardware
 * the driver's memory is there: programs read a little before their first allocation and do not notice.
 */
bool arena_is_front(const struct arena *a, uint64_t address);
/* The owners that lie nearest to an address, before (or around) and behind it; NULL for none. */
void arena_neighbours(const struct arena *a, uint64_t address, void **ret_before, void **ret_behind);
/* Cuts a range to the arena. */
void arena_bounds(const struct arena *a, uint64_t *ret_begin, uint64_t *ret_end);
