/* run.h: what kernels share on the device's threads: iteration over rows of a tensor. */
#pragma once

#include "libs/cudnn/types.h"

#define ROW 256		  /* number of elements computed at once */
#define UNTOLD_MOST 65536 /* number of elements after which progress is reported to the device */

/* Work whose length only the parameters say: the device is told of it now and then. */
struct progress {
	struct soft_native *n;
	int64_t since; /* elements since then */
};

/* Notes elements that have been computed. False: the launch has ended. */
static inline bool progress_made(struct progress *p, int64_t elements)
{
	p->since += elements;
	if (p->since < UNTOLD_MOST)
		return true;
	p->since = 0;
	return p->n->go_on(p->n, 0);
}

/*
 * Some dimensions of a tensor, as rows of one dimension: for k below `rows`, walk_at() returns the place of the k-th
 * row, which has `length` elements in dimension `row`.
 */
struct walk {
	struct progress progress;
	const int64_t *dim;
	uint8_t axes; /* those of the rows; bits */
	int row;
	int64_t rows, length;
	bool ended; /* the launch has ended */
};

/* Among `axes`, the dimension of the row is the one in which `o` has the smallest stride. */
void walk_begin(struct walk *w, struct soft_native *n, const int64_t dim[DNN_DIMS], uint8_t axes,
		const struct dnn_operand *o);
/* Sets the coordinates in the dimensions of `axes`; that of the row is 0. */
void walk_at(const struct walk *w, int64_t k, int64_t at[DNN_DIMS]);
/* Coordinates of the k-th element in the dimensions of `axes`. */
void walk_element(const int64_t dim[DNN_DIMS], uint8_t axes, int64_t k, int64_t at[DNN_DIMS]);
int64_t walk_count(const int64_t dim[DNN_DIMS], uint8_t axes);

/* Notes elements, or work that is as much. */
static inline void walk_made(struct walk *w, int64_t elements)
{
	w->ended = w->ended || !progress_made(&w->progress, elements);
}

/*
 * The number of elements of the row from `column` on that are computed at once. 0: the end of the row, or the launch
 * has ended.
 */
static inline int64_t row_count(struct walk *w, int64_t column)
{
	int64_t count = w->length - column < ROW ? w->length - column : ROW;

	walk_made(w, count);
	return w->ended ? 0 : count;
}

/* The address of an element. */
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
