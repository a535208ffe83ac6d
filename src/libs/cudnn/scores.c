/*
 * scores.c: kernels of attention on the device's threads: masks along a diagonal, a softmax with its statistics, copies
 * of ragged and paged tensors.
 *
 * Lengths, offsets and numbers of pages are read from the device's memory when the kernel runs. Each is read once and
 * checked before it is used: another stream may change it meanwhile.
 */
#include "libs/cudnn/scores.h"
#include "libs/cudnn/softrow.h"

#include "libs/cudnn/conv.h"

#include <math.h>
#include <string.h>

#define LAST (DNN_DIMS - 1)
#define ROWS_AXIS (DNN_DIMS - 2)
#define INFINITE (-HUGE_VAL)

static void get(double *to, const struct dnn_operand *o, const int64_t at[DNN_DIMS], int64_t from, int64_t count)
{
	double value;

	if (!o->is_value) {
		dnn_read_d(to, o->type, element_at(o, operand_at(o, at), from * o->stride[LAST]), o->stride[LAST],
			   count);
		return;
	}
	memcpy(&value, &o->at, sizeof(value));
	for (int64_t i = 0; i < count; i++)
		to[i] = value;
}

static void put(const double *from, const struct dnn_operand *o, const int64_t at[DNN_DIMS], int64_t column,
		int64_t count)
{
	dnn_write_d(from, o->type, element_at(o, operand_at(o, at), column * o->stride[LAST]), o->stride[LAST], count);
}

/* A number of this row's image; `otherwise`: there is none. */
static double number(const struct dnn_operand *o, const int64_t at[DNN_DIMS], double otherwise)
{
	double value;

	if (!o->at && !o->is_value)
		return otherwise;
	get(&value, o, at, 0, 1);
	return value;
}

static void put_one(double value, const struct dnn_operand *o, const int64_t at[DNN_DIMS])
{
	if (o->at)
		put(&value, o, at, 0, 1);
}

/* ---- masks ---- */

static bool holds(unsigned int mode, double a, double b)
{
	switch (mode) {
	case CUDNN_POINTWISE_CMP_EQ:
		return a == b;
	case CUDNN_POINTWISE_CMP_NEQ:
		return a != b;
	case CUDNN_POINTWISE_CMP_GT:
		return a > b;
	case CUDNN_POINTWISE_CMP_GE:
		return a >= b;
	case CUDNN_POINTWISE_CMP_LT:
		return a < b;
	default:
		return a <= b;
	}
}

bool band_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	const struct dnn_operand *o = w->operand;
	double x[ROW];
	struct walk walk;

	walk_begin(&walk, n, w->dim, w->axes, &o[BAND_X]);
	for (int64_t g = from; g < to; g++) {
		int64_t at[DNN_DIMS] = { 0 };
		double q, kv, left, shift, value, row;

		walk_element(w->dim, (uint8_t)(ALL_AXES & ~w->axes), g, at);
		row = (double)at[ROWS_AXIS];
		q = number(&o[BAND_LENGTH_Q], at, w->mode == CUDNN_POINTWISE_LOGICAL_AND ? HUGE_VAL : 0);
		kv = number(&o[BAND_LENGTH_KV], at, w->mode == CUDNN_POINTWISE_LOGICAL_AND ? HUGE_VAL : 0);
		left = number(&o[BAND_LEFT], at, 0);
		shift = number(&o[BAND_SHIFT], at, 0);
		value = number(&o[BAND_VALUE], at, INFINITE);
		for (int64_t column = 0, count; (count = row_count(&walk, column)); column += count) {
			get(x, &o[BAND_X], at, column, count);
			for (int64_t i = 0; i < count; i++) {
				double c = (double)(column + i);
				bool keep = w->mode == CUDNN_POINTWISE_LOGICAL_AND ? row < q && c < kv
					    : w->flag ? holds(w->mode, c + left - kv + q, row)
						      : holds(w->mode, row + kv - q + shift, c);

				x[i] = keep ? x[i] : value;
			}
			put(x, &o[BAND_Y], at, column, count);
		}
		if (walk.ended || !n->go_on(n, (uint64_t)walk.length / 8 + 1))
			return false;
	}
	return true;
}

