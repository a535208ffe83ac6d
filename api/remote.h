/*
 * remote.h: the writing and reading of messages, which clients and workers of remote APIs share, generated or by hand.
 *
 * Heads and their meaning stand in ring/call.h of src. Behind them come values, each of which begins on a multiple of 8
 * bytes, so that arrays can be used where they lie. Both ends are little-endian with 64-bit pointers, and compare
 * NAME_REMOTE_FINGERPRINT before the first call: call numbers and layouts mean something between equal ones only.
 *
 * Reader and writer carry one sticky `bad` flag: after the first value that does not fit, nothing more is read or
 * written, values come out as zero, and the flag is looked at once, before anything is done.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REMOTE_ALIGN 8u

struct remote_writer {
	uint8_t *data; /* aligned to REMOTE_ALIGN */
	size_t capacity, used;
	bool bad;
};

struct remote_reader {
	const uint8_t *data; /* aligned to REMOTE_ALIGN, and nobody else's to change while it is read */
	size_t size, used;
	bool bad;
};

/* What a value of this type takes in a message. */
#define remote_size(type) ((uint32_t)(sizeof(type) + REMOTE_ALIGN - 1) & ~(REMOTE_ALIGN - 1))

static inline size_t remote_padded(size_t size)
{
	return (size + REMOTE_ALIGN - 1) & ~(size_t)(REMOTE_ALIGN - 1);
}

/* Room for `size` bytes in the message, zeroed; NULL when it does not fit. */
static inline void *remote_reserve(struct remote_writer *w, size_t size)
{
	void *at;

	if (w->bad || size > w->capacity - w->used || remote_padded(size) > w->capacity - w->used) {
		w->bad = true;
		return NULL;
	}
	at = w->data + w->used;
	memset(at, 0, remote_padded(size));
	w->used += remote_padded(size);
	return at;
}

static inline void remote_put(struct remote_writer *w, const void *value, size_t size)
{
	void *at = remote_reserve(w, size);

	if (at && size)
		memcpy(at, value, size);
}

/* The next `size` bytes, where they lie; NULL when the message ends before. */
static inline const void *remote_take(struct remote_reader *r, size_t size)
{
	const void *at;

	if (r->bad || size > r->size - r->used || remote_padded(size) > r->size - r->used) {
		r->bad = true;
		return NULL;
	}
	at = r->data + r->used;
	r->used += remote_padded(size);
	return at;
}

static inline void remote_get(struct remote_reader *r, void *value, size_t size)
{
	const void *at = remote_take(r, size);

	if (at)
		memcpy(value, at, size);
	else
		memset(value, 0, size);
}

/* A pointer is sent as 1 and then what it points to, or as 0 for NULL; any other value is malformed. */
static inline bool remote_get_present(struct remote_reader *r)
{
	uint64_t present;

	remote_get(r, &present, sizeof(present));
	if (present > 1)
		r->bad = true;
	return present == 1 && !r->bad;
}

static inline bool remote_put_present(struct remote_writer *w, const void *pointer)
{
	uint64_t present = !!pointer;

	remote_put(w, &present, sizeof(present));
	return present;
}

/* A string of the message: its length with the NUL, and that NUL is there and the only one. */
static inline const char *remote_take_string(struct remote_reader *r)
{
	uint64_t size;
	const char *text;

	remote_get(r, &size, sizeof(size));
	text = remote_take(r, size);
	if (!text || !size || memchr(text, 0, size) != text + size - 1) {
		r->bad = true;
		return NULL;
	}
	return text;
}

static inline void remote_put_string(struct remote_writer *w, const char *text)
{
	uint64_t size = strlen(text) + 1;

	remote_put(w, &size, sizeof(size));
	remote_put(w, text, size);
}

/* Sums and products of lengths that came from outside; out of range is bad and 0. */
static inline uint64_t remote_add(bool *bad, uint64_t a, uint64_t b)
{
	uint64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	*bad = true;
	return 0;
}

static inline uint64_t remote_sub(bool *bad, uint64_t a, uint64_t b)
{
	if (a >= b)
		return a - b;
	*bad = true;
	return 0;
}

static inline uint64_t remote_mul(bool *bad, uint64_t a, uint64_t b)
{
	uint64_t product;

	if (!__builtin_mul_overflow(a, b, &product))
		return product;
	*bad = true;
	return 0;
}

/* A length that a signed parameter gave. */
static inline uint64_t remote_length(bool *bad, int64_t n)
{
	if (n >= 0)
		return (uint64_t)n;
	*bad = true;
	return 0;
}
