/*
 * estimate.h: predicted durations of launches, from earlier launches of the same kind.
 *
 * A key identifies a kind of work: function, grid, block and shared memory; an executable graph; direction and size of
 * a copy. A family groups keys (by function, or by direction) and has a size by which its keys are compared (blocks, or
 * bytes). Predictions decide admission only; charges are measured.
 *
 * A prediction is one word, nanoseconds << 20 | 1, so that one addition adds time and a count of launches (pace.h).
 * Look-up is lock-free and may run beside all other functions here. Slots are found by hash and reused for newer keys;
 * a key that was evicted is measured again.
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
	_Atomic uint64_t packed; /* 0: no prediction */
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

/* Returns the slot of a key, from 1 up, and its prediction. ESTIMATE_NONE: unknown. */
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

/* Predicts the duration of an unmeasured key from its family, in nanoseconds; 0: the family is unknown too. */
uint64_t estimate_guess(uint64_t family, uint64_t size);

/* Adds a key with a first prediction (0: none). Returns its slot. */
uint32_t estimate_add(uint64_t key, uint64_t family, uint64_t size, uint64_t guess_ns);

/* Returns the recent mean duration of the kind in this slot, in nanoseconds; 0: unknown. */
uint64_t estimate_mean(uint32_t place);

/*
 * Corrects a measured duration that may include a wait for another process's work: returns the predicted duration if
 * the excess can be such a wait, else ns.
 */
uint64_t estimate_less(uint32_t place, uint64_t ns);

/* Learns that `launches` launches of the kind in this slot took ns each. */
void estimate_learn(uint32_t place, uint64_t ns, uint32_t launches);

/* In the child of fork(): empties the table. */
void estimate_reset(void);