/* ---- softmax ---- */

#define SOFT_ROW 4096 /* of float, a row of so many is computed at once */

/* Whether one of the numbers is NaN, which softrow_largest() does not see. */
static bool has_nan(const struct dnn_operand *x, const int64_t at[DNN_DIMS], float *row, int64_t count)
{
	bool found = false;

	dnn_read_f(row, x->type, operand_at(x, at), x->stride[LAST], count);
	for (int64_t i = 0; i < count; i++)
		found = found || isnan(row[i]);
	return found;
}

static void row_put(float *row, int64_t count, float factor, const struct dnn_operand *y, const int64_t at[DNN_DIMS])
{
	void *to = operand_at(y, at);

	if (y->stride[LAST] == 1 && y->type == CUDNN_DATA_BFLOAT16) {
		softrow_bfloat(row, count, factor, to);
	} else if (y->stride[LAST] == 1 && y->type == CUDNN_DATA_HALF) {
		softrow_half(row, count, factor, to);
	} else if (y->stride[LAST] == 1 && y->type == CUDNN_DATA_FLOAT) {
		softrow_float(row, count, factor, to);
	} else {
		softrow_multiply(row, count, factor);
		dnn_write_f(row, y->type, to, y->stride[LAST], count);
	}
}

/* The same as row_wide() of no more than SOFT_ROW floats. */
static double row_soft(const struct dnn_work *w, const int64_t at[DNN_DIMS], int64_t count, double sink,
		       double *ret_most)
{
	const struct dnn_operand *x = &w->operand[SCORES_X], *y = &w->operand[SCORES_Y];
	float row[SOFT_ROW];
	double sum, base;

	dnn_read_f(row, x->type, operand_at(x, at), x->stride[LAST], count);
	*ret_most = (double)softrow_largest(row, count, sink == INFINITE ? -INFINITY : (float)sink);
	*ret_most = sink > *ret_most ? sink : *ret_most;
	base = isinf(*ret_most) && *ret_most < 0 ? 0 : *ret_most;
	sum = exp(sink - base) + softrow_exponentials(row, count, (float)base);
	row_put(row, count, (float)(sum > 0 || isnan(sum) ? 1 / sum : 0), y, at);
	if (isnan(sum) && has_nan(x, at, row, count)) /* seldom; x may have been replaced, by NaN */
		*ret_most = NAN;
	return sum;
}

/* Y becomes the softmax of a row. Value: the sum of its exponentials. */
static double row_wide(struct walk *walk, const struct dnn_work *w, const int64_t at[DNN_DIMS], double sink,
		       double *ret_most)
{
	const struct dnn_operand *o = w->operand, *x = &o[SCORES_X];
	double row[ROW], most = sink, base, sum;

	for (int64_t column = 0, count; (count = row_count(walk, column)); column += count) {
		get(row, x, at, column, count);
		for (int64_t i = 0; i < count; i++)
			most = row[i] > most || isnan(row[i]) ? row[i] : most;
	}
	base = most == INFINITE ? 0 : most; /* a row of which nothing counts */
	sum = exp(sink - base);
	for (int64_t column = 0, count; (count = row_count(walk, column)); column += count) {
		get(row, x, at, column, count);
		for (int64_t i = 0; i < count; i++)
			sum += w->wide ? exp(row[i] - base) : (double)expf((float)(row[i] - base));
	}
	for (int64_t column = 0, count; (count = row_count(walk, column)); column += count) {
		get(row, x, at, column, count);
		for (int64_t i = 0; i < count; i++) {
			double e = w->wide ? exp(row[i] - base) : (double)expf((float)(row[i] - base));

			row[i] = sum > 0 || isnan(sum) ? e / sum : 0;
		}
		put(row, &o[SCORES_Y], at, column, count);
	}
	*ret_most = most;
	return sum;
}

