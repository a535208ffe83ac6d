/*
 * sampler_run.c: the spatial transformer on the device's threads. A block samples some planes (an image's channel),
 * adds up their gradients, or computes some rows of a grid or of its gradient. All is computed as double.
 *
 * Places are read from the device's memory; one that is far away, or is NaN, samples zeros.
 */
#include "libs/cudnn/sampler.h"

#include "libs/common/scratch.h"
#include "libs/cudnn/conv.h"

#include <math.h>
#include <string.h>

enum { IMAGES, CHANNELS, NONE, ROWS, COLUMNS };

/* What lies around a place of x: the element before it in both directions, and how far it is from there. */
struct place {
	bool inside; /* at least one of the four elements is one of x */
	int64_t row, column;
	double down, across;
};

static int64_t high(const struct dnn_work *w)
{
	return (int64_t)w->more[0];
}

static int64_t wide(const struct dnn_work *w)
{
	return (int64_t)w->more[1];
}

static void *packed_at(const struct dnn_operand *o, int64_t element)
{
	return (void *)(uintptr_t)(o->at + (uint64_t)element * dnn_type_bytes(o->type));
}

/* The two numbers of a row of a grid's pairs. */
static int64_t pair_of(const struct dnn_work *w, int64_t image, int64_t row, int64_t column)
{
	return 2 * ((image * w->dim[ROWS] + row) * w->dim[COLUMNS] + column);
}

static struct place place_of(const struct dnn_work *w, const double pair[2])
{
	double column = (pair[0] + 1) / 2 * (double)(wide(w) - 1), row = (pair[1] + 1) / 2 * (double)(high(w) - 1);
	struct place p = { .inside = column > -1 && column < (double)wide(w) && row > -1 && row < (double)high(w) };

	if (!p.inside)
		return p;
	p.column = (int64_t)floor(column);
	p.row = (int64_t)floor(row);
	p.across = column - floor(column);
	p.down = row - floor(row);
	return p;
}

static bool is_within(const struct dnn_work *w, int64_t row, int64_t column)
{
	return row >= 0 && row < high(w) && column >= 0 && column < wide(w);
}

/* The weight of one of the four elements: k is 0 to 3, its bits are one down and one across. */
static double weight(const struct place *p, int k)
{
	return (k & 2 ? p->down : 1 - p->down) * (k & 1 ? p->across : 1 - p->across);
}

static void put_blended(const struct dnn_work *w, unsigned int type, void *at, double value)
{
	double old = 0;

	if (w->scalar[BLEND_BETA] != 0)
		dnn_read_d(&old, type, at, 1, 1);
	value = w->scalar[BLEND_ALPHA] * value + w->scalar[BLEND_BETA] * old;
	dnn_write_d(&value, type, at, 1, 1);
}

static void *element(const struct dnn_operand *o, int64_t image, int64_t channel, int64_t row, int64_t column)
{
	const int64_t at[DNN_DIMS] = { image, channel, 0, row, column };

	return operand_at(o, at);
}

/* ---- planes ---- */

static bool plane_sample(struct soft_native *n, const struct dnn_work *w, int64_t image, int64_t channel, double *plane)
{
	const struct dnn_operand *x = &w->operand[SAMPLE_X], *y = &w->operand[SAMPLE_Y],
				 *grid = &w->operand[SAMPLE_GRID];
	double pair[2];

	for (int64_t row = 0; row < high(w); row++)
		dnn_read_d(plane + row * wide(w), x->type, element(x, image, channel, row, 0), x->stride[COLUMNS],
			   wide(w));
	for (int64_t row = 0; row < w->dim[ROWS]; row++) {
		for (int64_t column = 0; column < w->dim[COLUMNS]; column++) {
			struct place p;
			double sum = 0;

			dnn_read_d(pair, grid->type, packed_at(grid, pair_of(w, image, row, column)), 1, 2);
			p = place_of(w, pair);
			for (int k = 0; p.inside && k < 4; k++)
				if (is_within(w, p.row + k / 2, p.column + k % 2))
					sum += weight(&p, k) * plane[(p.row + k / 2) * wide(w) + p.column + k % 2];
			put_blended(w, y->type, element(y, image, channel, row, column), sum);
			if (column % UNTOLD_MOST == UNTOLD_MOST - 1 && !n->go_on(n, 0))
				return false;
		}
		if (!n->go_on(n, (uint64_t)w->dim[COLUMNS] + 1))
			return false;
	}
	return true;
}

