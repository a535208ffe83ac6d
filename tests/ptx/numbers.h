/*
 * numbers.h: small whole numbers in the formats of matrix elements, and the text of a kernel that is being written.
 * Every format holds them, and their sums are exact in any order, so results must be equal to the bit.
 */
#pragma once

#include "harness.h"

#include <stdarg.h>

enum kind { F16, BF16, TF32, F32, F64, S32, S8, U8, S4, U4, B1, E4M3, E5M2, E3M2, E2M3, E2M1_BYTE, E2M1 };

static const struct {
	const char *name;
	unsigned bits;
	int least, most; /* of the values used */
} kinds[] = {
	[F16] = { "f16", 16, -4, 4 },	    [BF16] = { "bf16", 16, -4, 4 }, [TF32] = { "tf32", 32, -4, 4 },
	[F32] = { "f32", 32, -9, 9 },	    [F64] = { "f64", 64, -9, 9 },   [S32] = { "s32", 32, -99, 99 },
	[S8] = { "s8", 8, -128, 127 },	    [U8] = { "u8", 8, 0, 255 },	    [S4] = { "s4", 4, -8, 7 },
	[U4] = { "u4", 4, 0, 15 },	    [B1] = { "b1", 1, 0, 1 },	    [E4M3] = { "e4m3", 8, -4, 4 },
	[E5M2] = { "e5m2", 8, -4, 4 },	    [E3M2] = { "e3m2", 8, -4, 4 },  [E2M3] = { "e2m3", 8, -4, 4 },
	[E2M1_BYTE] = { "e2m1", 8, -4, 4 }, [E2M1] = { "e2m1", 4, -4, 4 },
};

/* A small whole number as bits of a float with e bits of exponent and m of mantissa. */
static inline uint64_t float_bits(int v, unsigned e, unsigned m)
{
	unsigned size = (unsigned)(v < 0 ? -v : v), top = 0;
	uint64_t sign = (uint64_t)(v < 0) << (e + m);

	if (!v)
		return 0;
	while (size >> (top + 1))
		top++;
	return sign | (uint64_t)(top + (1u << (e - 1)) - 1) << m | ((uint64_t)(size - (1u << top)) << m >> top);
}

static inline uint64_t encode(enum kind k, int v)
{
	switch (k) {
	case F16:
		return float_bits(v, 5, 10);
	case BF16:
		return float_bits(v, 8, 7);
	case TF32:
	case F32:
		return float_bits(v, 8, 23);
	case F64:
		return float_bits(v, 11, 52);
	case E4M3:
		return float_bits(v, 4, 3);
	case E5M2:
		return float_bits(v, 5, 2);
	case E3M2: /* in the lower six bits of a byte */
		return float_bits(v, 3, 2);
	case E2M3:
		return float_bits(v, 2, 3);
	case E2M1_BYTE: /* in the middle of a byte */
		return float_bits(v, 2, 1) << 2;
	case E2M1:
		return float_bits(v, 2, 1);
	default:
		return kinds[k].bits == 32 ? (uint32_t)v : (uint64_t)v & ((1u << kinds[k].bits) - 1);
	}
}

static inline int any_value(enum kind k)
{
	return kinds[k].least + (int)(random_bits() % (uint64_t)(kinds[k].most - kinds[k].least + 1));
}

static inline void put(uint8_t *at, unsigned index, enum kind k, int v)
{
	const unsigned bits = kinds[k].bits;
	const uint64_t x = encode(k, v);

	if (bits >= 8)
		memcpy(at + index * bits / 8, &x, bits / 8);
	else
		at[index * bits / 8] = (uint8_t)((at[index * bits / 8] & ~(((1u << bits) - 1) << index * bits % 8)) |
						 x << index * bits % 8);
}

static inline uint64_t get(const uint8_t *at, unsigned index, enum kind k)
{
	uint64_t x = 0;

	memcpy(&x, at + index * kinds[k].bits / 8, kinds[k].bits / 8);
	return x;
}

static char text[1 << 16];
static size_t text_bytes;

static inline void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_bytes += (size_t)vsnprintf(text + text_bytes, sizeof(text) - text_bytes, fmt, ap);
	va_end(ap);
}
