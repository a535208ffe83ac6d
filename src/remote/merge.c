/* merge.c: see merge.h. */
#include "remote/merge.h"

#include <string.h>

#define PAGE 4096u
#define WORD sizeof(uint64_t)

/* Reads memory that others write meanwhile, which is what it is for: each byte once. */
#define MEANWHILE __attribute__((no_sanitize("thread")))

/* A word at any address. */
struct word {
	uint64_t value;
} __attribute__((packed, may_alias));

static MEANWHILE uint64_t word_at(const uint8_t *at)
{
	return ((const volatile struct word *)at)->value;
}

static MEANWHILE uint8_t byte_at(const uint8_t *at)
{
	return *(const volatile uint8_t *)at;
}

MEANWHILE bool merge_same(const uint8_t *known, const uint8_t *from, size_t bytes)
{
	size_t at = 0;

	for (; bytes - at >= WORD; at += WORD)
		if (word_at(known + at) != word_at(from + at))
			return false;
	for (; at < bytes; at++)
		if (known[at] != byte_at(from + at))
			return false;
	return true;
}

/* Each set bit of eight becomes a byte of ones. */
static uint64_t spread(uint64_t bits)
{
	bits = (bits | bits << 28) & UINT64_C(0x0000000f0000000f);
	bits = (bits | bits << 14) & UINT64_C(0x0003000300030003);
	bits = (bits | bits << 7) & UINT64_C(0x0101010101010101);
	return bits * 255;
}

/* A word that others write at the same time: what they write in its other bytes stays. */
static void put_word(uint64_t *to, uint64_t value, uint64_t which)
{
	uint64_t was = __atomic_load_n(to, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(to, &was, (was & ~which) | (value & which), true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

/* Eight bytes, of which those are put whose bits are set. */
static void put_some(uint8_t *to, const uint8_t *from, uint64_t bits)
{
	if (bits)
		put_word((uint64_t *)(void *)to, word_at(from), spread(bits));
}

void merge_masked(uint8_t *to, const uint8_t *from, uint64_t mask, size_t bytes)
{
	size_t at = 0;

	while (at < bytes && mask >> at) {
		if ((uintptr_t)(to + at) % WORD || bytes - at < WORD) {
			if (mask >> at & 1)
				__atomic_store_n(to + at, from[at], __ATOMIC_RELEASE);
			at++;
		} else {
			put_some(to + at, from + at, mask >> at & 0xff);
			at += WORD;
		}
	}
}

void merge_take(uint8_t *known, const uint8_t *from, size_t bytes)
{
	uint64_t word;
	size_t at = 0;

	for (; bytes - at >= WORD; at += WORD) {
		word = word_at(from + at);
		memcpy(known + at, &word, WORD);
	}
	for (; at < bytes; at++)
		known[at] = byte_at(from + at);
}

uint64_t merge_changes(uint8_t *known, const uint8_t *from, size_t bytes, uint8_t *picture)
{
	uint64_t mask = 0;

	merge_take(picture, from, bytes);
	for (size_t i = 0; i < bytes; i++)
		mask |= (uint64_t)(picture[i] != known[i]) << i;
	memcpy(known, picture, bytes);
	return mask;
}

static void merge_page(uint8_t *known, const uint8_t *from, uint8_t *to, size_t bytes)
{
	uint8_t picture[MERGE_LINE];

	for (size_t at = 0; at < bytes; at += MERGE_LINE) {
		size_t line = bytes - at < MERGE_LINE ? bytes - at : MERGE_LINE;

		if (!merge_same(known + at, from + at, line))
			merge_masked(to + at, picture, merge_changes(known + at, from + at, line, picture), line);
	}
}

void merge(uint8_t *known, const uint8_t *from, uint8_t *to, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += PAGE) {
		size_t page = bytes - at < PAGE ? bytes - at : PAGE;

		if (!merge_same(known + at, from + at, page))
			merge_page(known + at, from + at, to + at, page);
	}
}
