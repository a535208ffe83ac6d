/*
 * vec.h: vectors of as many lanes as one register of the host holds, for loops over lanes that compilers do not
 * vectorise: tests whether something holds in all lanes, and collecting lanes from scattered places.
 *
 * Collecting builds the vector from single loads. Written lane by lane instead, the result would be read back as a
 * vector before its parts have left the store buffer, which costs more than all the loads; and the gather instructions
 * are slower than the loads on all machines that were tried.
 */
#pragma once

#include "softdev/ptx/lane.h"

#if defined(__AVX512F__)
#define VEC_BYTES 64
#elif defined(__AVX2__)
#define VEC_BYTES 32
#else
#define VEC_BYTES 16
#endif
#define VEC32_COUNT (LANES * 4 / VEC_BYTES) /* vectors that hold all lanes */
#define VEC64_COUNT (LANES * 8 / VEC_BYTES)

typedef u32 vec32 __attribute__((vector_size(VEC_BYTES)));
typedef u64 vec64 __attribute__((vector_size(VEC_BYTES)));

static inline bool vec_is_zero(vec64 v)
{
#if defined(__AVX512F__)
	return !_mm512_test_epi64_mask((__m512i)v, (__m512i)v);
#elif defined(__AVX2__)
	return _mm256_testz_si256((__m256i)v, (__m256i)v);
#else
	return !(v[0] | v[1]);
#endif
}

/* True if a lane is NaN. Compares two vectors with each other: unordered if either is NaN. */
static inline bool any_nan(const f32 *d)
{
#if defined(__AVX512F__)
	return _mm512_cmp_ps_mask(_mm512_load_ps(d), _mm512_load_ps(d + 16), _CMP_UNORD_Q);
#elif defined(__AVX2__)
	const __m256 low = _mm256_cmp_ps(_mm256_load_ps(d), _mm256_load_ps(d + 8), _CMP_UNORD_Q);
	const __m256 high = _mm256_cmp_ps(_mm256_load_ps(d + 16), _mm256_load_ps(d + 24), _CMP_UNORD_Q);

	return _mm256_movemask_ps(_mm256_or_ps(low, high));
#elif defined(__SSE2__)
	__m128 any = _mm_cmpunord_ps(_mm_load_ps(d), _mm_load_ps(d + 4));

	for (u32 i = 8; i < LANES; i += 8)
		any = _mm_or_ps(any, _mm_cmpunord_ps(_mm_load_ps(d + i), _mm_load_ps(d + i + 4)));
	return _mm_movemask_ps(any);
#else
	u32 any = 0;

	for (u32 i = 0; i < LANES; i++)
		any |= d[i] != d[i];
	return any;
#endif
}

/* The number of each lane within its half of the warp. */
static const u32 half_number32[LANES] __attribute__((aligned(64))) = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
};
static const u64 half_number64[LANES] __attribute__((aligned(64))) = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
};

static const u32 lane_number32[LANES] __attribute__((aligned(64))) = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};
static const u64 lane_number64[LANES] __attribute__((aligned(64))) = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};

#if VEC_BYTES > 16
#define PICK_BYTES 32
typedef u32 pick32 __attribute__((vector_size(32)));
typedef u64 pick64 __attribute__((vector_size(32)));
#define PICK_u32(at, i)                                                                                                \
	{                                                                                                              \
		at(i), at(i + 1), at(i + 2), at(i + 3), at(i + 4), at(i + 5), at(i + 6), at(i + 7)                     \
	}
#define PICK_u64(at, i)                                                                                                \
	{                                                                                                              \
		at(i), at(i + 1), at(i + 2), at(i + 3)                                                                 \
	}
#else
#define PICK_BYTES 16
typedef u32 pick32 __attribute__((vector_size(16)));
typedef u64 pick64 __attribute__((vector_size(16)));
#define PICK_u32(at, i)                                                                                                \
	{                                                                                                              \
		at(i), at(i + 1), at(i + 2), at(i + 3)                                                                 \
	}
#define PICK_u64(at, i)                                                                                                \
	{                                                                                                              \
		at(i), at(i + 1)                                                                                       \
	}
#endif

typedef s32 narrow32 __attribute__((vector_size(PICK_BYTES / 2))); /* as many lanes as a pick64 has */

/* d[i] = at(i) in all lanes; d is aligned. */
#define COLLECT32(d, at)                                                                                               \
	for (u32 i_ = 0; i_ < LANES; i_ += PICK_BYTES / 4)                                                             \
	*(pick32 *)((d) + i_) = (pick32)PICK_u32(at, i_)
#define COLLECT64(d, at)                                                                                               \
	for (u32 i_ = 0; i_ < LANES; i_ += PICK_BYTES / 8)                                                             \
	*(pick64 *)((d) + i_) = (pick64)PICK_u64(at, i_)
#define COLLECT128(d, at)                                                                                              \
	for (u32 i_ = 0; i_ < LANES; i_++)                                                                             \
	(d)[i_] = at(i_)

/*
 * The same in the lanes of a mask; at(i) may be read in all. What is kept is mixed in while the parts are in registers,
 * as they cannot be read back soon as one vector.
 */
#define COLLECT32_MASKED(d, at, lanes)                                                                                 \
	for (u32 i_ = 0; i_ < LANES; i_ += PICK_BYTES / 4) {                                                           \
		const pick32 keep_ = ~*(const pick32 *)((lanes) + i_), new_ = (pick32)PICK_u32(at, i_);                \
		pick32 *const d_ = (pick32 *)((d) + i_);                                                               \
		*d_ = (*d_ & keep_) | (new_ & ~keep_);                                                                 \
	}
#define COLLECT64_MASKED(d, at, lanes)                                                                                 \
	for (u32 i_ = 0; i_ < LANES; i_ += PICK_BYTES / 8) {                                                           \
		typedef s64 wide_ __attribute__((vector_size(PICK_BYTES)));                                            \
		const narrow32 lanes_ = *(const narrow32 *)((lanes) + i_);                                             \
		const pick64 keep_ = ~(pick64)__builtin_convertvector(lanes_, wide_), new_ = (pick64)PICK_u64(at, i_); \
		pick64 *const d_ = (pick64 *)((d) + i_);                                                               \
		*d_ = (*d_ & keep_) | (new_ & ~keep_);                                                                 \
	}
#define COLLECT128_MASKED(d, at, lanes)                                                                                \
	for (u32 i_ = 0; i_ < LANES; i_++)                                                                             \
	(d)[i_] = (lanes)[i_] ? at(i_) : (d)[i_]
