/* cvt.h: the parts of the expressions of rows_cvt.h. */
#pragma once

#include "softdev/ptx/fp.h"

static inline s64 clamp_s64(s64 a, s64 least, s64 most)
{
	return a < least ? least : a > most ? most : a;
}

/* An integer as f32, rounded to odd, so that a second rounding to a 16-bit format is right. */
#define int_odd(v) odd_f32(_Generic((v), u64 : u64_odd, s64 : s64_odd, default : f64_same)(v))

static inline f64 f64_same(f64 v)
{
	return v;
}

static inline f64 u64_odd(u64 v)
{
	u64 sticky = v >> 53 ? (v & 0x7ff) != 0 : 0;

	return v >> 53 ? (f64)((v & ~0x7ffull) | sticky << 11) : (f64)v;
}

static inline f64 s64_odd(s64 v)
{
	return v < 0 ? -u64_odd(0 - (u64)v) : u64_odd((u64)v);
}

/*
 * An integer as a float in the rounding mode of the moment. What compilers make of an unsigned one ends in a
 * difference, and that of equals is -0 when rounding goes down: zero is told apart, by a value unknown to the compiler.
 */
#define int_directed(t, v) (unknown_u64((u64)(v)) ? (t)(v) : (t)0)

static inline u64 unknown_u64(u64 v)
{
	__asm__("" : "+r"(v));
	return v;
}

/* Clamped before the conversion: a C conversion of a value out of range is undefined. */
static inline s32 to_int_f32(f32 v, s32 least, s32 most)
{
	v = v != v ? 0 : v;
	v = v > (f32)least ? v : (f32)least;
	v = v < (f32)most ? v : (f32)most;
	return (s32)v;
}

/* Not a number becomes 0, but only of f32 and to at most 32 bits; elsewhere it is the highest bit alone. */
static inline s32 to_int_f64(f64 v, s32 least, s32 most)
{
	v = v != v ? (least ? least : (most + 1) / 2) : v;
	v = v > least ? v : least;
	v = v < most ? v : most;
	return (s32)v;
}

static inline s32 to_s32_f32(f32 v)
{
	f32 in = v > -0x1p31f ? v : -0x1p31f;
	s32 r;

	in = in < 0x1p30f * 1.99999988079071044921875f ? in : 0x1p30f * 1.99999988079071044921875f;
	r = (s32)in;
	r = v >= 0x1p31f ? INT32_MAX : r;
	return v != v ? 0 : r;
}

static inline u32 to_u32_f32(f32 v)
{
	f32 in = v > 0 ? v : 0;
	bool high = in >= 0x1p31f;
	u32 r;

	in = high ? in - 0x1p31f : in;
	in = in < 0x1p30f * 1.99999988079071044921875f ? in : 0x1p30f * 1.99999988079071044921875f;
	r = (u32)(s32)in + (high ? 0x80000000u : 0);
	return v >= 0x1p32f ? UINT32_MAX : r;
}

static inline s32 to_s32_f64(f64 v)
{
	f64 in = v > -0x1p31 ? v : -0x1p31;

	in = in < 0x1p31 - 1 ? in : 0x1p31 - 1;
	return v != v ? INT32_MIN : (s32)in;
}

static inline u32 to_u32_f64(f64 v)
{
	f64 in = v > 0 ? v : 0;

	in = in < 0x1p32 - 1 ? in : 0x1p32 - 1;
	return v != v ? 0x80000000u : (u32)(u64)in;
}

static inline s64 to_s64_f64(f64 v)
{
	if (v != v)
		return INT64_MIN;
	return v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : (s64)v;
}

static inline u64 to_u64_f64(f64 v)
{
	if (v != v)
		return 1ull << 63;
	return v >= 0x1p64 ? UINT64_MAX : v <= 0 ? 0 : (u64)v;
}

static inline s64 to_s64_f32(f32 v)
{
	return to_s64_f64(v);
}

static inline u64 to_u64_f32(f32 v)
{
	return to_u64_f64(v);
}

/* f32 -> f16 towards zero (0), down (1) or up (2): truncate, then one step away from zero where the direction asks. */
static inline u32 f2h_dir(f32 f, u32 dir)
{
	u32 b = bits32(f), sign = b >> 16 & 0x8000u, x = b & 0x7fffffffu, r;
	bool away = dir == 1 ? sign != 0 : dir == 2 ? sign == 0 : false, exact;

	if (x > 0x7f800000u)
		return 0x7fff;
	if (x == 0x7f800000u)
		return sign | 0x7c00;
	if (x >= 0x47800000u)
		return sign | (away ? 0x7c00 : 0x7bff);
	if (x < 0x38800000u) {
		r = (u32)(f32_of(x) * 0x1p24f);
		exact = (f32)r == f32_of(x) * 0x1p24f;
	} else {
		r = (x - 0x38000000u) >> 13;
		exact = !(x & 0x1fff);
	}
	return sign | (r + (away && !exact));
}

static inline u32 tf32_of(f32 v)
{
	u32 b = bits32(v);

	return v != v ? F32_NAN : (b + 0xfff + (b >> 13 & 1)) & ~0x1fffu;
}

static inline u32 tf32_away(f32 v)
{
	u32 b = bits32(v);

	return v != v ? F32_NAN : (b + 0x1000) & ~0x1fffu;
}

/* .satfinite: the largest number instead of an infinity. */
static inline u32 tf32_finite(u32 v)
{
	return (v & 0x7fffffffu) == 0x7f800000u ? (v & 0x80000000u) | 0x7f7fe000u : v;
}
