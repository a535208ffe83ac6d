/*
 * once.c: the rows of instructions that are built once and not per instruction set of the host: what is rare, or does
 * its work in larger pieces than a lane. Rows are written as for rows.h; a loop here serves full and partial masks.
 */
#include "softdev/ptx/children.h"
#include "softdev/ptx/cvt.h"
#include "softdev/ptx/narrow.h"
#include "softdev/ptx/once.h"
#include "softdev/ptx/reach.h"
#include "softdev/ptx/vmath.h"

/* Two narrow floats of `bits` bits each. */
#define PACKED(f, bits, high, low, relu)                                                                               \
	(narrow_relu(narrow_of(high, &narrow_##f, true), bits, f##_bits, relu) << (bits) |                             \
	 narrow_relu(narrow_of(low, &narrow_##f, true), bits, f##_bits, relu))
#define RANDOM_NARROW(f, bits, random, relu)                                                                           \
	(narrow_relu(narrow_random(a, &narrow_##f, random), bits, f##_bits, relu) << (bits) |                          \
	 narrow_relu(narrow_random(b, &narrow_##f, random), bits, f##_bits, relu))
#define UPPER(f, bits) narrow_value(a >> (bits) & ((1u << (bits)) - 1), &narrow_##f)
#define LOWER(f, bits) narrow_value(a &((1u << (bits)) - 1), &narrow_##f)

enum { e4m3_bits = 8, e5m2_bits = 8, e2m3_bits = 6, e3m2_bits = 6, e2m1_bits = 4 };

static u32 narrow_relu(u32 x, u32 bits, u32 sign_at, bool relu)
{
	return relu && x >> (sign_at - 1) & 1 ? 0 : x;
}

/* A power of two: e8m0. 255 is not a number, and stands for what is too large, unless `finite` asks for the largest. */
static u32 scale_of(f32 v, bool up, bool finite)
{
	const u32 b = bits32(v) & 0x7fffffffu, e = b >> 23;
	u32 r;

	if (b > 0x7f800000u)
		return 255;
	if (!e) /* below the smallest normal number: 2^-127 is half of it */
		return up && b > 0x400000u ? 1 : 0;
	r = up && b & 0x7fffffu ? e + 1 : e;
	return finite && r > 254 ? 254 : r;
}

static u32 scale_value(u32 e)
{
	return e == 255 ? 0x7fff : e ? e << 7 : 0x40;
}

static u32 f2b_dir(f32 f, u32 dir)
{
	const u32 b = bits32(f), x = b & 0x7fffffffu;
	const bool away = dir == 1 ? b >> 31 : dir == 2 ? !(b >> 31) : false;

	if (x > 0x7f800000u)
		return 0x7fff;
	return (b >> 16) + (away && x & 0xffff);
}

static u32 hfinite(u32 h)
{
	return (h & 0x7fff) == 0x7c00 ? h - 1 : h;
}

static u32 bfinite(u32 h)
{
	return (h & 0x7fff) == 0x7f80 ? h - 1 : h;
}

static u32 tf32_toward_zero(f32 v)
{
	return v != v ? F32_NAN : bits32(v) & ~0x1fffu;
}

static u32 hnan(u32 x, u32 y, u32 r)
{
	return (x & 0x7fff) > 0x7c00 || (y & 0x7fff) > 0x7c00 ? 0x7fff : r;
}

static u32 bnan(u32 x, u32 y, u32 r)
{
	return (x & 0x7fff) > 0x7f80 || (y & 0x7fff) > 0x7f80 ? 0x7fff : r;
}

/* `random` is added below the last place: 13 bits of a normal f16, 16 of a bf16. */
static u32 f2h_random(f32 f, u32 random, bool finite)
{
	const u32 sign = bits32(f) >> 16 & 0x8000u, x = bits32(f) & 0x7fffffffu;
	const s32 e = x < 0x38800000u ? -14 : (s32)(x >> 23) - 127;
	u32 r;
	f64 v, whole;

	if (x > 0x7f800000u)
		return 0x7fff;
	if (x >= 0x47800000u)
		return sign | (finite ? 0x7bff : 0x7c00);
	v = (f64)f32_of(x) / f64_of((u64)(e - 10 + 1023) << 52); /* in units of the last place */
	whole = floor(v);
	r = (u32)whole + (v - whole + (random & 0x1fff) * 0x1p-13 >= 1) + ((u32)(e + 14) << 10);
	return sign | (finite && r >= 0x7c00 ? 0x7bff : r);
}

static u32 f2b_random(f32 f, u32 random, bool finite)
{
	const u32 sign = bits32(f) >> 16 & 0x8000u, x = bits32(f) & 0x7fffffffu;
	u32 r;

	if (x > 0x7f800000u)
		return 0x7fff;
	r = x == 0x7f800000u ? 0x7f80 : (x + random) >> 16;
	return sign | (finite && r >= 0x7f80 ? 0x7f7f : r);
}

/* The sign of both sources for a number; not a number keeps none. */
static u32 xorsigned(u32 r, u32 x, u32 y, u32 infinity)
{
	return (r & 0x7fff) > infinity ? 0x7fff : (r & 0x7fff) | ((x ^ y) & 0x8000);
}

#define HXORSIGN(of, x, y) xorsigned(of((x)&0x7fff, (y)&0x7fff), x, y, 0x7c00)
#define BXORSIGN(of, x, y) xorsigned(of((x)&0x7fff, (y)&0x7fff), x, y, 0x7f80)

/* An expression in x and y for both signed halves; what is negative becomes 0. */
#define SIGNED_PAIR(expr)                                                                                              \
	({                                                                                                             \
		s32 x = (s16)a, y = (s16)b, r_ = (expr);                                                               \
		u32 low_ = r_ < 0 ? 0 : (u32)r_;                                                                       \
		x = (s16)(a >> 16);                                                                                    \
		y = (s16)(b >> 16);                                                                                    \
		r_ = (expr);                                                                                           \
		low_ | (r_ < 0 ? 0 : (u32)r_) << 16;                                                                   \
	})
#define TWO_F32(low, high) ((u64)bits32(settled(low)) | (u64)bits32(settled(high)) << 32)

#define LOOP(name, td, sources, values, expr)                                                                          \
	static void name(struct warp *w, const struct op *o)                                                           \
	{                                                                                                              \
		ST_##td *d = at(w, o->d);                                                                              \
		sources for (u32 i = 0; i < LANES; i++)                                                                \
		{                                                                                                      \
			if (!(w->mask & lane_bit[i]))                                                                  \
				continue;                                                                              \
			values d[i] = (ST_##td)(expr);                                                                 \
		}                                                                                                      \
	}
#define SOURCE(x, t) const ST_##t *p##x = at(w, o->x);
#define VALUE(x, t) const VT_##t x __attribute__((unused)) = (VT_##t)p##x[i];
#define R1(pattern, name, td, ta, ...) LOOP(name, td, SOURCE(a, ta), VALUE(a, ta), (__VA_ARGS__))
#define R2(pattern, name, td, ta, tb, ...)                                                                             \
	LOOP(name, td, SOURCE(a, ta) SOURCE(b, tb), VALUE(a, ta) VALUE(b, tb), (__VA_ARGS__))
#define R3(pattern, name, td, ta, tb, tc, ...)                                                                         \
	LOOP(name, td, SOURCE(a, ta) SOURCE(b, tb) SOURCE(c, tc), VALUE(a, ta) VALUE(b, tb) VALUE(c, tc), (__VA_ARGS__))
#define SETTLED_f32(x) settled(x)
#define SETTLED_f64(x) (x)
#define SETTLED_u64(x) (x)

/* Under another rounding mode: the values pass through volatiles, so that nothing is computed before or after. */
#define ROUNDED(name, td, sources, values, expr)                                                                      \
	static void name(struct warp *w, const struct op *o)                                                 \
	{                                                                                                              \
		ST_##td *d = at(w, o->d), r_[LANES];                                                                   \
		sources round_begin(o->imm);                                                                           \
		for (u32 i = 0; i < LANES; i++) {                                                                      \
			values *(volatile ST_##td *)&r_[i] = SETTLED_##td(expr);                                    \
		}                                                                                                      \
		round_end();                                                                                           \
		for (u32 i = 0; i < LANES; i++)                                                                        \
			d[i] = w->mask & lane_bit[i] ? r_[i] : d[i];                                                   \
	}
#define VOLATILE(x, t) const VT_##t x = (VT_##t) * (const volatile ST_##t *)&p##x[i];
#define RR1(pattern, name, td, ta, ...) ROUNDED(name, td, SOURCE(a, ta), VOLATILE(a, ta), (__VA_ARGS__))
#define RR2(pattern, name, td, ta, tb, ...)                                                                           \
	ROUNDED(name, td, SOURCE(a, ta) SOURCE(b, tb), VOLATILE(a, ta) VOLATILE(b, tb), (__VA_ARGS__))
#define RR3(pattern, name, td, ta, tb, tc, ...)                                                                       \
	ROUNDED(name, td, SOURCE(a, ta) SOURCE(b, tb) SOURCE(c, tc),                                                   \
		VOLATILE(a, ta) VOLATILE(b, tb) VOLATILE(c, tc), (__VA_ARGS__))
#define RH(...)
#define RF(...)

#include "softdev/ptx/rows_narrow.h"
#include "softdev/ptx/rows_rare.h"
#include "softdev/ptx/rows_round.h"
#include "softdev/ptx/rows_clamp.h"

#undef R1
#undef R2
#undef R3
#undef RR1
#undef RR2
#undef RR3
#undef RH
#undef RF

#define R1(pattern, name, td, ta, ...) { pattern, name, name, FORM_PLAIN, 2, { TY_##td, TY_##ta } },
#define R2(pattern, name, td, ta, tb, ...) { pattern, name, name, FORM_PLAIN, 3, { TY_##td, TY_##ta, TY_##tb } },
#define R3(pattern, name, td, ta, tb, tc, ...)                                                                         \
	{ pattern, name, name, FORM_PLAIN, 4, { TY_##td, TY_##ta, TY_##tb, TY_##tc } },
#define RR1 R1
#define RR2 R2
#define RR3 R3
#define RH(pattern, fn, form, count, ...) { pattern, fn, fn, form, count, { __VA_ARGS__ } },
#define RF(pattern, form, count, ...) { pattern, NULL, NULL, form, count, { __VA_ARGS__ } },

static const struct row rows[] = {
#include "softdev/ptx/rows_narrow.h"
#include "softdev/ptx/rows_rare.h"
#include "softdev/ptx/rows_round.h"
#include "softdev/ptx/rows_clamp.h"
#include "softdev/ptx/rows_video.h"
#include "softdev/ptx/rows_matrix.h"
#include "softdev/ptx/rows_async.h"
#include "softdev/ptx/rows_tex.h"
};
const struct rows rows_once = { rows, sizeof(rows) / sizeof(rows[0]) };
