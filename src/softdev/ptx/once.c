/*
 * once.c: the rows of instructions that are built once and not per instruction set of the host: what is rare, or does
 * its work in larger pieces than a lane. Rows are written as in exec.c; a loop here serves full and partial masks.
 */
#include "softdev/ptx/cvt.h"
#include "softdev/ptx/narrow.h"
#include "softdev/ptx/once.h"
#include "softdev/ptx/reach.h"

/* Two narrow floats of `bits` bits each. */
#define PACKED(f, bits, high, low, relu)                                                                               \
	(narrow_relu(narrow_of(high, &narrow_##f, true), bits, f##_bits, relu) << (bits) |                             \
	 narrow_relu(narrow_of(low, &narrow_##f, true), bits, f##_bits, relu))
#define UPPER(f, bits) narrow_value(a >> (bits) & ((1u << (bits)) - 1), &narrow_##f)
#define LOWER(f, bits) narrow_value(a &((1u << (bits)) - 1), &narrow_##f)

enum { e4m3_bits = 8, e5m2_bits = 8, e2m3_bits = 6, e3m2_bits = 6, e2m1_bits = 4 };

static u32 narrow_relu(u32 x, u32 bits, u32 sign_at, bool relu)
{
	return relu && x >> (sign_at - 1) & 1 ? 0 : x;
}

/* A power of two: e8m0, 255 is not a number. */
static u32 scale_of(f32 v, bool up)
{
	const u32 b = bits32(v) & 0x7fffffffu, e = b >> 23;

	if (b > 0x7f800000u)
		return 255;
	if (b == 0x7f800000u)
		return 254;
	if (!e) /* below the smallest normal number: 2^-127 is half of it */
		return up && b > 0x400000u ? 1 : 0;
	return up && b & 0x7fffffu && e < 254 ? e + 1 : e;
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
#define TWO_F32(low, high) ((u64)bits32(low) | (u64)bits32(high) << 32)

enum video { vadd_element, vsub_element, vavrg_element, vabsdiff_element, vmin_element, vmax_element };
enum { VIDEO_SIGNED_u32 = 0, VIDEO_SIGNED_s32 = 1 };

static s32 video_element(s32 x, s32 y, enum video op, bool is_signed)
{
	switch (op) {
	case vadd_element:
		return x + y;
	case vsub_element:
		return x - y;
	case vavrg_element: /* rounds away from zero */
		return (x + y + (x + y >= 0)) >> 1;
	case vabsdiff_element:
		return x < y ? y - x : x - y;
	case vmin_element:
		return x < y ? x : y;
	default:
		return x > y ? x : y;
	}
}

/* Element by element, or the sum of the elements and c. */
static u32 video_of(u32 a, u32 b, u32 c, u32 bits, bool sd, bool sa, bool sb, enum video op, bool saturate, bool add)
{
	const s32 most = sd ? (s32)((1u << (bits - 1)) - 1) : (s32)((1u << bits) - 1);
	const s32 least = sd ? -(s32)(1u << (bits - 1)) : 0;
	const u32 keep = (1u << bits) - 1;
	u32 r = add ? c : 0;

	for (u32 k = 0; k < 32; k += bits) {
		const u32 xa = a >> k & keep, xb = b >> k & keep, up = 32 - bits;
		const s32 x = sa ? (s32)(xa << up) >> up : (s32)xa, y = sb ? (s32)(xb << up) >> up : (s32)xb;
		s32 v = video_element(x, y, op, sd);

		if (saturate)
			v = v > most ? most : v < least ? least : v;
		r = add ? r + (u32)v : r | ((u32)v & keep) << k;
	}
	return r;
}

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
#define RH(...)
#define RF(...)

#include "softdev/ptx/rows_narrow.h"
#include "softdev/ptx/rows_video.h"

#undef R1
#undef R2
#undef R3
#undef RH
#undef RF

#define R1(pattern, name, td, ta, ...) { pattern, name, name, FORM_PLAIN, 2, { TY_##td, TY_##ta } },
#define R2(pattern, name, td, ta, tb, ...) { pattern, name, name, FORM_PLAIN, 3, { TY_##td, TY_##ta, TY_##tb } },
#define R3(pattern, name, td, ta, tb, tc, ...)                                                                         \
	{ pattern, name, name, FORM_PLAIN, 4, { TY_##td, TY_##ta, TY_##tb, TY_##tc } },
#define RH(pattern, fn, form, count, ...) { pattern, fn, fn, form, count, { __VA_ARGS__ } },
#define RF(pattern, form, count, ...) { pattern, NULL, NULL, form, count, { __VA_ARGS__ } },

const struct row once_row[] = {
#include "softdev/ptx/rows_narrow.h"
#include "softdev/ptx/rows_video.h"
#include "softdev/ptx/rows_matrix.h"
#include "softdev/ptx/rows_async.h"
};
const size_t once_row_count = sizeof(once_row) / sizeof(once_row[0]);
