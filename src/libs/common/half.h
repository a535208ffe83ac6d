/*
 * half.h: converts numbers of 16 bits, IEEE's and bfloat16, to float and back; round to nearest, ties to even. Without
 * branches, so that compilers vectorise loops over them.
 */
#pragma once

#include <stdint.h>
#include <string.h>

static inline float float_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline uint32_t bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* A product with 2^112 moves the exponent to its place, for subnormal numbers too. */
static inline float half_read(uint16_t h)
{
	uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
	float scaled = float_of(magnitude) * 0x1p112f;
	uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0;

	return float_of(bits_of(scaled) | special | sign);
}

static inline uint16_t half_write(float value)
{
	uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
	/* subnormal results: adding 0.5 leaves the rounded value in the lowest bits */
	uint32_t small = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
	uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
	uint32_t result = magnitude < 0x38800000u ? small : normal;

	result = magnitude >= 0x47800000u ? 0x7c00u : result;
	result = magnitude > 0x7f800000u ? 0x7e00u : result;
	return (uint16_t)(result | sign);
}

static inline float bfloat_read(uint16_t b)
{
	return float_of((uint32_t)b << 16);
}

static inline uint16_t bfloat_write(float value)
{
	uint32_t bits = bits_of(value);
	uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;

	return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 | 0x40u) : rounded);
}