bool scores_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	const struct dnn_operand *o = w->operand, *x = &o[SCORES_X];
	struct walk walk;
	bool soft;

	walk_begin(&walk, n, w->dim, w->axes, x);
	soft = !w->wide && !x->is_value && walk.row == LAST && walk.length <= SOFT_ROW;
	for (int64_t g = from; g < to; g++) {
		int64_t at[DNN_DIMS] = { 0 };
		double most, sum, sink, stats;

		walk_element(w->dim, (uint8_t)(ALL_AXES & ~w->axes), g, at);
		sink = number(&o[SCORES_SINK], at, INFINITE);
		sum = soft ? row_soft(w, at, walk.length, sink, &most) : row_wide(&walk, w, at, sink, &most);
		if (walk.ended)
			return false;
		stats = (most == INFINITE ? 0 : most) + log(sum);
		put_one(w->flag ? stats * 1.4426950408889634074 : stats, &o[SCORES_STATS], at);
		put_one(most, &o[SCORES_MAX], at);
		put_one(sum, &o[SCORES_SUM], at);
		if (!n->go_on(n, (uint64_t)walk.length + 1))
			return false;
	}
	return true;
}

/* ---- copies ---- */

/* Copies the row at `from` to that at `to`; `from` NULL: zeros. */
static bool row_copy(struct walk *walk, const struct dnn_operand *x, const void *from, const struct dnn_operand *y,
		     void *to)
{
	double row[ROW] = { 0 };

	for (int64_t column = 0, count; (count = row_count(walk, column)); column += count) {
		if (from)
			dnn_read_d(row, x->type, element_at(x, from, column * x->stride[LAST]), x->stride[LAST], count);
		dnn_write_d(row, y->type, element_at(y, to, column * y->stride[LAST]), y->stride[LAST], count);
	}
	return !walk->ended;
}

/* The image's elements [*ret_from, *ret_to) of a ragged tensor, which the program says. */
static bool image_of(struct soft_native *n, const struct dnn_work *w, int64_t image, int64_t *ret_from, int64_t *ret_to)
{
	const struct dnn_operand *offsets = &w->operand[RAGGED_OFFSETS];
	int64_t end[2], by = (int64_t)w->more[1];

	for (int i = 0; i < 2; i++) {
		const void *at = element_at(offsets, (const void *)(uintptr_t)offsets->at, image + i);

		if (offsets->type == CUDNN_DATA_INT32) {
			int32_t narrow;

			memcpy(&narrow, at, sizeof(narrow));
			end[i] = narrow;
		} else {
			memcpy(&end[i], at, sizeof(end[i]));
		}
		if (end[i] < 0 || __builtin_mul_overflow(end[i], by, &end[i]) || end[i] > DNN_SIZE_MOST)
			return n->refuse(n), false;
	}
	if (end[1] < end[0])
		return n->refuse(n), false;
	*ret_from = end[0];
	*ret_to = end[1];
	return true;
}

/* The dimension of rows: that with the largest steps within an image. */
static int rows_axis(const struct dnn_work *w, const struct dnn_operand *o)
{
	int axis = -1;

	for (int i = (int)w->more[0] + 1; i < DNN_DIMS; i++)
		if (w->dim[i] > 1 && (axis < 0 || o->stride[i] > o->stride[axis]))
			axis = i;
	return axis < 0 ? LAST : axis;
}

