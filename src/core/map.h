/*
 * map.h: a map from 64-bit keys to three 64-bit values. Its memory comes from mmap(), not from the program's heap.
 *
 * It uses open addressing with linear probing. Removal shifts entries back, so no tombstones accumulate. Key 0 cannot
 * be stored. The caller locks.
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

/* Returns the entry; NULL: no such key. The pointer is valid until the next add or remove. */
struct map_entry *map_find(const struct map *m, uint64_t key);
/* Adds or replaces an entry. False: no memory. */
bool map_add(struct map *m, const struct map_entry *e);
/* Removes the key; *ret_entry (may be NULL) receives the removed entry. False: no such key. */
bool map_remove(struct map *m, uint64_t key, struct map_entry *ret_entry);
/* Removes every entry for which `drop` returns true. */
void map_sweep(struct map *m, bool (*drop)(const struct map_entry *e, void *data), void *data);
/* Removes all entries and frees the memory. */
void map_clear(struct map *m);