static bool plane_gradient(struct soft_native *n, const struct dnn_work *w, int64_t image, int64_t channel,
			   double *plane)
{
	const struct dnn_operand *dx = &w->operand[SAMPLE_X], *dy = &w->operand[SAMPLE_Y],
				 *grid = &w->operand[SAMPLE_GRID];
	double pair[2], slope;

	memset(plane, 0, (size_t)(high(w) * wide(w)) * sizeof(*plane));
	for (int64_t row = 0; row < w->dim[ROWS]; row++) {
		for (int64_t column = 0; column < w->dim[COLUMNS]; column++) {
			struct place p;

			dnn_read_d(pair, grid->type, packed_at(grid, pair_of(w, image, row, column)), 1, 2);
			dnn_read_d(&slope, dy->type, element(dy, image, channel, row, column), 1, 1);
			p = place_of(w, pair);
			for (int k = 0; p.inside && k < 4; k++)
				if (is_within(w, p.row + k / 2, p.column + k % 2))
					plane[(p.row + k / 2) * wide(w) + p.column + k % 2] += weight(&p, k) * slope;
			if (column % UNTOLD_MOST == UNTOLD_MOST - 1 && !n->go_on(n, 0))
				return false;
		}
		if (!n->go_on(n, (uint64_t)w->dim[COLUMNS] + 1))
			return false;
	}
	for (int64_t row = 0; row < high(w); row++)
		for (int64_t column = 0; column < wide(w); column++)
			put_blended(w, dx->type, element(dx, image, channel, row, column),
				    plane[row * wide(w) + column]);
	return true;
}

static bool planes_run(struct soft_native *n, const struct dnn_work *w)
{
	double *plane = scratch_get((size_t)(high(w) * wide(w)) * sizeof(*plane));
	int64_t from, to;

	if (!plane)
		return n->refuse(n), false;
	library_part(n, w->dim[IMAGES] * w->dim[CHANNELS], &from, &to);
	for (int64_t k = from; k < to; k++) {
		int64_t image = k / w->dim[CHANNELS], channel = k % w->dim[CHANNELS];

		if (w->kernel == DNN_SAMPLE ? !plane_sample(n, w, image, channel, plane)
					    : !plane_gradient(n, w, image, channel, plane))
			return false;
	}
	return true;
}

/* ---- rows ---- */

/*
 * How the samples of a place change as it moves, summed over the channels with their gradients. False: the launch has
 * ended.
 */
static bool place_gradient(struct progress *progress, const struct dnn_work *w, int64_t image, int64_t row,
			   int64_t column, double ret[2])
{
	const struct dnn_operand *x = &w->operand[SAMPLE_X], *dy = &w->operand[SAMPLE_Y],
				 *grid = &w->operand[SAMPLE_GRID];
	double pair[2], slope, value;
	struct place p;

	dnn_read_d(pair, grid->type, packed_at(grid, pair_of(w, image, row, column)), 1, 2);
	p = place_of(w, pair);
	ret[0] = ret[1] = 0;
	for (int64_t channel = 0; p.inside && channel < w->dim[CHANNELS]; channel++) {
		dnn_read_d(&slope, dy->type, element(dy, image, channel, row, column), 1, 1);
		for (int k = 0; k < 4; k++) {
			if (!is_within(w, p.row + k / 2, p.column + k % 2))
				continue;
			dnn_read_d(&value, x->type, element(x, image, channel, p.row + k / 2, p.column + k % 2), 1, 1);
			ret[0] += slope * value * (k & 1 ? 1 : -1) * (k & 2 ? p.down : 1 - p.down);
			ret[1] += slope * value * (k & 2 ? 1 : -1) * (k & 1 ? p.across : 1 - p.across);
		}
		if (!progress_made(progress, 4))
			return false;
	}
	ret[0] *= (double)(wide(w) - 1) / 2;
	ret[1] *= (double)(high(w) - 1) / 2;
	return progress_made(progress, 1);
}