bool ragged_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	int which = w->mode ? RAGGED_Y : RAGGED_X, images = (int)w->more[0];
	const struct dnn_operand *x = &w->operand[RAGGED_X], *y = &w->operand[RAGGED_Y], *o = &w->operand[which];
	int axis = rows_axis(w, o);
	uint8_t rows_axes = (uint8_t)(w->axes & ~(1u << LAST));

	for (int64_t g = from; g < to && w->dim[LAST]; g++) {
		int64_t begin, end, held, rows, dim[DNN_DIMS];
		struct dnn_operand image = *o;
		struct walk walk;

		if (!image_of(n, w, g, &begin, &end))
			return false;
		held = w->dim[axis];
		if (o->stride[axis])
			held = (end - begin) / o->stride[axis] + ((end - begin) % o->stride[axis] != 0);
		held = held < w->dim[axis] ? held : w->dim[axis];
		memcpy(dim, w->dim, sizeof(dim));
		dim[images] = 1;
		dim[axis] = held;
		rows = w->mode && !held ? 0 : walk_count(w->mode ? dim : w->dim, rows_axes);
		/* beyond the last address lies 0, which is no operand's */
		if (__builtin_add_overflow(o->at, (uint64_t)begin * dnn_type_bytes(o->type), &image.at))
			return n->refuse(n), false;
		image.stride[images] = 0;
		if (held && !operand_reach(n, &image, dim, w->mode))
			return false;
		walk_begin(&walk, n, dim, 1u << LAST, o);
		for (int64_t k = 0; k < rows; k++) {
			int64_t at[DNN_DIMS] = { 0 }, whole = w->dim[LAST];
			bool there;

			walk_element(w->mode ? dim : w->dim, rows_axes, k, at);
			there = axis == LAST || at[axis] < held;
			at[images] = g;
			walk.length = axis == LAST ? held : whole;
			if (w->mode) {
				if (!row_copy(&walk, x, operand_at(x, at), y, operand_at(&image, at)))
					return false;
				continue;
			}
			if (axis == LAST && held < whole) {
				walk.length = whole;
				if (!row_copy(&walk, x, NULL, y, operand_at(y, at)))
					return false;
				walk.length = held;
			}
			if (!there || held)
				if (!row_copy(&walk, x, there ? operand_at(&image, at) : NULL, y, operand_at(y, at)))
					return false;
		}
		if (!n->go_on(n, (uint64_t)rows + 1))
			return false;
	}
	return true;
}

bool paged_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	const struct dnn_operand *pages = &w->operand[PAGED_X], *y = &w->operand[PAGED_Y],
				 *table = &w->operand[PAGED_TABLE], *length = &w->operand[PAGED_LENGTH];
	int64_t page_rows = (int64_t)w->more[1];
	struct walk walk;

	walk_begin(&walk, n, w->dim, w->axes, y);
	for (int64_t g = from; g < to; g++) {
		int64_t at[DNN_DIMS] = { 0 }, place[DNN_DIMS] = { 0 };
		int32_t page, held = INT32_MAX;
		bool there;

		walk_element(w->dim, (uint8_t)(ALL_AXES & ~w->axes), g, at);
		place[1] = at[1];
		if (length->at)
			memcpy(&held, operand_at(length, place), sizeof(held));
		there = at[ROWS_AXIS] < held;
		place[ROWS_AXIS] = at[ROWS_AXIS] / page_rows;
		if (there) {
			memcpy(&page, operand_at(table, place), sizeof(page));
			if (page < 0 || (uint64_t)page >= w->more[0])
				return n->refuse(n), false;
			place[1] = page;
			place[2] = at[2];
			place[ROWS_AXIS] = at[ROWS_AXIS] % page_rows;
		}
		if (!row_copy(&walk, pages, there ? operand_at(pages, place) : NULL, y, operand_at(y, at)) ||
		    !n->go_on(n, (uint64_t)walk.length / 8 + 1))
			return false;
	}
	return true;
}

/* ---- checks ---- */

static bool is_number(const struct dnn_operand *o)
{
	return !o->at || o->is_value || dnn_type_bytes(o->type);
}

