/*
 * arena.h: the address space of one device's memory, and its map.
 *
 * Device addresses are host addresses in reserved space, several times the device's size, so that fragmentation never
 * causes a refusal that the account permits. Free memory reads as zero and uses no host memory; it is populated on
 * demand. Requests below 4 KiB and larger ones are in separate halves, so that a larger one owns whole pages.
 *
 * Both halves are treaps over free and used extents, ordered by address, and each node knows the largest free extent
 * below it: first fit, lookup and free take logarithmic time. The caller locks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

#define ARENA_ALIGN 512u

struct arena *arena_new(uint64_t device_bytes);
/*
 * Allocates `bytes`, aligned to ARENA_ALIGN. Value: the address; 0: no address space or memory. arena_find() returns
 * `owner`.
 */
uint64_t arena_alloc(struct arena *a, uint64_t bytes, void *owner);
/* Frees the extent that begins at `address`; its contents become zero. */
void arena_free(struct arena *a, uint64_t address);
/* Zeroes the extent that begins at `address`; it stays in use. */
void arena_clear(struct arena *a, uint64_t address);
/* The owner of the used extent that contains `address`, or NULL. */
void *arena_find(const struct arena *a, uint64_t address);
/* True if the address lies in this arena, in use or not. */
bool arena_covers(const struct arena *a, uint64_t address);
/* True if the extent that begins at `address` shares no 4 KiB page with another one. */
bool arena_owns_pages(const struct arena *a, uint64_t address);
/* True if anything is in use in [begin, end). */
bool arena_used(const struct arena *a, uint64_t begin, uint64_t end);
/*
 * True if the address lies in the memory in front of all allocations, which is never allocated. On hardware the
 * driver's memory is there: programs that read a little before their first allocation do not notice.
 */
bool arena_is_front(const struct arena *a, uint64_t address);
/* The owners of the nearest extents, before (or around) the address and behind it; NULL: none. */
void arena_neighbours(const struct arena *a, uint64_t address, void **ret_before, void **ret_behind);
/* Clips a range to the arena. */
void arena_bounds(const struct arena *a, uint64_t *ret_begin, uint64_t *ret_end);
