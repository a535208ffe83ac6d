/*
 * onednn.h: the part of oneDNN (libdnnl, versions 2 and 3) that the library uses if it is installed: convolutions of
 * float, and products of float and bfloat16, each only on the calling thread. Addresses may be anywhere in memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ONEDNN_SPATIAL 3

enum onednn_direction { ONEDNN_FORWARD, ONEDNN_DATA, ONEDNN_FILTER };

/* Unused fields must be zero: shapes are compared as bytes. */
struct onednn_conv {
	int64_t direction, spatial;
	int64_t images, groups, in_channels, out_channels; /* channels of all groups */
	int64_t in[ONEDNN_SPATIAL], out[ONEDNN_SPATIAL], window[ONEDNN_SPATIAL];
	int64_t stride[ONEDNN_SPATIAL], dilation[ONEDNN_SPATIAL], pad[ONEDNN_SPATIAL];
	/* elements from image to image, channel to channel, and along the dimensions */
	int64_t x_stride[2 + ONEDNN_SPATIAL], y_stride[2 + ONEDNN_SPATIAL];
	/* from output channel to output channel (through all groups), input channel to input channel, and so on */
	int64_t w_stride[2 + ONEDNN_SPATIAL];
};

/*
 * C = A B; strides are elements from row to row and from column to column. Unused fields must be zero, as above.
 */
struct onednn_product {
	int64_t bfloat, bfloat_c; /* A and B, or C, are bfloat16; else float */
	int64_t rows, columns, inner;
	int64_t a_stride[2], b_stride[2], c_stride[2];
};

/* Opens the library once, and logs one line if there is none. */
bool onednn_open(void);
/*
 * One convolution or gradient; the direction determines which of x, w and y is the result. `same_filter`: the filter is
 * that of this thread's previous call. False: oneDNN does not support it, or has no memory.
 */
bool onednn_conv(const struct onednn_conv *shape, const float *x, const float *w, const float *y, bool same_filter);
/* C = alpha * A B + beta * C by rows; `turned`: A or B is stored transposed. */
bool onednn_gemm(bool turned_a, bool turned_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
		 int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
/* Whether products of bfloat16 are worth it: the processor has instructions for them. */
bool onednn_has_bfloat(void);
/*
 * B is brought into the layout in which oneDNN is fast, and stays there: where `number` is not 0 and is that of this
 * thread's previous call with this shape, B has not changed. False: oneDNN does not support it well, or has no memory.
 */
bool onednn_product(const struct onednn_product *shape, uint64_t number, const void *a, const void *b, void *c);
