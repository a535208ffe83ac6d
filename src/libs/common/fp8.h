/*
 * fp8.h: converts numbers of 8 bits to float and back; round to nearest, ties to even, and values that are too large
 * become the largest number. Without branches, like half.h.
 *
 * Sources: OCP 8-bit floating point specification 1.0: E4M3 has no infinities and 448 as its largest number; E5M2 is
 * the upper byte of IEEE's half.
 */
#pragma once

#include "libs/common/half.h"

#define E4M3_MOST 448.0f
#define E5M2_MOST 57344.0f

static inline float e5m2_read(uint8_t v)
{
	return half_read((uint16_t)(v << 8));
}

/* A product with 2^120 moves the exponent to its place, for subnormal numbers too. */
static inline float e4m3_read(uint8_t v)
{
	uint32_t magnitude = (uint32_t)(v & 0x7f) << 20, sign = (uint32_t)(v & 0x80) << 24;
	uint32_t special = (v & 0x7f) == 0x7f ? 0x7fc00000u : 0;

	return float_of(bits_of(float_of(magnitude) * 0x1p120f) | special | sign);
}

/*
 * `fraction` bits of the fraction stay; `normal` is the smallest number that is not subnormal, and `adds` has the step
 * of subnormal numbers as its last bit.
 */
static inline uint8_t fp8_write(float value, unsigned int fraction, float most, float normal, float adds)
{
	uint32_t bits = bits_of(value), sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffffu;
	unsigned int lost = 23 - fraction;
	uint32_t limited = magnitude > bits_of(most) ? bits_of(most) : magnitude;
	uint32_t small = bits_of(float_of(limited) + adds) - bits_of(adds);
	uint32_t half = (1u << (lost - 1)) - 1 + (limited >> lost & 1);
	uint32_t large = (limited - (bits_of(normal) - (1u << 23)) + half) >> lost;
	uint32_t result = limited < bits_of(normal) ? small : large;

	result = magnitude > 0x7f800000u ? 0x7fu : result;
	return (uint8_t)(result | sign);
}

static inline uint8_t e4m3_write(float value)
{
	return fp8_write(value, 3, E4M3_MOST, 0x1p-6f, 0x1p14f);
}

static inline uint8_t e5m2_write(float value)
{
	return fp8_write(value, 2, E5M2_MOST, 0x1p-14f, 0x1p7f);
}
