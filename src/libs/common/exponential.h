/*
 * exponential.h: the exponential function of float and functions derived from it, accurate to some units in the last
 * place. Without calls and branches, so that compilers vectorise loops over them.
 */
#pragma once

#include "libs/common/half.h"

#define EXPONENTIAL_HIGH 88.72283f /* above it the result is infinity */
#define EXPONENTIAL_LOW (-87.33654f) /* below it, where results are subnormal, the result is 0 */

/* 2^n e^r with the nearest whole n, |r| <= ln(2) / 2; e^r by its series. */
static inline float exp_float(float x)
{
	const float magic = 12582912.0f; /* 1.5 * 2^23: its last bit is 1 */
	float limited = x < EXPONENTIAL_LOW ? EXPONENTIAL_LOW : x > EXPONENTIAL_HIGH ? EXPONENTIAL_HIGH : x;
	float shifted = limited * 1.44269504f + magic;
	float n = shifted - magic;
	float r = limited - n * 0.693359375f + n * 2.12194440e-4f; /* ln(2) in two parts */
	float series = 1.0f / 5040;
	/* 2^n in two factors: 2^128 is no float */
	uint32_t half = (bits_of(shifted) - bits_of(magic) + 256) >> 1;
	uint32_t rest = bits_of(shifted) - bits_of(magic) + 256 - half;

	series = series * r + 1.0f / 720;
	series = series * r + 1.0f / 120;
	series = series * r + 1.0f / 24;
	series = series * r + 1.0f / 6;
	series = series * r + 0.5f;
	series = series * r + 1.0f;
	series = series * r + 1.0f;
	series = series * float_of((half - 1) << 23) * float_of((rest - 1) << 23);
	series = x < EXPONENTIAL_LOW ? 0 : series;
	return x > EXPONENTIAL_HIGH ? float_of(0x7f800000u) : series;
}

static inline float sigmoid_float(float x)
{
	return 1 / (1 + exp_float(-x));
}

/* Small numbers use the series: the other formula loses their fractional digits. */
static inline float tanh_float(float x)
{
	float size = float_of(bits_of(x) & 0x7fffffffu), square = x * x;
	float e = exp_float(-2 * size);
	float large = float_of(bits_of((1 - e) / (1 + e)) | (bits_of(x) & 0x80000000u));
	float small = 62.0f / 2835;

	small = small * square - 17.0f / 315;
	small = small * square + 2.0f / 15;
	small = small * square - 1.0f / 3;
	small = x + x * square * small;
	return size < 0.25f ? small : large;
}