/* Where an element lies between -1 and 1. */
static double middle(int64_t k, int64_t count)
{
	return count > 1 ? -1 + 2 * (double)k / (double)(count - 1) : 0;
}

static bool row_of_grid(struct progress *progress, const struct dnn_work *w, int64_t image, int64_t row)
{
	const struct dnn_operand *theta = &w->operand[SAMPLE_THETA], *grid = &w->operand[SAMPLE_GRID];
	double map[6], pair[2];

	dnn_read_d(map, theta->type, packed_at(theta, 6 * image), 1, 6);
	for (int64_t column = 0; column < w->dim[COLUMNS]; column++) {
		double x = middle(column, w->dim[COLUMNS]), y = middle(row, w->dim[ROWS]);

		for (int i = 0; i < 2; i++)
			pair[i] = map[3 * i] * x + map[3 * i + 1] * y + map[3 * i + 2];
		dnn_write_d(pair, grid->type, packed_at(grid, pair_of(w, image, row, column)), 1, 2);
		if (!progress_made(progress, 1))
			return false;
	}
	return true;
}

static bool row_of_gradient(struct progress *progress, const struct dnn_work *w, int64_t image, int64_t row)
{
	const struct dnn_operand *dgrid = &w->operand[SAMPLE_DGRID];
	double pair[2];

	for (int64_t column = 0; column < w->dim[COLUMNS]; column++) {
		if (!place_gradient(progress, w, image, row, column, pair))
			return false;
		for (int i = 0; i < 2; i++)
			put_blended(w, dgrid->type, packed_at(dgrid, pair_of(w, image, row, column) + i), pair[i]);
	}
	return true;
}

static bool rows_run(struct soft_native *n, const struct dnn_work *w)
{
	bool (*row)(struct progress *, const struct dnn_work *, int64_t, int64_t) =
		w->kernel == DNN_GRID ? row_of_grid : row_of_gradient;
	struct progress progress = { .n = n };
	int64_t from, to;

	library_part(n, w->dim[IMAGES] * w->dim[ROWS], &from, &to);
	for (int64_t k = from; k < to; k++) {
		if (!row(&progress, w, k / w->dim[ROWS], k % w->dim[ROWS]))
			return false;
		if (!n->go_on(n, (uint64_t)(w->dim[COLUMNS] * w->dim[CHANNELS]) + 1))
			return false;
	}
	return true;
}

/* The gradient of affine maps: dgrid is where a grid else is. */
static bool maps_run(struct soft_native *n, const struct dnn_work *w)
{
	const struct dnn_operand *theta = &w->operand[SAMPLE_THETA], *grid = &w->operand[SAMPLE_GRID];
	int64_t from, to;

	library_part(n, w->dim[IMAGES], &from, &to);
	for (int64_t image = from; image < to; image++) {
		double map[6] = { 0 }, pair[2];

		for (int64_t row = 0; row < w->dim[ROWS]; row++) {
			for (int64_t column = 0; column < w->dim[COLUMNS]; column++) {
				double x = middle(column, w->dim[COLUMNS]), y = middle(row, w->dim[ROWS]);

				dnn_read_d(pair, grid->type, packed_at(grid, pair_of(w, image, row, column)), 1, 2);
				for (int i = 0; i < 2; i++) {
					map[3 * i] += pair[i] * x;
					map[3 * i + 1] += pair[i] * y;
					map[3 * i + 2] += pair[i];
				}
				if (column % UNTOLD_MOST == UNTOLD_MOST - 1 && !n->go_on(n, 0))
					return false;
			}
			if (!n->go_on(n, (uint64_t)w->dim[COLUMNS] + 1))
				return false;
		}
		dnn_write_d(map, theta->type, packed_at(theta, 6 * image), 1, 6);
	}
	return true;
}

