/*
 * video.c: executes the video instructions, lane by lane. They are rare in new code, so one executor reads what to do
 * from the operation (video.h) instead of being built once per combination.
 */
#include "softdev/ptx/lane.h"
#include "softdev/ptx/once.h"
#include "softdev/ptx/video.h"

typedef __int128 s128;

static s64 part_of(u64 v, u32 from, u32 bits, bool is_signed)
{
	const u64 x = v >> from & (~0ull >> (64 - bits));

	return is_signed ? (s64)(x << (64 - bits)) >> (64 - bits) : (s64)x;
}

static s128 clamped(s128 v, u32 bits, bool is_signed)
{
	const s128 most = ((s128)1 << (is_signed ? bits - 1 : bits)) - 1, least = is_signed ? -most - 1 : 0;

	return v < least ? least : v > most ? most : v;
}

static bool compared(s64 x, s64 y, u32 how)
{
	switch (how) {
	case VIDEO_EQ:
		return x == y;
	case VIDEO_NE:
		return x != y;
	case VIDEO_LT:
		return x < y;
	case VIDEO_LE:
		return x <= y;
	case VIDEO_GT:
		return x > y;
	default:
		return x >= y;
	}
}

static s128 combined(const struct video_use *u, s64 x, s64 y)
{
	switch (u->op) {
	case VIDEO_ADD:
		return x + y;
	case VIDEO_SUB:
		return x - y;
	case VIDEO_AVERAGE: /* rounds away from zero */
		return (x + y + (x + y >= 0)) >> 1;
	case VIDEO_DIFFERENCE:
		return x < y ? y - x : x - y;
	case VIDEO_MIN:
		return x < y ? x : y;
	case VIDEO_MAX:
		return x > y ? x : y;
	case VIDEO_SHL:
		return (s128)x * ((s128)1 << (u->wrap ? y & 31 : y > 32 ? 32 : y));
	case VIDEO_SHR:
		return x >> (u->wrap ? y & 31 : y > 32 ? 32 : y);
	default:
		return compared(x, y, u->compare);
	}
}

static u32 multiplied(const struct video_use *u, s64 x, s64 y, u32 c)
{
	const bool is_signed = u->signed_a || u->signed_b || u->minus_a != u->minus_b || u->minus_c;
	s128 product = (s128)x * y, addend = is_signed ? (s128)(s32)c : (s128)c, r;

	if (u->minus_a != u->minus_b && !u->plus_one)
		product = -product;
	if (u->minus_c && !u->plus_one)
		addend = -addend;
	r = (product + addend + u->plus_one) >> u->shift;
	return (u32)(u->saturate ? clamped(r, 32, is_signed) : r);
}

static u32 second_of(const struct video_use *u, u32 v, u32 c)
{
	const s64 x = u->signed_d ? (s64)(s32)v : v, y = u->signed_d ? (s64)(s32)c : c;

	switch (u->second) {
	case VIDEO_ADD:
		return v + c;
	case VIDEO_MIN:
		return x < y ? v : c;
	case VIDEO_MAX:
		return x > y ? v : c;
	default:
		return v;
	}
}

static u32 single(const struct video_use *u, u32 a, u32 b, u32 c)
{
	const s64 x = part_of(a, u->from[1], u->bits[1], u->signed_a);
	const s64 y = part_of(b, u->from[2], u->bits[2], u->signed_b);
	const u32 keep = ~0u >> (32 - u->bits[0]);
	s128 r;

	if (u->op == VIDEO_MAD)
		return multiplied(u, x, y, c);
	r = combined(u, x, y);
	if (u->saturate)
		r = clamped(r, u->bits[0], u->signed_d);
	if (u->bits[0] < 32)
		return (c & ~(keep << u->from[0])) | ((u32)r & keep) << u->from[0];
	return second_of(u, (u32)r, c);
}

static u32 several(const struct video_use *u, u32 a, u32 b, u32 c)
{
	const u32 bits = 32u / u->parts, keep = ~0u >> (32 - bits);
	const u64 both = a | (u64)b << 32;
	u32 d = c;

	for (u32 i = 0; i < u->parts; i++) {
		const s64 x = part_of(both, u->pick[0][i] * bits, bits, u->signed_a);
		const s64 y = part_of(both, u->pick[1][i] * bits, bits, u->signed_b);
		s128 r = combined(u, x, y);

		if (!(u->mask >> i & 1))
			continue;
		if (u->saturate)
			r = clamped(r, bits, u->signed_d);
		if (u->second == VIDEO_ADD)
			d += (u32)r;
		else
			d = (d & ~(keep << i * bits)) | ((u32)r & keep) << i * bits;
	}
	return d;
}

void video(struct warp *w, const struct op *o)
{
	const struct video_use *u = o->list->what;
	const u32 *a = at(w, o->a), *b = at(w, o->b), *c = o->c == LOC_NONE ? a : at(w, o->c);
	u32 *d = at(w, o->d);

	for (u32 i = 0; i < LANES; i++)
		if (w->mask & lane_bit[i])
			d[i] = u->parts == 1 ? single(u, a[i], b[i], c[i]) : several(u, a[i], b[i], c[i]);
}
