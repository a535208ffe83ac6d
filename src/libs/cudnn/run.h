/* run.h: what kernels share on the device's threads: rows of a tensor, one after another. */
#pragma once

#include "libs/cudnn/types.h"

#define ROW 256 /* elements that are computed at once */

/*
 * Some dimensions of a tensor, as rows of one dimension: for k below `rows`, walk_at() gives the place of the k-th row,
 * which has `length` elements in dimension `row`.
 */
struct walk {
	const int64_t *dim;
	uint8_t axes; /* those of the rows; bits */
	int row;
	int64_t rows, length;
};

/* The row lies in the dimension among `axes` in which `o` has the smallest stride. */
void walk_begin(struct walk *w, const int64_t dim[DNN_DIMS], uint8_t axes, const struct dnn_operand *o);
/* Sets the coordinates in the dimensions of `axes`; that of the row is 0. */
void walk_at(const struct walk *w, int64_t k, int64_t at[DNN_DIMS]);
/* Coordinates of the k-th element in the dimensions of `axes`. */
void walk_element(const int64_t dim[DNN_DIMS], uint8_t axes, int64_t k, int64_t at[DNN_DIMS]);
int64_t walk_count(const int64_t dim[DNN_DIMS], uint8_t axes);

/* Elements of the row from `column` on that are computed at once. */
static inline int64_t row_count(const struct walk *w, int64_t column)
{
	return w->length - column < ROW ? w->length - column : ROW;
}

/* Where an element lies. */
static inline void *operand_at(const struct dnn_operand *o, const int64_t at[DNN_DIMS])
{
	int64_t offset = 0;

	for (int i = 0; i < DNN_DIMS; i++)
		offset += at[i] * o->stride[i];
	return (void *)(uintptr_t)(o->at + (uint64_t)offset * dnn_type_bytes(o->type));
}

static inline void *element_at(const struct dnn_operand *o, const void *at, int64_t offset)
{
	return (void *)((uintptr_t)at + (uintptr_t)(offset * (int64_t)dnn_type_bytes(o->type)));
}

#define ALL_AXES ((1u << DNN_DIMS) - 1)

/* Each returns false when the launch has ended. */
bool conv_run(struct soft_native *n, const struct dnn_work *w);
bool matmul_run(struct soft_native *n, const struct dnn_work *w);
