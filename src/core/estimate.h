/*
 * estimate.h: how long a launch will take, from how long its like took before.
 *
 * A key names a kind of work (function, grid, block, shared memory; an executable graph; a copy's direction and size),
 * a family what keys of one sort have in common (the function; the direction), with a size that its keys are compared
 * by (blocks; bytes). Predictions serve admission only: what is charged is what was measured.
 *
 * A prediction travels as one word, nanoseconds << 20 | 1, so that one addition counts time and launches at once
 * (pace.h). Finding is lock-free and safe beside everything else here. Places are found by hash and taken over by newer
 * keys: what was forgotten is measured again.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ESTIMATE_SHIFT 20
#define ESTIMATE_NONE 0u
#define ESTIMATE_SETS 2048u
#define ESTIMATE_WAYS 4u

struct estimate_slot {
	_Atomic uint64_t key;
	_Atomic uint64_t packed; /* 0: nothing is predicted */
};

extern struct estimate_slot estimate_table[ESTIMATE_SETS][ESTIMATE_WAYS];

static inline uint64_t estimate_packed(uint64_t ns)
{
	return (ns ? ns : 1) << ESTIMATE_SHIFT | 1;
}

static inline uint64_t estimate_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

/* The place of a key, from 1 up, and its prediction. ESTIMATE_NONE: not known. */
static inline uint32_t estimate_find(uint64_t key, uint64_t *ret_packed)
{
	uint32_t set = (uint32_t)(key >> 40) % ESTIMATE_SETS;

	for (uint32_t way = 0; way < ESTIMATE_WAYS; way++) {
		struct estimate_slot *s = &estimate_table[set][way];

		if (atomic_load_explicit(&s->key, memory_order_relaxed) == key) {
			*ret_packed = atomic_load_explicit(&s->packed, memory_order_relaxed);
			return *ret_packed ? set * ESTIMATE_WAYS + way + 1 : ESTIMATE_NONE;
		}
	}
	return ESTIMATE_NONE;
}

/* A guess for a key that was never measured, from its family: nanoseconds, or 0 where the family is unknown as well. */
uint64_t estimate_guess(uint64_t family, uint64_t size);

/* Makes room for a key, with a first prediction (0: none). Value: its place. */
uint32_t estimate_add(uint64_t key, uint64_t family, uint64_t size, uint64_t guess_ns);

/* How long those of the kind at this place took lately, in nanoseconds. 0: not known. */
uint64_t estimate_mean(uint32_t place);

/*
 * Of a launch that took ns, a part of which it may have waited for another process's work to end: what may be
 * learned from that. No more than was expected, when it is longer by no more than such a wait.
 */
uint64_t estimate_less(uint32_t place, uint64_t ns);

/* `launches` of the kind at this place took so long, each. */
void estimate_learn(uint32_t place, uint64_t ns, uint32_t launches);

/* In the child of fork(). */
void estimate_reset(void);
