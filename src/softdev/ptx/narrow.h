/*
 * narrow.h: floats of 4, 6 and 8 bits: their values, and rounding to them.
 *
 * A format is a sign, `exponent` and `mantissa` bits. e5m2 is an f16 cut short, with infinities; e4m3 has one pattern
 * per sign that is not a number and no infinity; the others have numbers only.
 */
#pragma once

#include "softdev/ptx/fp.h"

struct narrow {
	u32 exponent, mantissa, bias;
	u32 most; /* the largest number */
	u32 nan;  /* 0: none */
	bool infinity;
};

static const struct narrow narrow_e4m3 = { 4, 3, 7, 0x7e, 0x7f, false };
static const struct narrow narrow_e5m2 = { 5, 2, 15, 0x7b, 0x7f, true };
static const struct narrow narrow_e2m3 __attribute__((unused)) = { 2, 3, 1, 0x1f, 0, false };
static const struct narrow narrow_e3m2 __attribute__((unused)) = { 3, 2, 3, 0x1f, 0, false };
static const struct narrow narrow_e2m1 __attribute__((unused)) = { 2, 1, 1, 0x07, 0, false };

static inline f32 narrow_value(u32 x, const struct narrow *n)
{
	const u32 bits = n->exponent + n->mantissa, sign = (x >> bits & 1) << 31, rest = x & ((1u << bits) - 1);
	const u32 e = rest >> n->mantissa, m = rest & ((1u << n->mantissa) - 1);
	/* mantissa and exponent at the place of f32's, then the bias */
	const f32 scaled = e ? f32_of((e + 127 - n->bias) << 23 | m << (23 - n->mantissa))
			     : (f32)m * f32_of((128 - n->bias - n->mantissa) << 23);

	if (n->infinity && e == (1u << n->exponent) - 1)
		return f32_of(sign | 0x7f800000u | m << 21);
	if (n->nan && !n->infinity && rest == n->nan)
		return f32_of(F32_NAN);
	return f32_of(bits32(scaled) | sign);
}

/*
 * Cut off after the random bits, of 16, have been added below the last place; clamped to the largest number. What is
 * left of the value below those bits does not count.
 */
static inline u32 narrow_random(f32 v, const struct narrow *n, u32 random)
{
	const u32 bits = n->exponent + n->mantissa, b = bits32(v), sign = b >> 31 << bits;
	const s32 least = 1 - (s32)n->bias;
	const f64 x = fabs((f64)v);
	s32 e = (s32)(bits64(x) >> 52 & 2047) - 1023;
	u32 r;

	if (v != v)
		return n->nan ? n->nan : n->most;
	e = e < least ? least : e;
	if (e > 64)
		return sign | n->most;
	r = (u32)(x / f64_of((u64)(e - (s32)n->mantissa + 1023) << 52) + random * 0x1p-16);
	r += (u32)(e - least) << n->mantissa;
	return sign | (r > n->most ? n->most : r);
}

/*
 * To nearest even, clamped to the largest number when `satfinite`; otherwise what is too large becomes infinity or not
 * a number. Formats without NaN give the largest number for it.
 */
static inline u32 narrow_of(f32 v, const struct narrow *n, bool satfinite)
{
	const u32 bits = n->exponent + n->mantissa, b = bits32(v), sign = b >> 31 << bits;
	const s32 least = 1 - (s32)n->bias; /* exponent of the smallest normal number */
	f64 x = fabs((f64)v), unit;
	s32 e;
	u32 r;

	if (v != v)
		return n->nan ? n->nan : n->most;
	if (v - v != 0)
		return sign | (satfinite ? n->most : n->infinity ? n->most + 1 : n->nan ? n->nan : n->most);
	e = (s32)(bits64(x) >> 52 & 2047) - 1023;
	e = e < least ? least : e;
	if (e > 64)
		return sign | (satfinite || !n->nan ? n->most : n->infinity ? n->most + 1 : n->nan);
	unit = f64_of((u64)(e - (s32)n->mantissa + 1023) << 52);
	/* adding and taking away 2^52 rounds to a whole number, to nearest even */
	x = x / unit + 0x1p52 - 0x1p52;
	r = (u32)x + ((u32)(e - least) << n->mantissa);
	if (r > n->most)
		r = satfinite || !n->nan ? n->most : n->infinity ? n->most + 1 : n->nan;
	return sign | r;
}
