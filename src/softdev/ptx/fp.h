/*
 * fp.h: the parts of the expressions of rows_float.h and rows_cvt.h.
 *
 * f32 and f64 arithmetic in round-to-nearest is the host's own. Other roundings switch the host's mode around a loop
 * that the compiler cannot see through (RR macros). 16-bit formats compute in a wider one and round once: products and
 * sums of two f16 fit into f32 with enough spare bits that rounding twice gives the right result; fused operations go
 * through rounding to odd in f64. NaN results of f32 are 0x7fffffff, as on devices; those of f64 keep the payload of a
 * source, or are the host's NaN, which is also the devices'.
 *
 * The approximations (rcp, sqrt, sin, ex2 ... .approx; vmath.h) are computed as exactly as libm does, so they are at
 * least as good as the hardware's and not bit-equal to it.
 */
#pragma once

#include "softdev/ptx/lane.h"

#define F32_NAN 0x7fffffffu
#define F64_NAN 0x7fffffffffffffffull

/* .ftz: a subnormal is a zero of its sign. */
static inline f32 ftz(f32 x)
{
	u32 b = bits32(x);

	return f32_of((b & 0x7f800000u) ? b : b & 0x80000000u);
}

static inline f64 ftz_f64(f64 x)
{
	u64 b = bits64(x);

	return f64_of((b & 0x7ff0000000000000ull) ? b : b & 0x8000000000000000ull);
}

/* .sat: to [0, 1]; not a number becomes 0. */
static inline f32 sat_f32(f32 x)
{
	x = x > 0.0f ? x : 0.0f;
	return x < 1.0f ? x : 1.0f;
}

static inline f64 sat_f64(f64 x)
{
	x = x > 0.0 ? x : 0.0;
	return x < 1.0 ? x : 1.0;
}

/* min and max drop NaN, and -0 is below +0. */
static inline f32 min_f32_of(f32 a, f32 b)
{
	f32 r = a < b ? a : b;

	r = a == b ? f32_of(bits32(a) | bits32(b)) : r;
	r = a != a ? b : b != b ? a : r;
	return r != r ? f32_of(F32_NAN) : r;
}

static inline f32 max_f32_of(f32 a, f32 b)
{
	f32 r = a > b ? a : b;

	r = a == b ? f32_of(bits32(a) & bits32(b)) : r;
	r = a != a ? b : b != b ? a : r;
	return r != r ? f32_of(F32_NAN) : r;
}

static inline f32 nan_f32(f32 a, f32 b, f32 r)
{
	return a != a || b != b ? f32_of(F32_NAN) : r;
}

static inline f32 settled(f32 x)
{
	return x != x ? f32_of(F32_NAN) : x;
}

static inline f32 xorsign_f32(f32 r, f32 a, f32 b)
{
	return r != r ? r : f32_of((bits32(r) & 0x7fffffffu) | ((bits32(a) ^ bits32(b)) & 0x80000000u));
}

static inline f64 min_f64_of(f64 a, f64 b)
{
	f64 r = a < b ? a : b;

	r = a == b ? f64_of(bits64(a) | bits64(b)) : r;
	return a != a ? b : b != b ? a : r;
}

static inline f64 max_f64_of(f64 a, f64 b)
{
	f64 r = a > b ? a : b;

	r = a == b ? f64_of(bits64(a) & bits64(b)) : r;
	return a != a ? b : b != b ? a : r;
}

/* f16 -> f32, exactly. */
static inline f32 h2f(u32 h)
{
	u32 sign = (h & 0x8000u) << 16, rest = h & 0x7fffu;
	/* 2^112 moves the exponent's bias from 15 to 127, and makes subnormals normal */
	u32 r = bits32(f32_of(rest << 13) * 0x1p112f);

	r = rest >= 0x7c00u ? (rest << 13) | 0x7f800000u : r;
	return f32_of(r | sign);
}

/* f32 -> f16, to nearest even. */
static inline u32 f2h(f32 f)
{
	u32 b = bits32(f), sign = b >> 16 & 0x8000u, x = b & 0x7fffffffu;
	u32 small = bits32(f32_of(x) + 0.5f) - 0x3f000000u;
	u32 normal = (x + 0xfffu + (x >> 13 & 1) - 0x38000000u) >> 13;
	u32 r = x < 0x38800000u ? small : normal;

	r = x >= 0x477ff000u ? 0x7c00u : r;
	r = x > 0x7f800000u ? 0x7fffu : r;
	return x > 0x7f800000u ? r : r | sign;
}

static inline f32 b2f(u32 h)
{
	return f32_of(h << 16);
}

