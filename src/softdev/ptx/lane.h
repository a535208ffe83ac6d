/*
 * lane.h: how an operation reads and writes its 32 lanes, and the macros that turn an expression into a loop.
 *
 * Every type of PTX has a storage type (the contents of a lane) and a value type (the type in the expression): a u16 is
 * in a 32-bit lane whose upper half is undefined, so reading it truncates.
 *
 * R1, R2 and R3 stand for one instruction each: pattern, name, types of result and sources, and an expression in a, b,
 * c. The row files are read twice: first the macros define the functions, then they fill the table.
 */
#pragma once

#include "softdev/ptx/engine.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <fenv.h>
#include <limits.h>
#include <math.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef float f32;
typedef double f64;
typedef struct {
	u64 x, y;
} b128;

#define ST_pred u32
#define ST_u8 u32
#define ST_s8 u32
#define ST_u16 u32
#define ST_s16 u32
#define ST_u32 u32
#define ST_s32 s32
#define ST_u64 u64
#define ST_s64 s64
#define ST_f16 u32
#define ST_bf16 u32
#define ST_f16x2 u32
#define ST_bf16x2 u32
#define ST_f32 f32
#define ST_f64 f64
#define ST_f32x2 u64
#define ST_b128 b128

#define VT_pred u32
#define VT_u8 u8
#define VT_s8 s8
#define VT_u16 u16
#define VT_s16 s16
#define VT_u32 u32
#define VT_s32 s32
#define VT_u64 u64
#define VT_s64 s64
#define VT_f16 u16
#define VT_bf16 u16
#define VT_f16x2 u32
#define VT_bf16x2 u32
#define VT_f32 f32
#define VT_f64 f64
#define VT_f32x2 u64
#define VT_b128 b128

#if defined(__clang__)
#define EVERY(count) _Pragma("clang loop vectorize(assume_safety)") for (u32 i = 0; i < (count); i++)
#else
#define EVERY(count) _Pragma("GCC ivdep") for (u32 i = 0; i < (count); i++)
#endif
#define EACH_LANE EVERY(LANES)

static const u32 lane_bit[LANES] __attribute__((aligned(64))) = {
	1u << 0,  1u << 1,  1u << 2,  1u << 3,	1u << 4,  1u << 5,  1u << 6,  1u << 7,	1u << 8,  1u << 9,  1u << 10,
	1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21,
	1u << 22, 1u << 23, 1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31,
};

static inline void *at(const struct warp *w, u32 loc)
{
	return __builtin_assume_aligned(w->base[loc >> 31] + (loc & ~LOC_CONST), 64);
}

/* Lanes of a predicate as bits. */
static inline u32 bits_of(const u32 *p)
{
#if defined(__AVX512DQ__)
	return _mm512_movepi32_mask(_mm512_load_si512(p)) | (u32)_mm512_movepi32_mask(_mm512_load_si512(p + 16)) << 16;
#else
	u32 m = 0;

	for (u32 i = 0; i < LANES; i++)
		m |= p[i] & lane_bit[i];
	return m;
#endif
}

static inline void lanes_of(u32 *lanes, u32 mask)
{
	EACH_LANE
	lanes[i] = mask & lane_bit[i] ? ~0u : 0;
}

#define P(cond) ((cond) ? ~0u : 0u)

static inline f32 f32_of(u32 x)
{
	f32 r;

	memcpy(&r, &x, 4);
	return r;
}

static inline u32 bits32(f32 x)
{
	u32 r;

	memcpy(&r, &x, 4);
	return r;
}

static inline f64 f64_of(u64 x)
{
	f64 r;

	memcpy(&r, &x, 8);
	return r;
}

static inline u64 bits64(f64 x)
{
	u64 r;

	memcpy(&r, &x, 8);
	return r;
}
