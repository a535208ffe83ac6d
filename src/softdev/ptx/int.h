/* int.h: the parts of the expressions of rows_int.h. */
#pragma once

#include "softdev/ptx/lane.h"

static inline s32 sat_s32(s64 v)
{
	return (s32)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

static inline s32 relu(s32 v)
{
	return v > 0 ? v : 0;
}

static inline s32 low24(s32 a)
{
	return (s32)((u32)a << 8) >> 8;
}

/*
 * Quotients of 32 bits by way of f64, which hosts divide in vectors: a quotient that is not whole differs from the next
 * whole number by at least 2^-32 of its own size, so rounding does not reach that number.
 */
static inline f64 f64_of_u32(u32 v)
{
#if defined(__AVX512F__)
	return (f64)v;
#else
	return (f64)(s32)(v ^ 0x80000000u) + 0x1p31;
#endif
}

static inline u32 div_u32_of(u32 a, u32 b)
{
#if defined(__AVX512F__)
	const u32 q = (u32)(f64_of_u32(a) / f64_of_u32(b ? b : 1));
#elif defined(__AVX2__)
	const u32 q = (u32)(s32)(floor(f64_of_u32(a) / f64_of_u32(b ? b : 1)) - 0x1p31) ^ 0x80000000u;
#else
	const u32 q = a / (b ? b : 1);
#endif

	return b ? q : ~0u;
}

static inline s32 div_s32_of(s32 a, s32 b)
{
#if defined(__AVX2__)
	const s32 by = b == 0 || b == -1 ? 1 : b, q = (s32)((f64)a / (f64)by);

	return b == -1 ? (s32)(0u - (u32)a) : b ? q : -1;
#else
	return b == -1 ? (s32)(0u - (u32)a) : b ? a / b : -1;
#endif
}

static inline s64 div_s64_of(s64 a, s64 b)
{
	return b == -1 ? (s64)(0ull - (u64)a) : b ? a / b : -1;
}

static inline u64 quotient_64(u64 a, u64 b, bool is_signed)
{
	return is_signed ? (u64)div_s64_of((s64)a, (s64)b) : b ? a / b : ~0ull;
}

static inline u64 remainder_64(u64 a, u64 b, bool is_signed)
{
	if (is_signed)
		return (s64)b == -1 ? 0 : b ? (u64)((s64)a % (s64)b) : a;
	return b ? a % b : a;
}

/* Sizes and indices are mostly small: if those of all lanes are, their quotients are computed with 32 bits. */
static inline void divide_64(struct warp *w, const struct op *o, bool is_signed, bool remainder)
{
	const u64 *a = at(w, o->a), *b = at(w, o->b);
	u64 *d = at(w, o->d), r[LANES] __attribute__((aligned(64))), high = 0;

	if (w->mask == ~0u)
		EACH_LANE high |= a[i] | b[i];
	else
		EACH_LANE high |= (a[i] | b[i]) & (u64)(s64)(s32)w->lanes[i];
	if (!(high >> (is_signed ? 31 : 32))) {
		EACH_LANE
		{
			const u32 x = (u32)a[i], y = (u32)b[i], q = div_u32_of(x, y);

			r[i] = remainder ? (y ? x - q * y : x) : y ? q : ~0ull;
		}
	} else {
		for (u32 left = w->mask; left; left &= left - 1) {
			const u32 i = (u32)__builtin_ctz(left);

			r[i] = remainder ? remainder_64(a[i], b[i], is_signed) : quotient_64(a[i], b[i], is_signed);
		}
	}
	if (w->mask == ~0u)
		EACH_LANE d[i] = r[i];
	else
		EACH_LANE d[i] = w->lanes[i] ? r[i] : d[i];
}

static void div_u64(struct warp *w, const struct op *o)
{
	divide_64(w, o, false, false);
}

static void div_s64(struct warp *w, const struct op *o)
{
	divide_64(w, o, true, false);
}

static void rem_u64(struct warp *w, const struct op *o)
{
	divide_64(w, o, false, true);
}

static void rem_s64(struct warp *w, const struct op *o)
{
	divide_64(w, o, true, true);
}

static inline u32 rem_u32_of(u32 a, u32 b)
{
	return b ? a - div_u32_of(a, b) * b : a;
}

static inline s32 rem_s32_of(s32 a, s32 b)
{
	return b ? (s32)((u32)a - (u32)div_s32_of(a, b) * (u32)b) : a;
}

static inline u32 popc32(u32 x)
{
	x -= x >> 1 & 0x55555555u;
	x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
	x = (x + (x >> 4)) & 0x0f0f0f0fu;
	x += x >> 8; /* most hosts multiply vectors of 32 bits slowly */
	return (x + (x >> 16)) & 63;
}

static inline u32 brev32(u32 x)
{
	x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
	x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
	x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
	x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
	return x >> 16 | x << 16;
}

/* Position of the highest set bit, or `top` minus it; all ones without one. */
static inline u32 bfind_of(u64 x, u32 top)
{
	u32 at = x ? 63 - (u32)__builtin_clzll(x) : 0;

	return !x ? ~0u : top ? top - at : at;
}

/* The n-th set bit from `base` on: upwards for n > 0, downwards for n < 0, the bit itself for 0. */
static inline u32 fns_of(u32 mask, u32 base, s32 n)
{
	u32 left = n < 0 ? 0u - (u32)n : (u32)n;
	s32 step = n < 0 ? -1 : 1, i = (s32)(base & 31);

	if (!n)
		return mask >> i & 1 ? (u32)i : ~0u;
	for (; i >= 0 && i < 32; i += step)
		if (mask >> i & 1 && !--left)
			return (u32)i;
	return ~0u;
}

/* `len` bits of a from `pos` on; past the end, copies of the sign (of the field's or the word's last bit) or zeroes. */
static inline u64 bfe_of(u64 a, u32 pos, u32 len, u32 width, bool is_signed)
{
	u32 last = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
	bool fill = is_signed && len && (a >> last & 1);
	u64 value = pos < width ? a >> pos : 0, keep = len >= 64 ? ~0ull : (1ull << len) - 1;

	if (!len)
		return 0;
	if (pos < width && len > width - pos)
		keep = width - pos >= 64 ? ~0ull : (1ull << (width - pos)) - 1;
	return (value & keep) | (fill ? ~(pos < width ? keep : 0) : 0);
}

/* The same of 32 bits, without branches. */
static inline u32 low_bits(u32 count)
{
	return count > 31 ? ~0u : (1u << (count & 31)) - 1;
}

static inline u32 bfe_u32_of(u32 a, u32 pos, u32 len)
{
	return (pos > 31 ? 0 : a >> (pos & 31)) & low_bits(len);
}

static inline u32 bfe_s32_of(u32 a, u32 pos, u32 len)
{
	const u32 end = pos + len > 32 ? 32 : pos + len, up = (32 - end) & 31, down = up + pos > 31 ? 31 : up + pos;
	const s32 r = (s32)(a << up) >> down;

	return len ? (u32)r : 0;
}

static inline u32 bfi_32_of(u32 a, u32 b, u32 pos, u32 len)
{
	const u32 field = pos > 31 ? 0 : low_bits(len) << (pos & 31);

	return (b & ~field) | (a << (pos & 31) & field);
}

static inline u64 bfi_of(u64 a, u64 b, u32 pos, u32 len, u32 width)
{
	u64 field;

	if (pos >= width || !len)
		return b;
	field = len >= width - pos ? ~0ull : (1ull << len) - 1;
	field <<= pos;
	return (b & ~field) | (a << pos & field);
}

static inline u32 sign_from(u32 a, u32 bits)
{
	return bits ? (u32)((s32)(a << (32 - bits)) >> (32 - bits)) : 0;
}

static inline u32 lop3_of(u32 a, u32 b, u32 c, u32 table)
{
	u32 r = 0;

	r |= table & 0x01 ? ~a & ~b & ~c : 0;
	r |= table & 0x02 ? ~a & ~b & c : 0;
	r |= table & 0x04 ? ~a & b & ~c : 0;
	r |= table & 0x08 ? ~a & b & c : 0;
	r |= table & 0x10 ? a & ~b & ~c : 0;
	r |= table & 0x20 ? a & ~b & c : 0;
	r |= table & 0x40 ? a & b & ~c : 0;
	r |= table & 0x80 ? a & b & c : 0;
	return r;
}

static inline u32 prmt_of(u32 a, u32 b, u32 select)
{
	u32 r = 0;

	for (u32 k = 0; k < 4; k++) { /* by numbers of 32 bits, of which the host shifts twice as many at once */
		const u32 s = select >> k * 4, byte = (s & 4 ? b : a) >> (s & 3) * 8 & 255;

		r |= (s & 8 ? (byte & 128 ? 255 : 0) : byte) << k * 8;
	}
	return r;
}

/* The named modes of prmt as selections, by the lower two bits of c. */
static const u32 prmt_b4e[4] = { 0x5670, 0x6701, 0x7012, 0x0123 };
static const u32 prmt_ecl[4] = { 0x3210, 0x3211, 0x3222, 0x3333 };
static const u32 prmt_ecr[4] = { 0x0000, 0x1110, 0x2210, 0x3210 };

static inline s32 byte_of(u32 x, u32 k, bool is_signed)
{
	return is_signed ? (s32)(x << (24 - k * 8)) >> 24 : (s32)(x >> k * 8 & 255);
}

static inline s32 dp4a_of(u32 a, u32 b, bool sa, bool sb)
{
	s32 sum = 0;

	for (u32 k = 0; k < 4; k++)
		sum += byte_of(a, k, sa) * byte_of(b, k, sb);
	return sum;
}

static inline s32 dp2a_of(u32 a, u32 b, bool sa, bool sb)
{
	s32 sum = 0;

	for (u32 k = 0; k < 2; k++)
		sum += (sa ? (s32)(a << (16 - k * 16)) >> 16 : (s32)(a >> k * 16 & 0xffff)) * byte_of(b, k, sb);
	return sum;
}

static inline u32 vabsdiff4_of(u32 a, u32 b, bool is_signed)
{
	u32 r = 0;

	for (u32 k = 0; k < 4; k++) {
		s32 d = byte_of(a, k, is_signed) - byte_of(b, k, is_signed);

		r |= (u32)(d < 0 ? -d : d) << k * 8;
	}
	return r;
}

static inline u32 byte_sum(u32 x)
{
	return (x & 255) + (x >> 8 & 255) + (x >> 16 & 255) + (x >> 24);
}

/* An expression in x and y for both 16-bit halves of a and b. */
#define HALVES(type, expr)                                                                                             \
	({                                                                                                             \
		type x = (type)a, y = (type)b;                                                                         \
		u32 low_ = (u16)(expr);                                                                                \
		x = (type)(a >> 16);                                                                                   \
		y = (type)(b >> 16);                                                                                   \
		low_ | (u32)(u16)(expr) << 16;                                                                         \
	})

/* The same for all four bytes. */
#define BYTES(type, expr)                                                                                              \
	({                                                                                                             \
		u32 all_ = 0;                                                                                          \
		for (u32 at_ = 0; at_ < 32; at_ += 8) {                                                                \
			const type x = (type)(a >> at_), y = (type)(b >> at_);                                         \
			all_ |= (u32)(u8)(expr) << at_;                                                                \
		}                                                                                                      \
		all_;                                                                                                  \
	})
#define CLAMPED(v, least, most) ((v) < (least) ? (least) : (v) > (most) ? (most) : (v))

/* Half of a carry-less product; each bit of b separately, so that the compiler vectorises it. */
static inline u64 carryless(u64 a, u64 b, bool high)
{
	u64 r = 0;

	for (u32 i = 0; i < 64; i++) {
		const u64 bit = 0 - (b >> i & 1);

		r ^= bit & (high ? (i ? a >> (64 - i) : 0) : a << i);
	}
	return r;
}

/*
 * Carry chains. In: whether the carry of the lane goes in; out: whether it is written. The carry of a subtraction is 1
 * when it borrows.
 */
#define CARRY_ADD(name, T, W, in, out)                                                                                 \
	static void name(struct warp *w, const struct op *o)                                                           \
	{                                                                                                              \
		T *d = at(w, o->d);                                                                                    \
		const T *pa = at(w, o->a), *pb = at(w, o->b);                                                          \
		for (u32 i = 0; i < LANES; i++) {                                                                      \
			if (!(w->mask & lane_bit[i]))                                                                  \
				continue;                                                                              \
			W sum = (W)pa[i] + pb[i] + ((in) ? w->carry[i] : 0);                                           \
			if (out)                                                                                       \
				w->carry[i] = (u32)(sum >> (sizeof(T) * 8));                                           \
			d[i] = (T)sum;                                                                                 \
		}                                                                                                      \
	}

#define CARRY_SUB(name, T, W, in, out)                                                                                 \
	static void name(struct warp *w, const struct op *o)                                                           \
	{                                                                                                              \
		T *d = at(w, o->d);                                                                                    \
		const T *pa = at(w, o->a), *pb = at(w, o->b);                                                          \
		for (u32 i = 0; i < LANES; i++) {                                                                      \
			if (!(w->mask & lane_bit[i]))                                                                  \
				continue;                                                                              \
			W diff = (W)pa[i] - pb[i] - ((in) ? w->carry[i] : 0);                                          \
			if (out)                                                                                       \
				w->carry[i] = (u32)(diff >> (sizeof(T) * 8)) & 1;                                      \
			d[i] = (T)diff;                                                                                \
		}                                                                                                      \
	}

/* `product` in x and y, both widened; hi takes its upper half. */
#define CARRY_MAD(name, T, W, S, shift, in, out)                                                                       \
	static void name(struct warp *w, const struct op *o)                                                           \
	{                                                                                                              \
		T *d = at(w, o->d);                                                                                    \
		const T *pa = at(w, o->a), *pb = at(w, o->b), *pc = at(w, o->c);                                       \
		for (u32 i = 0; i < LANES; i++) {                                                                      \
			if (!(w->mask & lane_bit[i]))                                                                  \
				continue;                                                                              \
			T part = (T)((W)(S)pa[i] * (W)(S)pb[i] >> (shift));                                            \
			W sum = (W)part + pc[i] + ((in) ? w->carry[i] : 0);                                            \
			if (out)                                                                                       \
				w->carry[i] = (u32)(sum >> (sizeof(T) * 8));                                           \
			d[i] = (T)sum;                                                                                 \
		}                                                                                                      \
	}

typedef unsigned __int128 u128;

CARRY_ADD(add_cc_32, u32, u64, 0, 1)
CARRY_ADD(add_cc_64, u64, u128, 0, 1)
CARRY_ADD(addc_32, u32, u64, 1, 0)
CARRY_ADD(addc_64, u64, u128, 1, 0)
CARRY_ADD(addc_cc_32, u32, u64, 1, 1)
CARRY_ADD(addc_cc_64, u64, u128, 1, 1)
CARRY_SUB(sub_cc_32, u32, u64, 0, 1)
CARRY_SUB(sub_cc_64, u64, u128, 0, 1)
CARRY_SUB(subc_32, u32, u64, 1, 0)
CARRY_SUB(subc_64, u64, u128, 1, 0)
CARRY_SUB(subc_cc_32, u32, u64, 1, 1)
CARRY_SUB(subc_cc_64, u64, u128, 1, 1)
CARRY_MAD(mad_lo_cc_32, u32, u64, u32, 0, 0, 1)
CARRY_MAD(mad_lo_cc_64, u64, u128, u64, 0, 0, 1)
CARRY_MAD(mad_hi_cc_u32, u32, u64, u32, 32, 0, 1)
CARRY_MAD(mad_hi_cc_s32, u32, u64, s32, 32, 0, 1)
CARRY_MAD(mad_hi_cc_u64, u64, u128, u64, 64, 0, 1)
CARRY_MAD(mad_hi_cc_s64, u64, u128, s64, 64, 0, 1)
CARRY_MAD(madc_lo_32, u32, u64, u32, 0, 1, 0)
CARRY_MAD(madc_lo_64, u64, u128, u64, 0, 1, 0)
CARRY_MAD(madc_lo_cc_32, u32, u64, u32, 0, 1, 1)
CARRY_MAD(madc_lo_cc_64, u64, u128, u64, 0, 1, 1)
CARRY_MAD(madc_hi_u32, u32, u64, u32, 32, 1, 0)
CARRY_MAD(madc_hi_s32, u32, u64, s32, 32, 1, 0)
CARRY_MAD(madc_hi_u64, u64, u128, u64, 64, 1, 0)
CARRY_MAD(madc_hi_s64, u64, u128, s64, 64, 1, 0)
CARRY_MAD(madc_hi_cc_u32, u32, u64, u32, 32, 1, 1)
CARRY_MAD(madc_hi_cc_s32, u32, u64, s32, 32, 1, 1)
CARRY_MAD(madc_hi_cc_u64, u64, u128, u64, 64, 1, 1)
CARRY_MAD(madc_hi_cc_s64, u64, u128, s64, 64, 1, 1)

#define COMPARE_INT(t, names)                                                                                          \
	COMPARE(t, "eq", names, eq, a == b)                                                                            \
	COMPARE(t, "ne", names, ne, a != b)                                                                            \
	COMPARE(t, "{lt,lo}", names, lt, a < b)                                                                        \
	COMPARE(t, "{le,ls}", names, le, a <= b)                                                                       \
	COMPARE(t, "{gt,hi}", names, gt, a > b)                                                                        \
	COMPARE(t, "{ge,hs}", names, ge, a >= b)
#define COMPARE(t, op, names, id, cond) R2F("setp." op "." names, setp_##id##_##t, FORM_SETP, pred, t, t, P(cond))
