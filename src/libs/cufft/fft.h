/*
 * fft.h: cuFFT of the software device: plans, and the execution of a transform.
 *
 * A transform of several dimensions is one pass of lines for each dimension, each a kernel. A single long line takes
 * two passes: its numbers are a matrix, whose columns are transformed, multiplied by twiddle factors, and then its
 * rows. The plan's work area is used between the two. Real numbers are complex ones of which a half is kept; two real
 * lines are transformed as one complex line.
 */
#pragma once

#include "cufft_soft.h"
#include "libs/common/library.h"

#define FFT_TITLE "cuFFT"
#define FFT_RANK 3

enum fft_kind { FFT_COMPLEX, FFT_REAL, FFT_HALF, FFT_KINDS };

/* One side of a pass. Number p of a line, p = index * step + line * first, lies at at + (offset of the line + p *
 * stride). */
struct fft_side {
	uint64_t at;
	uint32_t kind; /* enum fft_kind: what the numbers are; of FFT_HALF those above the middle are not stored */
	uint32_t spare;
	int64_t stride, step, first; /* in numbers */
	int64_t apart[3];	     /* between lines, by each of the counts */
};

/* A kernel's parameters. */
struct fft_pass {
	uint32_t number; /* device_launch() sets it */
	uint32_t wide;	 /* doubles */
	uint32_t backwards;
	uint32_t turn; /* number k of line `first` is multiplied by a root of unity of order `whole`, to the power k *
			  first */
	int64_t n, whole;
	int64_t count[3]; /* of lines; the first one is the `first` of a side */
	struct fft_side in, out;
};

_Static_assert(sizeof(struct fft_pass) <= DEVICE_PARAM_BYTES, "a kernel's parameters");

/* The number of groups of lines that are processed together. */
int64_t fft_groups(const struct fft_pass *p);
/* The entry point of kernels. */
void fft_run(struct soft_native *n);

/* Defined by each library: the version that it reports. */
extern const int fft_version;