bool scores_sound(const struct dnn_work *w)
{
	const struct dnn_operand *o = w->operand;

	switch ((enum dnn_kernel)w->kernel) {
	case DNN_BAND:
		for (int i = BAND_VALUE; i <= BAND_SHIFT; i++)
			if (!is_number(&o[i]))
				return false;
		return o[BAND_X].at && o[BAND_Y].at && !o[BAND_X].is_value && w->axes == 1u << LAST &&
		       (w->mode == CUDNN_POINTWISE_LOGICAL_AND ||
			(w->mode >= CUDNN_POINTWISE_CMP_EQ && w->mode <= CUDNN_POINTWISE_CMP_LE));
	case DNN_SCORES:
		return o[SCORES_X].at && o[SCORES_Y].at && !o[SCORES_X].is_value && w->axes == 1u << LAST;
	case DNN_RAGGED:
		return o[RAGGED_X].at && o[RAGGED_Y].at && o[RAGGED_OFFSETS].at && !o[RAGGED_X].is_value &&
		       !o[RAGGED_Y].is_value && !o[RAGGED_OFFSETS].is_value && w->more[0] < DNN_DIMS - 1 &&
		       w->axes == ALL_AXES - (1u << w->more[0]) && w->more[1] - 1 < DNN_SIZE_MOST &&
		       (o[RAGGED_OFFSETS].type == CUDNN_DATA_INT32 || o[RAGGED_OFFSETS].type == CUDNN_DATA_INT64) &&
		       dnn_type_bytes(o[w->mode ? RAGGED_Y : RAGGED_X].type);
	case DNN_PAGED:
		return o[PAGED_X].at && o[PAGED_Y].at && o[PAGED_TABLE].at && !o[PAGED_X].is_value &&
		       !o[PAGED_TABLE].is_value && !o[PAGED_LENGTH].is_value && w->dim[0] == 1 &&
		       o[PAGED_TABLE].type == CUDNN_DATA_INT32 &&
		       (!o[PAGED_LENGTH].at || o[PAGED_LENGTH].type == CUDNN_DATA_INT32) &&
		       w->more[0] <= DNN_SIZE_MOST && w->more[1] - 1 < DNN_SIZE_MOST && w->axes == 1u << LAST;
	default:
		return true;
	}
}

/* Of the copies: what dimensions of their own have. */
static bool copy_reach(struct soft_native *n, const struct dnn_work *w)
{
	const struct dnn_operand *o = w->operand;
	int64_t dim[DNN_DIMS] = { 1, 1, 1, 1, 1 };

	if (w->kernel == DNN_RAGGED) {
		int other = w->mode ? RAGGED_X : RAGGED_Y, images = (int)w->more[0];

		for (int i = 0; i < DNN_DIMS; i++)
			if (o[w->mode ? RAGGED_Y : RAGGED_X].stride[i] < 0)
				return n->refuse(n), false;
		for (int i = 0; i < images; i++)
			if (w->dim[i] != 1)
				return n->refuse(n), false;
		return operand_reach(n, &o[other], w->dim, !w->mode) &&
		       library_reach(n, o[RAGGED_OFFSETS].at, w->dim[images] + 1,
				     dnn_type_bytes(o[RAGGED_OFFSETS].type), false);
	}
	if (!operand_reach(n, &o[PAGED_Y], w->dim, true))
		return false;
	dim[1] = w->dim[1];
	if (!operand_reach(n, &o[PAGED_LENGTH], dim, false))
		return false;
	dim[ROWS_AXIS] = w->dim[ROWS_AXIS] / (int64_t)w->more[1] + (w->dim[ROWS_AXIS] % (int64_t)w->more[1] != 0);
	if (!operand_reach(n, &o[PAGED_TABLE], dim, false))
		return false;
	memcpy(dim, w->dim, sizeof(dim));
	dim[1] = (int64_t)w->more[0];
	dim[ROWS_AXIS] = (int64_t)w->more[1];
	return operand_reach(n, &o[PAGED_X], dim, false);
}

bool scores_reach(struct soft_native *n, const struct dnn_work *w)
{
	static const uint8_t written[] = { 1 << BAND_Y,
					   1 << SCORES_Y | 1 << SCORES_STATS | 1 << SCORES_MAX | 1 << SCORES_SUM };
	bool band = w->kernel == DNN_BAND;

	if (w->kernel == DNN_RAGGED || w->kernel == DNN_PAGED)
		return copy_reach(n, w);
	for (int i = 0; i <= (band ? (int)BAND_SHIFT : (int)SCORES_SINK); i++)
		if (!operand_reach(n, &w->operand[i], w->dim, written[!band] & 1 << i))
			return false;
	return true;
}
