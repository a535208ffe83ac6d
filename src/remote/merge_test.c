/* merge_test.c: two sides write one memory at once, each in its own copy; nothing of either is lost. */
#include "remote/merge.h"

#include "base/tap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 9001u
#define ROUNDS 3000u
#define WORDS 512u
#define WRITES 400000u

static uint64_t state = 1;

static uint32_t any(uint32_t below)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* Bytes of one side's: the even ones of this half of them, or the odd ones. */
static void write_some(uint8_t *at, uint8_t *want, unsigned int side)
{
	for (unsigned int i = any(40); i > 0; i--) {
		size_t byte = (any(BYTES) & ~1u) + side;

		if (byte < BYTES)
			at[byte] = want[byte] = (uint8_t)any(256);
	}
}

/* Whatever is written between two steps, and however the memory lies. */
static void test_two_copies(void)
{
	static uint8_t room[BYTES + 8], there[BYTES], known[BYTES], want[BYTES];
	unsigned int wrong = 0;

	for (size_t shift = 0; shift < 8; shift++) {
		uint8_t *here = room + shift;

		memset(room, 0, sizeof(room));
		memset(there, 0, sizeof(there));
		memset(known, 0, sizeof(known));
		memset(want, 0, sizeof(want));
		for (unsigned int n = 0; n < ROUNDS / 8; n++) {
			write_some(here, want, 0);
			write_some(there, want, 1);
			if (any(2))
				merge(known, here, there, BYTES);
			write_some(here, want, 0);
			write_some(there, want, 1);
			if (any(2))
				merge(known, there, here, BYTES);
		}
		merge(known, here, there, BYTES);
		merge(known, there, here, BYTES);
		wrong += memcmp(here, want, BYTES) || memcmp(there, want, BYTES) || memcmp(known, want, BYTES);
	}
	tap_ok(!wrong, "bytes of both sides are kept, %u of 8 positions are wrong", wrong);
}

static void test_masked(void)
{
	unsigned int wrong = 0;

	for (unsigned int n = 0; n < 100000; n++) {
		_Alignas(8) uint8_t to[MERGE_LINE + 8], from[MERGE_LINE], was[MERGE_LINE + 8];
		uint64_t mask = (uint64_t)any(1u << 31) << 33 ^ (uint64_t)any(1u << 31) << 11 ^ any(1u << 31);
		size_t shift = any(8), bytes = 1 + any(MERGE_LINE);

		for (size_t i = 0; i < sizeof(to); i++)
			to[i] = was[i] = (uint8_t)any(256);
		for (size_t i = 0; i < sizeof(from); i++)
			from[i] = (uint8_t)any(256);
		merge_masked(to + shift, from, mask, bytes);
		for (size_t i = 0; i < sizeof(to); i++) {
			bool in = i >= shift && i < shift + bytes && mask >> (i - shift) & 1;

			wrong += to[i] != (in ? from[i - shift] : was[i]);
		}
	}
	tap_ok(!wrong, "exactly the bytes of a mask change");
}

/* ---- somebody writes meanwhile ---- */

static _Alignas(64) _Atomic uint32_t here[WORDS];
static _Atomic bool ends;

/* Its words are the even ones; each only grows. */
static void *write_on(void *arg)
{
	for (uint32_t n = 1; n <= WRITES; n++)
		atomic_store_explicit(&here[n % WORDS & ~1u], n, memory_order_relaxed);
	ends = true;
	return arg;
}

/* The device's words are the odd ones. */
static void test_meanwhile(void)
{
	static _Alignas(64) uint32_t there[WORDS];
	static uint8_t known[sizeof(there)];
	uint32_t n = 0, wrong = 0, last;
	pthread_t thread;

	pthread_create(&thread, NULL, write_on, NULL);
	do {
		n++;
		for (size_t i = 1; i < WORDS; i += 2)
			there[i] = n;
		merge(known, (const uint8_t *)there, (uint8_t *)(uintptr_t)here, sizeof(there));
		merge(known, (const uint8_t *)(uintptr_t)here, (uint8_t *)there, sizeof(there));
	} while (!ends);
	pthread_join(thread, NULL);
	merge(known, (const uint8_t *)(uintptr_t)here, (uint8_t *)there, sizeof(there));
	for (uint32_t i = 0; i < WORDS; i++) {
		/* The last of the thread's numbers that this word takes. */
		for (last = WRITES; (last % WORDS & ~1u) != (i & ~1u); last--)
			;
		wrong += there[i] != (i % 2 ? n : last) || here[i] != there[i];
	}
	tap_ok(!wrong, "what a thread writes meanwhile is kept beside what comes (%u times): %u words are wrong", n,
	       wrong);
}

int main(void)
{
	tap_begin();
	test_two_copies();
	test_masked();
	test_meanwhile();
	return tap_end();
}
