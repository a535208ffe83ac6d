/*
 * cipher.c: see cipher.h.
 *
 * Several blocks are made at once: lane l of each vector is of block l. Without the processor's vectors the compiler
 * does the same in pieces.
 */
#include "base/cipher.h"

#include <string.h>

#define LANES 4u

typedef uint32_t lanes __attribute__((vector_size(LANES * sizeof(uint32_t))));

static uint32_t read_word(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

void cipher_begin(struct cipher *c, const uint8_t key[CIPHER_KEY_BYTES], const uint8_t nonce[CIPHER_NONCE_BYTES])
{
	static const uint8_t constants[] = "expand 32-byte k";

	for (unsigned int i = 0; i < 4; i++)
		c->word[i] = read_word(constants + 4 * i);
	for (unsigned int i = 0; i < 8; i++)
		c->word[4 + i] = read_word(key + 4 * i);
	c->word[12] = 0;
	for (unsigned int i = 0; i < 3; i++)
		c->word[13 + i] = read_word(nonce + 4 * i);
}

#define TURN(x, n) ((x) << (n) | (x) >> (32 - (n)))
#define QUARTER(a, b, c, d)                                                                                            \
	do {                                                                                                           \
		a += b, d ^= a, d = TURN(d, 16);                                                                       \
		c += d, b ^= c, b = TURN(b, 12);                                                                       \
		a += b, d ^= a, d = TURN(d, 8);                                                                        \
		c += d, b ^= c, b = TURN(b, 7);                                                                        \
	} while (0)

/* The key stream of LANES blocks. */
static void make(const struct cipher *c, uint32_t first, uint32_t out[LANES][16])
{
	lanes begin[16], x[16];

	for (unsigned int i = 0; i < 16; i++)
		begin[i] = (lanes){ 0 } + c->word[i];
	for (unsigned int l = 0; l < LANES; l++)
		begin[12][l] = first + l;
	memcpy(x, begin, sizeof(x));
	for (unsigned int round = 0; round < 10; round++) {
		QUARTER(x[0], x[4], x[8], x[12]);
		QUARTER(x[1], x[5], x[9], x[13]);
		QUARTER(x[2], x[6], x[10], x[14]);
		QUARTER(x[3], x[7], x[11], x[15]);
		QUARTER(x[0], x[5], x[10], x[15]);
		QUARTER(x[1], x[6], x[11], x[12]);
		QUARTER(x[2], x[7], x[8], x[13]);
		QUARTER(x[3], x[4], x[9], x[14]);
	}
	for (unsigned int i = 0; i < 16; i++) {
		x[i] += begin[i];
		for (unsigned int l = 0; l < LANES; l++)
			out[l][i] = x[i][l];
	}
}

/* The stream's words are little-endian in memory. */
static void mix(uint8_t *bytes, const uint32_t *stream, size_t count)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] ^= (uint8_t)(stream[i / 4] >> 8 * (i % 4));
}

static void mix_all(uint8_t *bytes, const uint32_t *stream)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint64_t word, key;

	for (unsigned int i = 0; i < LANES * CIPHER_BLOCK_BYTES / sizeof(word); i++) {
		memcpy(&word, bytes + i * sizeof(word), sizeof(word));
		memcpy(&key, (const uint8_t *)stream + i * sizeof(key), sizeof(key));
		word ^= key;
		memcpy(bytes + i * sizeof(word), &word, sizeof(word));
	}
#else
	mix(bytes, stream, LANES * CIPHER_BLOCK_BYTES);
#endif
}

void cipher_apply(const struct cipher *c, uint32_t first, void *bytes, size_t count)
{
	uint32_t stream[LANES][16];
	uint8_t *at = bytes;

	for (; count >= sizeof(stream); count -= sizeof(stream), at += sizeof(stream), first += LANES) {
		make(c, first, stream);
		mix_all(at, stream[0]);
	}
	if (!count)
		return;
	make(c, first, stream);
	mix(at, stream[0], count);
}
