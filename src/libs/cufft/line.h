/*
 * line.h: transforms of lines of complex numbers, several lines side by side.
 *
 * A line of n numbers is a Stockham transform of radices 4, 2, 3, 5 and other primes up to LINE_PRIME; a length with a
 * larger prime goes through a convolution whose length is a power of two (L. Bluestein, "A linear filtering approach to
 * the computation of discrete Fourier transform"). The numbers of the lines that are worked on together lie beside one
 * another, so that every operation is one of vectors, whatever the length.
 *
 * Plans are made once for each length and precision, and kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LINE_BYTES 32 /* of a vector */
#define LINE_PRIME 31
#define LINE_STAGES 40
#define LINE_MOST (INT64_C(1) << 27)

struct line_plan {
	int64_t n;
	bool wide; /* doubles */
	int stages;
	int radix[LINE_STAGES];
	void *twiddles[LINE_STAGES]; /* of a stage: radix - 1 complex numbers for each of its places */
	void *roots[LINE_STAGES];    /* of a stage: the radix's roots of unity; NULL: the radix has a function of its
				      * own */
	struct line_plan *longer;    /* the plan of the convolution; NULL without one. The following fields belong to
				      * it */
	void *chirp, *filter;
};

/* NULL: no memory. The plan is kept for ever. */
const struct line_plan *line_plan_get(int64_t n, bool wide);
/* The number of lines that are processed side by side. */
int line_lanes(bool wide);
/*
 * The size of memory for line_run(), aligned to LINE_BYTES: for each number the real parts of all lanes, then the
 * imaginary ones.
 */
uint64_t line_bytes(const struct line_plan *plan);
/* Transforms the numbers at `memory` forwards. Value: the address of the result within it. */
void *line_run(const struct line_plan *plan, void *memory);

typedef void *(*line_function)(const struct line_plan *plan, void *memory);
void *line_run_f(const struct line_plan *plan, void *memory);
void *line_run_d(const struct line_plan *plan, void *memory);
void *line_run_f_avx2(const struct line_plan *plan, void *memory);
void *line_run_d_avx2(const struct line_plan *plan, void *memory);
