/*
 * vmath.h: the approximations ex2, lg2, sin, cos and tanh of f32, as expressions that compilers vectorise.
 *
 * They compute in f64 with polynomials whose error is below 2^-33 of the result and round once, so results are the
 * nearest f32, except for one in some hundreds, where the next one may be given. No fused operations: every instruction
 * set of the host gives the same bits.
 */
#pragma once

#include "softdev/ptx/fp.h"

/* 1.5 * 2^52: adding it rounds to an integer, which then stands in the low bits. */
#define ROUNDER 0x1.8p52

/* 2^x of |x| < 1000; relative error 2^-37. Even and odd powers are summed apart, which makes the chain half as long. */
static inline f64 ex2_f64_of(f64 x)
{
	const f64 shifted = x + ROUNDER, r = x - (shifted - ROUNDER), q = r * r;
	f64 even = 0x1.62c0223a5c824p-20, odd = 0x1.b5253d395e7c4p-24; /* ln2^n / n! */

	even = even * q + 0x1.430912f86c787p-13;
	odd = odd * q + 0x1.ffcbfc588b0c7p-17;
	even = even * q + 0x1.3b2ab6fba4e77p-7;
	odd = odd * q + 0x1.5d87fe78a6731p-10;
	even = even * q + 0x1.ebfbdff82c58fp-3;
	odd = odd * q + 0x1.c6b08d704a0c0p-5;
	even = even * q + 1.0;
	odd = odd * q + 0x1.62e42fefa39efp-1;
	return (odd * r + even) * f64_of((bits64(shifted) + 1023) << 52);
}

static inline f32 ex2_of(f32 x)
{
	const f32 least = x > -160.0f ? x : -160.0f, near = least < 130.0f ? least : 130.0f;
	const f32 r = (f32)ex2_f64_of((f64)near);

	return x != x ? x : r;
}

static inline f32 lg2_of(f32 x)
{
	/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)); the exponent is kept positive by 1024 */
	const u64 b = bits64((f64)x), t = b - 0x3fe6a09e667f3bcdull + 0x4000000000000000ull;
	const f64 e = f64_of((t >> 52) | 0x4330000000000000ull) - (0x1p52 + 1024);
	const f64 m = f64_of(b - (t & 0xfff0000000000000ull) + 0x4000000000000000ull);
	const f64 s = (m - 1.0) / (m + 1.0), q = s * s;
	f64 p = 2.0 / 13;
	f32 r;

	p = p * q + 2.0 / 11;
	p = p * q + 2.0 / 9;
	p = p * q + 2.0 / 7;
	p = p * q + 2.0 / 5;
	p = p * q + 2.0 / 3;
	p = p * q + 2.0;
	r = (f32)(p * s * 0x1.71547652b82fep0 + e);
	r = x > 0x1.fffffep127f ? x : r;
	r = x == 0.0f ? f32_of(0xff800000u) : r;
	return x >= 0.0f ? r : f32_of(F32_NAN);
}

/* Angles up to which the quarter turns below are exact; others are for libm. */
#define ANGLE_MAX 1048576.0f

/* sin (quarter 0) or cos (quarter 1) of |x| <= ANGLE_MAX. */
static inline f32 angle_of(f32 x, u64 quarter)
{
	const f64 d = x, shifted = d * 0x1.45f306dc9c883p-1 + ROUNDER, n = shifted - ROUNDER;
	/* a quarter turn in pieces of 33 bits */
	const f64 r = d - n * 0x1.921fb544p0 - n * 0x1.0b4611a6p-34 - n * 0x1.3198a2e037073p-69, q = r * r;
	const u64 turn = bits64(shifted) + quarter, odd = 0 - (turn & 1);
	f64 s = -1.0 / 39916800, c = 1.0 / 479001600;

	s = s * q + 1.0 / 362880;
	s = s * q - 1.0 / 5040;
	s = s * q + 1.0 / 120;
	s = s * q - 1.0 / 6;
	s = r * (s * q + 1.0);
	c = c * q - 1.0 / 3628800;
	c = c * q + 1.0 / 40320;
	c = c * q - 1.0 / 720;
	c = c * q + 1.0 / 24;
	c = c * q - 1.0 / 2;
	c = c * q + 1.0;
	return (f32)f64_of(((bits64(c) & odd) | (bits64(s) & ~odd)) ^ (turn & 2) << 62);
}

static inline f32 tanh_of(f32 x)
{
	const f64 d = x, a = fabs(d), near = a < 20.0 ? a : 20.0, q = d * d;
	const f64 e = ex2_f64_of(near * 0x1.71547652b82fep1), large = copysign((e - 1.0) / (e + 1.0), d);
	f64 p = 62.0 / 2835;

	p = p * q - 17.0 / 315;
	p = p * q + 2.0 / 15;
	p = p * q - 1.0 / 3;
	p = p * q + 1.0;
	return x != x ? x : (f32)(a < 0.125 ? p * d : large);
}

/* sin and cos of all lanes; libm takes those that are far from 0, are infinite or are not a number. */
static inline void angle_lanes(struct warp *w, const struct op *o, u64 quarter, bool flush)
{
	const f32 *a = at(w, o->a);
	f32 *d = at(w, o->d), r[LANES] __attribute__((aligned(64)));
	u32 far = 0;

	EACH_LANE
	{
		const f32 x = flush ? ftz(a[i]) : a[i];

		r[i] = angle_of(x, quarter);
		far |= P(!(fabsf(x) <= ANGLE_MAX));
	}
	for (u32 left = far ? w->mask : 0; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left);

		if (!(fabsf(a[i]) <= ANGLE_MAX))
			r[i] = settled(quarter ? cosf(a[i]) : sinf(a[i]));
	}
	if (w->mask == ~0u)
		EACH_LANE d[i] = flush ? ftz(r[i]) : r[i];
	else
		EACH_LANE d[i] = w->lanes[i] ? flush ? ftz(r[i]) : r[i] : d[i];
}
