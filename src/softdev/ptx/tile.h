/* tile.h: eight rows of eight elements of 16 bits, as a register of a warp holds them: matrix.h. */
#pragma once

#include "softdev/ptx/lane.h"

#define TILE_BYTES (LANES * 4u)

/* Rows become columns. `to` may be `tile`. */
static inline void tile_turn(void *to, const void *tile)
{
#if defined(__SSE2__)
	__m128i row[8], pair[8], four[8];

	for (u32 i = 0; i < 8; i++)
		row[i] = _mm_loadu_si128((const __m128i *)tile + i);
	for (u32 i = 0; i < 4; i++) {
		pair[i * 2] = _mm_unpacklo_epi16(row[i], row[i + 4]);
		pair[i * 2 + 1] = _mm_unpackhi_epi16(row[i], row[i + 4]);
	}
	for (u32 i = 0; i < 4; i++) {
		four[i * 2] = _mm_unpacklo_epi16(pair[i], pair[i + 4]);
		four[i * 2 + 1] = _mm_unpackhi_epi16(pair[i], pair[i + 4]);
	}
	for (u32 i = 0; i < 4; i++) {
		_mm_storeu_si128((__m128i *)to + i * 2, _mm_unpacklo_epi16(four[i], four[i + 4]));
		_mm_storeu_si128((__m128i *)to + i * 2 + 1, _mm_unpackhi_epi16(four[i], four[i + 4]));
	}
#else
	u16 from[64], turned[64];

	memcpy(from, tile, sizeof(from));
	for (u32 r = 0; r < 8; r++)
		for (u32 c = 0; c < 8; c++)
			turned[c * 8 + r] = from[r * 8 + c];
	memcpy(to, turned, sizeof(turned));
#endif
}