/* f32 -> bf16, to nearest even. */
static inline u32 f2b(f32 f)
{
	u32 b = bits32(f), r = (b + 0x7fffu + (b >> 16 & 1)) >> 16;

	return (b & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r & 0xffffu;
}

#define MASK64(cond) ((cond) ? ~0ull : 0ull)

/* a * b + c in f64, rounded to odd where it is not exact: a second rounding, to a shorter format, is then right. */
static inline f64 fma_odd(f64 a, f64 b, f64 c)
{
	f64 p = a * b; /* exact: the factors have at most 24 bits */
	f64 s = p + c, t = s - p, err = (p - (s - t)) + (c - t);
	u64 bits = bits64(s), even = MASK64(!(bits & 1)), up = MASK64(err > 0) ^ MASK64(s > 0);

	return f64_of(bits + (MASK64(err != 0) & MASK64(s - s == 0) & even & (up | 1)));
}

/* f64 that carries a rounding-to-odd -> f32 that does too. */
static inline f32 odd_f32(f64 x)
{
	f32 f = (f32)x;
	f64 back = f;

	if (back != x && x == x && !(bits32(f) & 1) && f - f == 0)
		f = f32_of((back < x) == (x > 0) ? bits32(f) + 1 : bits32(f) - 1);
	if (f - f != 0 && x - x == 0)
		f = f32_of(0x7f7fffffu | (x < 0 ? 0x80000000u : 0));
	return f;
}

/* The same of what becomes an f16: what is too small for a normal f32 is 0, and what is too large infinite. */
static inline f32 odd_f32_of_half(f64 x)
{
	const u64 b = bits64(x), m = b & 0x7fffffffffffffffull;
	u64 r = ((m >> 29) - (896ull << 23)) | (MASK64(m & 0x1fffffffull) & 1);

	r = (s64)m < (s64)0x3810000000000000ull ? 0 : r;
	r = (s64)m >= (s64)0x47f0000000000000ull ? 0x7f800000u : r;
	r = (s64)m > (s64)0x7ff0000000000000ull ? 0x7fffffffu : r;
	return f32_of((u32)r | (u32)(b >> 32 & 0x80000000u));
}

static inline __attribute__((always_inline)) u32 hfma(u32 a, u32 b, u32 c)
{
	return f2h(odd_f32_of_half(fma_odd(h2f(a), h2f(b), h2f(c))));
}

static inline u32 bfma(u32 a, u32 b, u32 c)
{
	return f2b(odd_f32(fma_odd(b2f(a), b2f(b), b2f(c))));
}

static inline u32 hsat(u32 h)
{
	return f2h(sat_f32(h2f(h)));
}

static inline u32 hrelu(u32 h)
{
	return (h & 0x7fff) > 0x7c00 ? 0x7fff : h & 0x8000 ? 0 : h;
}

static inline u32 brelu(u32 h)
{
	return (h & 0x7fff) > 0x7f80 ? 0x7fff : h & 0x8000 ? 0 : h;
}

static inline u32 hftz(u32 h)
{
	return h & 0x7c00 ? h : h & 0x8000;
}

static inline u32 hadd(u32 x, u32 y)
{
	return f2h(h2f(x) + h2f(y));
}

static inline u32 hsub(u32 x, u32 y)
{
	return f2h(h2f(x) - h2f(y));
}

static inline u32 hmul(u32 x, u32 y)
{
	return f2h(h2f(x) * h2f(y));
}

/* .ftz of f16: subnormal sources and results are zeroes of their sign. */
#define FLUSHED2(fn, x, y) hftz(fn(hftz(x), hftz(y)))
#define FLUSHED3(fn, x, y, z) hftz(fn(hftz(x), hftz(y), hftz(z)))

/* An expression in x, y (and z) for both 16-bit halves of a, b (and c); it gives a 16-bit pattern. */
#define PAIR1(expr)                                                                                                    \
	({                                                                                                             \
		u32 x = a & 0xffff;                                                                                    \
		u32 low_ = (expr)&0xffff;                                                                              \
		x = a >> 16;                                                                                           \
		low_ | (expr) << 16;                                                                                   \
	})
#define PAIR2(expr)                                                                                                    \
	({                                                                                                             \
		u32 x = a & 0xffff, y = b & 0xffff;                                                                    \
		u32 low_ = (expr)&0xffff;                                                                              \
		x = a >> 16;                                                                                           \
		y = b >> 16;                                                                                           \
		low_ | (expr) << 16;                                                                                   \
	})
#define PAIR3(expr)                                                                                                    \
	({                                                                                                             \
		u32 x = a & 0xffff, y = b & 0xffff, z = c & 0xffff;                                                    \
		u32 low_ = (expr)&0xffff;                                                                              \
		x = a >> 16;                                                                                           \
		y = b >> 16;                                                                                           \
		z = c >> 16;                                                                                           \
		low_ | (expr) << 16;                                                                                   \
	})

static inline u32 hmin(u32 x, u32 y)
{
	return f2h(min_f32_of(h2f(x), h2f(y)));
}

static inline u32 hmax(u32 x, u32 y)
{
	return f2h(max_f32_of(h2f(x), h2f(y)));
}

static inline u32 hmin_nan(u32 x, u32 y)
{
	return f2h(nan_f32(h2f(x), h2f(y), min_f32_of(h2f(x), h2f(y))));
}

static inline u32 hmax_nan(u32 x, u32 y)
{
	return f2h(nan_f32(h2f(x), h2f(y), max_f32_of(h2f(x), h2f(y))));
}

static inline u32 bmin(u32 x, u32 y)
{
	return f2b(min_f32_of(b2f(x), b2f(y)));
}

static inline u32 bmax(u32 x, u32 y)
{
	return f2b(max_f32_of(b2f(x), b2f(y)));
}

static inline f32 rsqrt_f32(f32 x)
{
	return (f32)(1.0 / sqrt((f64)x));
}

/* testp */
static inline u32 testp_f32(f32 x, u32 which)
{
	u32 b = bits32(x), e = b >> 23 & 255, m = b & 0x7fffffu;

	switch (which) {
	case 0:
		return e != 255;
	case 1:
		return e == 255 && !m;
	case 2:
		return e != 255 || !m;
	case 3:
		return e == 255 && m;
	case 4:
		return e != 255 && e != 0;
	default:
		return e == 0 && m;
	}
}

static inline u32 testp_f64(f64 x, u32 which)
{
	u64 b = bits64(x), m = b & 0xfffffffffffffull;
	u32 e = b >> 52 & 2047;

	switch (which) {
	case 0:
		return e != 2047;
	case 1:
		return e == 2047 && !m;
	case 2:
		return e != 2047 || !m;
	case 3:
		return e == 2047 && m;
	case 4:
		return e != 2047 && e != 0;
	default:
		return e == 0 && m;
	}
}

/* The host's rounding modes in the order of the rows' <rz,rm,rp>. */
static inline void round_begin(u64 variant)
{
	fesetround(variant == 0 ? FE_TOWARDZERO : variant == 1 ? FE_DOWNWARD : FE_UPWARD);
}

static inline void round_end(void)
{
	fesetround(FE_TONEAREST);
}

/* All fourteen comparisons; the unordered ones are true if an operand is NaN. */
#define COMPARE_FLOAT(t, names, x, y)                                                                                  \
	COMPAREF(t, "eq", names, eq, x == y)                                                                           \
	COMPAREF(t, "ne", names, ne, x<y || x> y)                                                                      \
	COMPAREF(t, "lt", names, lt, x < y)                                                                            \
	COMPAREF(t, "le", names, le, x <= y)                                                                           \
	COMPAREF(t, "gt", names, gt, x > y)                                                                            \
	COMPAREF(t, "ge", names, ge, x >= y)                                                                           \
	COMPAREF(t, "equ", names, equ, !(x < y || x > y))                                                              \
	COMPAREF(t, "neu", names, neu, !(x == y))                                                                      \
	COMPAREF(t, "ltu", names, ltu, !(x >= y))                                                                      \
	COMPAREF(t, "leu", names, leu, !(x > y))                                                                       \
	COMPAREF(t, "gtu", names, gtu, !(x <= y))                                                                      \
	COMPAREF(t, "geu", names, geu, !(x < y))                                                                       \
	COMPAREF(t, "num", names, num, x == x && y == y)                                                               \
	COMPAREF(t, "nan", names, nan, x != x || y != y)

/* The relation of two floats, as a bit; and the relations for which each comparison is true, in this order. */
enum { RELATION_LESS = 1, RELATION_EQUAL = 2, RELATION_GREATER = 4, RELATION_NONE = 8 };

static inline u32 float_relation(f32 x, f32 y)
{
	const u32 r = x < y ? RELATION_LESS : RELATION_NONE, q = x == y ? RELATION_EQUAL : r;

	return x > y ? RELATION_GREATER : q;
}

static const u8 comparison_relations[14] __attribute__((unused)) = {
	2, 5, 1, 3, 4, 6, 10, 13, 9, 11, 12, 14, 7, 8,
};
