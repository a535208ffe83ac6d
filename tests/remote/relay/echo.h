/* echo.h: what the echo worker of these tests understands, besides CALL_PING. The bodies are of 64-bit words. */
#pragma once

#include <stdint.h>

enum echo_call {
	ECHO_TAKE = 0x10, /* a payload: the reply, if one is wanted, is its sum */
	ECHO_GIVE,	  /* offset, bytes, seed: the reply has a payload of that pattern */
	ECHO_MIRROR,	  /* the same as a notice, then a reply with a fence */
	ECHO_QUIET,	  /* counted, not answered */
	ECHO_COUNT,	  /* how many of these */
	ECHO_SLEEP,	  /* milliseconds, then a reply */
	ECHO_DIE,
	ECHO_FLOOD, /* n: as many notices RETIRED, then a reply */
	ECHO_GROW,  /* the worker writes a payload beyond its arena: what a broken one would */
};

#define ECHO_HEAP_BYTES (UINT64_C(64) << 20)

static inline uint64_t echo_word(uint64_t seed, uint64_t i)
{
	uint64_t x = (seed + i) * UINT64_C(0x9e3779b97f4a7c15);

	return x ^ x >> 29;
}

/* bytes: a multiple of 8. */
static inline void echo_fill(void *at, uint64_t bytes, uint64_t seed)
{
	uint64_t *word = at;

	for (uint64_t i = 0; i < bytes / 8; i++)
		word[i] = echo_word(seed, i);
}

static inline uint64_t echo_sum(const void *at, uint64_t bytes)
{
	const uint64_t *word = at;
	uint64_t sum = bytes;

	for (uint64_t i = 0; i < bytes / 8; i++)
		sum = (sum << 1 | sum >> 63) ^ word[i];
	return sum;
}
