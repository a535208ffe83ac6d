/*
 * keyed_hash.h: a hash of 32 bytes for tables whose keys an adversary may choose: without the secret, nobody can
 * choose keys that collide. It is multilinear, so any two keys collide with a probability of about 2^-32.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#define KEYED_HASH_BYTES 32u
#define KEYED_HASH_WORDS (KEYED_HASH_BYTES / sizeof(uint32_t))

/* Random numbers. */
struct keyed_hash_secret {
	uint64_t word[KEYED_HASH_WORDS + 1];
};

static inline uint32_t keyed_hash(const struct keyed_hash_secret *secret, const uint8_t key[KEYED_HASH_BYTES])
{
	uint64_t sum = secret->word[KEYED_HASH_WORDS];
	uint32_t word[KEYED_HASH_WORDS];

	memcpy(word, key, KEYED_HASH_BYTES);
	for (unsigned int i = 0; i < KEYED_HASH_WORDS; i++)
		sum += secret->word[i] * word[i];
	return (uint32_t)(sum >> 32);
}
