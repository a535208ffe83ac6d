/*
 * map.h: a map from 64-bit keys to three 64-bit values, in memory of its own (mmap), not the program's heap.
 *
 * Open addressing with linear probing and deletion by shifting back, so that it never fills with tombstones. Key 0
 * cannot be stored. The caller locks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct map_entry {
	uint64_t key; /* 0: free */
	uint64_t value[3];
};

struct map {
	struct map_entry *table; /* NULL: nothing stored yet */
	uint32_t mask;		 /* places - 1 */
	uint32_t count;
};

static inline uint64_t map_hash(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15u;
	return key ^ key >> 29;
}

/* NULL: no such key. The entry stays where it is until the next add or remove. */
struct map_entry *map_find(const struct map *m, uint64_t key);
/* Adds, or replaces what is there. False: no memory. */
bool map_add(struct map *m, const struct map_entry *e);
/* Removes the key; *ret_entry (may be NULL) is what was stored. False: there was none. */
bool map_remove(struct map *m, uint64_t key, struct map_entry *ret_entry);
/* Removes every entry for which `drop` says so. */
void map_sweep(struct map *m, bool (*drop)(const struct map_entry *e, void *data), void *data);
/* Empties it and gives its memory back. */
void map_clear(struct map *m);
