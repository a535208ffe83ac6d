/* sha256.c: see sha256.h. Plain C: some 200 MB/s, which is little beside what loading an image takes. */
#include "remote/sha256.h"

#include <string.h>

static const uint32_t round_constant[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void add_block(uint32_t state[8], const uint8_t *block)
{
	uint32_t w[64], v[8];

	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (unsigned i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, state, sizeof(v));
	for (unsigned i = 0; i < 64; i++) {
		uint32_t a = v[0], e = v[4];
		uint32_t up = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & v[5]) ^ (~e & v[6])) +
			      round_constant[i] + w[i];
		uint32_t down = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += up;
		v[0] = up + down;
	}
	for (unsigned i = 0; i < 8; i++)
		state[i] += v[i];
}

void sha256_begin(struct sha256 *s)
{
	static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(s->state, first, sizeof(first));
	s->bytes = 0;
}

void sha256_add(struct sha256 *s, const void *data, size_t bytes)
{
	size_t in_block = s->bytes % sizeof(s->block), part;
	const uint8_t *from = data;

	s->bytes += bytes;
	if (in_block) {
		part = sizeof(s->block) - in_block;
		if (part > bytes)
			part = bytes;
		memcpy(s->block + in_block, from, part);
		from += part;
		bytes -= part;
		if (in_block + part < sizeof(s->block))
			return;
		add_block(s->state, s->block);
	}
	for (; bytes >= sizeof(s->block); bytes -= sizeof(s->block), from += sizeof(s->block))
		add_block(s->state, from);
	if (bytes)
		memcpy(s->block, from, bytes);
}

void sha256_end(struct sha256 *s, uint8_t ret[SHA256_BYTES])
{
	uint8_t tail[72] = { 0x80 };
	uint64_t bits = s->bytes * 8;
	size_t pad = (119 - s->bytes % 64) % 64 + 1;

	for (unsigned i = 0; i < 8; i++)
		tail[pad + i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_add(s, tail, pad + 8);
	for (unsigned i = 0; i < SHA256_BYTES; i++)
		ret[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}
