/*
 * quads.h: four elements of 32 bits at each of 32 places. Loads and stores of vectors move the 16 bytes of each place
 * at once and transpose them in registers; element by element they took five times as long.
 */
#pragma once

#include "softdev/ptx/vec.h"

#if defined(__AVX2__)

#if defined(__AVX512F__)
typedef __m512i quads;
#define QUADS(f) _mm512_##f
#define QUADS_INSERT(x, p, part) _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(p)), part)
#define QUADS_EXTRACT(x, part) _mm512_extracti32x4_epi32(x, part)
#else
typedef __m256i quads;
#define QUADS(f) _mm256_##f
#define QUADS_INSERT(x, p, part) _mm256_inserti128_si256(x, _mm_loadu_si128((const __m128i *)(p)), part)
#define QUADS_EXTRACT(x, part) _mm256_extracti128_si256(x, part)
#endif
#define QUADS_LANES ((u32)sizeof(quads) / 4)

/* The places: addresses, or offsets from `base`. */
struct quad_places {
	u64 base;
	const u64 *address; /* NULL: offset */
	const u32 *offset;
};

static inline u8 *quad_place(const struct quad_places *p, u32 i)
{
	return (u8 *)(p->address ? p->address[i] : p->base + p->offset[i]);
}

/* In each 16 bytes of four registers: rows become columns. */
static inline void quads_turn(quads x[4])
{
	const quads a = QUADS(unpacklo_epi32)(x[0], x[1]), b = QUADS(unpackhi_epi32)(x[0], x[1]);
	const quads c = QUADS(unpacklo_epi32)(x[2], x[3]), d = QUADS(unpackhi_epi32)(x[2], x[3]);

	x[0] = QUADS(unpacklo_epi64)(a, c);
	x[1] = QUADS(unpackhi_epi64)(a, c);
	x[2] = QUADS(unpacklo_epi64)(b, d);
	x[3] = QUADS(unpackhi_epi64)(b, d);
}

/* d[k][i] = element k of place i. */
static inline __attribute__((always_inline)) void quads_load(u32 *const d[4], const struct quad_places p)
{
	for (u32 i = 0; i < LANES; i += QUADS_LANES) {
		quads x[4];

		for (u32 k = 0; k < 4; k++) {
			x[k] = QUADS_INSERT((quads){ 0 }, quad_place(&p, i + k), 0);
			x[k] = QUADS_INSERT(x[k], quad_place(&p, i + k + 4), 1);
#if defined(__AVX512F__)
			x[k] = QUADS_INSERT(x[k], quad_place(&p, i + k + 8), 2);
			x[k] = QUADS_INSERT(x[k], quad_place(&p, i + k + 12), 3);
#endif
		}
		quads_turn(x);
		for (u32 k = 0; k < 4; k++)
			*(quads *)(d[k] + i) = x[k];
	}
}

#define QUADS_PUT(part)                                                                                                \
	for (u32 k = 0; k < 4; k++)                                                                                    \
	_mm_storeu_si128((__m128i *)quad_place(&p, i + k + 4 * (part)), QUADS_EXTRACT(x[k], part))

/* The reverse, in the order of the lanes: if several write to one place, the last one wins. */
static inline __attribute__((always_inline)) void quads_store(const u32 *const s[4], const struct quad_places p)
{
	for (u32 i = 0; i < LANES; i += QUADS_LANES) {
		quads x[4];

		for (u32 k = 0; k < 4; k++)
			x[k] = *(const quads *)(s[k] + i);
		quads_turn(x);
		QUADS_PUT(0);
		QUADS_PUT(1);
#if defined(__AVX512F__)
		QUADS_PUT(2);
		QUADS_PUT(3);
#endif
	}
}
#endif