/* ---- checks ---- */

static bool is_number(const struct dnn_operand *o)
{
	return o->at && !o->is_value &&
	       (o->type == CUDNN_DATA_FLOAT || o->type == CUDNN_DATA_DOUBLE || o->type == CUDNN_DATA_HALF ||
		o->type == CUDNN_DATA_BFLOAT16);
}

/*
 * A plane is copied: it must not be larger than what it is a copy of. Planes without rows would be walked through all
 * the same: there may be as many as numbers go.
 */
static bool is_sound(const struct dnn_work *w)
{
	const struct dnn_operand *o = w->operand;
	int64_t extent = 1;

	if (!is_number(&o[SAMPLE_GRID]) || w->dim[NONE] != 1 || w->mode > 1)
		return false;
	for (int i = 0; i < DNN_DIMS; i++)
		if (w->dim[i] < 1)
			return false;
	if (w->kernel == DNN_GRID)
		return is_number(&o[SAMPLE_THETA]) && w->dim[CHANNELS] == 1;
	if (!is_number(&o[SAMPLE_X]) || !is_number(&o[SAMPLE_Y]) || w->more[0] - 1 >= DNN_SIZE_MOST ||
	    w->more[1] - 1 >= DNN_SIZE_MOST || (w->kernel == DNN_SAMPLE_GRID && !is_number(&o[SAMPLE_DGRID])))
		return false;
	if (o[SAMPLE_X].stride[ROWS] < 0 || o[SAMPLE_X].stride[COLUMNS] < 0 ||
	    o[SAMPLE_X].stride[ROWS] > DNN_SIZE_MOST / high(w) || o[SAMPLE_X].stride[COLUMNS] > DNN_SIZE_MOST / wide(w))
		return false;
	extent += (high(w) - 1) * o[SAMPLE_X].stride[ROWS] + (wide(w) - 1) * o[SAMPLE_X].stride[COLUMNS];
	return high(w) <= extent / wide(w);
}

static bool reach_all(struct soft_native *n, const struct dnn_work *w)
{
	const struct dnn_operand *o = w->operand;
	int64_t pairs, dim[DNN_DIMS] = { w->dim[IMAGES], w->dim[CHANNELS], 1, high(w), wide(w) };
	bool to_grid = w->kernel == DNN_GRID && !w->mode;

	if (__builtin_mul_overflow(w->dim[IMAGES], w->dim[ROWS], &pairs) ||
	    __builtin_mul_overflow(pairs, w->dim[COLUMNS], &pairs) || pairs > DNN_SIZE_MOST)
		return n->refuse(n), false;
	if (!library_reach(n, o[SAMPLE_GRID].at, 2 * pairs, dnn_type_bytes(o[SAMPLE_GRID].type), to_grid))
		return false;
	if (w->kernel == DNN_GRID)
		return library_reach(n, o[SAMPLE_THETA].at, 6 * w->dim[IMAGES], dnn_type_bytes(o[SAMPLE_THETA].type),
				     w->mode);
	if (!dims_good(dim))
		return n->refuse(n), false;
	return operand_reach(n, &o[SAMPLE_X], dim, w->kernel == DNN_SAMPLE_DATA) &&
	       operand_reach(n, &o[SAMPLE_Y], w->dim, w->kernel == DNN_SAMPLE) &&
	       (w->kernel != DNN_SAMPLE_GRID ||
		library_reach(n, o[SAMPLE_DGRID].at, 2 * pairs, dnn_type_bytes(o[SAMPLE_DGRID].type), true));
}

bool sampler_run(struct soft_native *n, const struct dnn_work *w)
{
	if (!is_sound(w))
		return n->refuse(n), false;
	if (!reach_all(n, w))
		return false;
	if (w->kernel == DNN_GRID && w->mode)
		return maps_run(n, w);
	return w->kernel == DNN_SAMPLE || w->kernel == DNN_SAMPLE_DATA ? planes_run(n, w) : rows_run(n, w);
}
