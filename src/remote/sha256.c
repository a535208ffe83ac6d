/*
 * sha256.c: see sha256.h. Plain C makes some 200 MB/s, the instructions of x86 (SHA extensions) six times as much: an
 * image that need not be sent is still gone through on either side. SHA256_PLAIN leaves them away, for a test.
 */
#include "remote/sha256.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__) && !defined(SHA256_PLAIN)
#include <cpuid.h>
#include <immintrin.h>
#define HAVE_SHA_CODE 1
#endif

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

static void add_blocks_plain(uint32_t state[8], const uint8_t *block, size_t count)
{
	for (; count; count--, block += 64)
		add_block(state, block);
}

#ifdef HAVE_SHA_CODE
/* The instructions want the state as two halves, with A and C in the highest place. */
__attribute__((target("sha,sse4.1"))) static void add_blocks_fast(uint32_t state[8], const uint8_t *block, size_t count)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
	__m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);

	for (; count; count--, block += 64) {
		const __m128i abef_before = abef, cdgh_before = cdgh;
		__m128i w[4], next, sum;

		for (unsigned i = 0; i < 4; i++)
			w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 16 * i)), swap);
		for (unsigned r = 0; r < 16; r++) {
			sum = _mm_add_epi32(w[0], _mm_loadu_si128((const __m128i *)(round_constant + 4 * r)));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_srli_si128(sum, 8));
			next = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), _mm_alignr_epi8(w[3], w[2], 4));
			next = _mm_sha256msg2_epu32(next, w[3]);
			w[0] = w[1];
			w[1] = w[2];
			w[2] = w[3];
			w[3] = next;
		}
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	state[0] = (uint32_t)_mm_extract_epi32(abef, 3);
	state[1] = (uint32_t)_mm_extract_epi32(abef, 2);
	state[2] = (uint32_t)_mm_extract_epi32(cdgh, 3);
	state[3] = (uint32_t)_mm_extract_epi32(cdgh, 2);
	state[4] = (uint32_t)_mm_extract_epi32(abef, 1);
	state[5] = (uint32_t)_mm_extract_epi32(abef, 0);
	state[6] = (uint32_t)_mm_extract_epi32(cdgh, 1);
	state[7] = (uint32_t)_mm_extract_epi32(cdgh, 0);
}

static bool processor_has_it(void)
{
	unsigned int a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1))
		return false;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1u << 29; /* SHA */
}

static void add_blocks(uint32_t state[8], const uint8_t *block, size_t count)
{
	static int fast; /* 0: not known yet; else 1 or -1, whoever finds out */
	int is = __atomic_load_n(&fast, __ATOMIC_RELAXED);

	if (!is) {
		is = processor_has_it() ? 1 : -1;
		__atomic_store_n(&fast, is, __ATOMIC_RELAXED);
	}
	if (is > 0)
		add_blocks_fast(state, block, count);
	else
		add_blocks_plain(state, block, count);
}
#else
static void add_blocks(uint32_t state[8], const uint8_t *block, size_t count)
{
	add_blocks_plain(state, block, count);
}
#endif

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
		add_blocks(s->state, s->block, 1);
	}
	add_blocks(s->state, from, bytes / sizeof(s->block));
	from += bytes - bytes % sizeof(s->block);
	bytes %= sizeof(s->block);
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
