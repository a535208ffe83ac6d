/*
 * softrow.h: the parts of a softmax over a row of floats (softrow_typed.h). Those without a suffix use the instructions
 * that the processor has.
 */
#pragma once

#include <stdint.h>

#define ROWS(suffix)                                                                                                   \
	/* The largest number, of which `most` is the first; NaN is none. */                                           \
	float softrow_largest##suffix(const float *x, int64_t count, float most);                                      \
	/* x becomes e^(x - base). Value: the sum. */                                                                  \
	double softrow_exponentials##suffix(float *x, int64_t count, float base);                                      \
	void softrow_multiply##suffix(float *x, int64_t count, float factor);                                          \
	/* Products with the factor, as numbers of a type. */                                                          \
	void softrow_float##suffix(const float *restrict x, int64_t count, float factor, float *restrict to);          \
	void softrow_half##suffix(const float *x, int64_t count, float factor, uint16_t *to);                          \
	void softrow_bfloat##suffix(const float *x, int64_t count, float factor, uint16_t *to);
ROWS()
ROWS(_any)
ROWS(_avx2)
ROWS(_avx512)
#undef ROWS
