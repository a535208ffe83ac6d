/*
 * ctc_run.c: the CTC loss on the device's threads: sums over paths forward and backward, of logarithms, in double.
 *
 * Source: Graves and others, "Connectionist temporal classification", ICML 2006, section 4. The gradient is that to
 * the numbers that are given: to the activations before their softmax, or to the probabilities. One of 0 has none.
 *
 * Lengths and labels are read from the device's memory once, and checked: another stream may change them meanwhile.
 */
#include "libs/cudnn/ctc.h"

#include "libs/common/scratch.h"
#include "libs/cudnn/conv.h"

#include <math.h>
#include <string.h>

#define STEPS 2
#define IMAGES 3
#define LABELS 4
#define NEVER (-HUGE_VAL)
#define LABEL_MOST 256
#define STATES_MOST (2 * LABEL_MOST + 1)

/* One image. States are its labels with a blank before, between and behind. */
struct image {
	struct soft_native *n;
	const struct dnn_work *w;
	int64_t image, steps;
	int states;
	int32_t state[STATES_MOST]; /* the label of each */
	double *paths;		    /* by steps: sums of all paths that are in a state */
	double *row, *slope;	    /* logarithms of a step's probabilities; room for a step's gradients */
	int64_t step;		    /* of `row`; -1: of none */
};

static double sum_of(double a, double b)
{
	double most = a > b ? a : b, least = a > b ? b : a;

	return most == NEVER ? NEVER : most + log1p(exp(least - most));
}

/* The logarithms of probabilities at a step. */
static const double *row_get(struct image *i, int64_t step)
{
	const struct dnn_operand *o = &i->w->operand[CTC_PROBS];
	int64_t at[DNN_DIMS] = { 0 }, labels = i->w->dim[LABELS];
	double most = NEVER, sum = 0;

	if (i->step == step)
		return i->row;
	i->step = step;
	at[STEPS] = step;
	at[IMAGES] = i->image;
	dnn_read_d(i->row, o->type, operand_at(o, at), o->stride[LABELS], labels);
	for (int64_t k = 0; k < labels; k++)
		most = i->row[k] > most ? i->row[k] : most;
	for (int64_t k = 0; i->w->mode && k < labels; k++)
		sum += exp(i->row[k] - most);
	for (int64_t k = 0; k < labels; k++)
		i->row[k] = i->w->mode ? i->row[k] - most - log(sum) : log(i->row[k]);
	return i->row;
}

static bool skips(const struct image *i, int s)
{
	return s >= 2 && i->state[s] && i->state[s] != i->state[s - 2];
}

/* Value: the logarithm of the probability of all paths; NaN: the launch has ended. */
static double forward(struct image *i)
{
	double *now = i->paths, *before = NULL;

	for (int64_t t = 0; t < i->steps; t++, before = now, now += i->states) {
		const double *row = row_get(i, t);

		for (int s = 0; s < i->states; s++) {
			double sum = before ? before[s] : s < 2 ? 0 : NEVER;

			if (before && s)
				sum = sum_of(sum, before[s - 1]);
			if (before && skips(i, s))
				sum = sum_of(sum, before[s - 2]);
			now[s] = sum + row[i->state[s]];
		}
		if (!i->n->go_on(i->n, (uint64_t)(i->states * 8 + i->w->dim[LABELS]) + 1))
			return NAN;
	}
	if (!before)
		return i->states == 1 ? 0 : NEVER;
	return i->states == 1 ? before[0] : sum_of(before[i->states - 1], before[i->states - 2]);
}

static void slope_put(struct image *i, int64_t step, const double *slope)
{
	const struct dnn_operand *o = &i->w->operand[CTC_GRADIENTS];
	int64_t at[DNN_DIMS] = { 0 };

	at[STEPS] = step;
	at[IMAGES] = i->image;
	dnn_write_d(slope, o->type, operand_at(o, at), o->stride[LABELS], i->w->dim[LABELS]);
}

static void slope_fill(struct image *i, int64_t step, double value)
{
	for (int64_t k = 0; k < i->w->dim[LABELS]; k++)
		i->slope[k] = value;
	slope_put(i, step, i->slope);
}

/* What a state's part of all paths, a logarithm, takes from the gradient to its number, which has this logarithm. */
static double share_of(const struct image *i, double part, double number)
{
	if (i->w->mode)
		return exp(part);
	return number == NEVER ? 0 : exp(part - number);
}

/* `after`: sums of paths from a state on, without the state's own step. */
static bool backward(struct image *i, double all)
{
	double room[2][STATES_MOST], *after = room[0], *next = room[1], *swap;
	const double *now = i->paths + (i->steps - 1) * i->states, *later = NULL;

	for (int64_t t = i->steps - 1; t >= 0; t--, now -= i->states) {
		const double *row;

		if (later) {
			row = row_get(i, t + 1);
			for (int s = 0; s < i->states; s++) {
				next[s] = after[s] + row[i->state[s]];
				if (s + 1 < i->states)
					next[s] = sum_of(next[s], after[s + 1] + row[i->state[s + 1]]);
				if (s + 2 < i->states && skips(i, s + 2))
					next[s] = sum_of(next[s], after[s + 2] + row[i->state[s + 2]]);
			}
			swap = after;
			after = next;
			next = swap;
		} else {
			for (int s = 0; s < i->states; s++)
				after[s] = s >= i->states - 2 ? 0 : NEVER;
		}
		later = now;
		row = row_get(i, t);
		for (int64_t k = 0; k < i->w->dim[LABELS]; k++)
			i->slope[k] = i->w->mode ? exp(row[k]) : 0;
		for (int s = 0; s < i->states; s++)
			i->slope[i->state[s]] -= share_of(i, now[s] + after[s] - all, row[i->state[s]]);
		slope_put(i, t, i->slope);
		if (!i->n->go_on(i->n, (uint64_t)(i->states * 8 + i->w->dim[LABELS]) + 1))
			return false;
	}
	return true;
}

static int32_t word_at(const struct dnn_operand *o, int64_t index)
{
	int32_t word;

	memcpy(&word, (const char *)(uintptr_t)o->at + 4 * index, sizeof(word));
	return word;
}

/* The labels of an image, and where those of the next begin. */
static bool labels_get(struct image *i, int64_t *from)
{
	const struct dnn_operand *o = i->w->operand;
	int32_t count = word_at(&o[CTC_LABEL_LENGTHS], i->image), steps = word_at(&o[CTC_INPUT_LENGTHS], i->image);

	if (count < 0 || (uint64_t)count > i->w->more[0] || steps < 0 || steps > i->w->dim[STEPS])
		return i->n->refuse(i->n), false;
	if (!library_reach(i->n, o[CTC_LABELS].at + 4 * (uint64_t)*from, count, 4, false))
		return false;
	i->steps = steps;
	i->states = 2 * count + 1;
	memset(i->state, 0, sizeof(i->state));
	for (int k = 0; k < count; k++) {
		i->state[2 * k + 1] = word_at(&o[CTC_LABELS], *from + k);
		if (i->state[2 * k + 1] < 0 || i->state[2 * k + 1] >= i->w->dim[LABELS])
			return i->n->refuse(i->n), false;
	}
	*from += count;
	return true;
}

static bool image_run(struct image *i)
{
	const struct dnn_operand *o = i->w->operand;
	double all = forward(i);
	float cost = (float)-all;

	if (isnan(all) && !i->n->go_on(i->n, 1))
		return false;
	memcpy((char *)(uintptr_t)o[CTC_COSTS].at + 4 * i->image, &cost, sizeof(cost));
	/* a sample of which no path has the labels may be left as it is */
	if (!o[CTC_GRADIENTS].at || (all == NEVER && i->w->flag))
		return true;
	for (int64_t t = all == NEVER ? 0 : i->steps; t < i->w->dim[STEPS]; t++) {
		slope_fill(i, t, t < i->steps && i->w->scalar[0] != 0 ? NAN : 0);
		if (!i->n->go_on(i->n, (uint64_t)i->w->dim[LABELS] / 8 + 1))
			return false;
	}
	return all == NEVER || !i->steps || backward(i, all);
}

static bool is_sound(const struct dnn_work *w)
{
	const struct dnn_operand *o = w->operand;

	for (int i = 0; i < CTC_OPERANDS; i++)
		if (o[i].is_value || (i != CTC_GRADIENTS && i != CTC_LABELS && !o[i].at))
			return false;
	return w->mode <= 1 && w->dim[0] == 1 && w->dim[1] == 1 && w->axes == (1 << STEPS | 1 << LABELS) &&
	       w->more[0] <= LABEL_MOST && o[CTC_PROBS].type == CUDNN_DATA_FLOAT && w->dim[LABELS] > 0 &&
	       w->dim[LABELS] <= DNN_CTC_NUMBERS_MOST && w->dim[STEPS] > 0 &&
	       (!o[CTC_GRADIENTS].at || o[CTC_GRADIENTS].type == CUDNN_DATA_FLOAT);
}

bool ctc_run(struct soft_native *n, const struct dnn_work *w)
{
	const struct dnn_operand *o = w->operand;
	int64_t images = w->dim[IMAGES], labels = w->dim[LABELS], from, to, first = 0,
		each = w->dim[STEPS] * (int64_t)(2 * w->more[0] + 1);
	struct image i = { .n = n, .w = w };

	if (!is_sound(w))
		return n->refuse(n), false;
	if (!operand_reach(n, &o[CTC_PROBS], w->dim, false) || !operand_reach(n, &o[CTC_GRADIENTS], w->dim, true) ||
	    !library_reach(n, o[CTC_COSTS].at, images, 4, true) ||
	    !library_reach(n, o[CTC_LABEL_LENGTHS].at, images, 4, false) ||
	    !library_reach(n, o[CTC_INPUT_LENGTHS].at, images, 4, false))
		return false;
	/* A step is copied: it must not be larger than what it is a copy of. */
	if (labels > 1 + (labels - 1) * o[CTC_PROBS].stride[LABELS] || each > DNN_SIZE_MOST / (images ? images : 1))
		return n->refuse(n), false;
	if (!library_reach(n, o[CTC_PATHS].at, each * images, 8, true))
		return false;
	library_part(n, images, &from, &to);
	i.row = scratch_get(2 * (size_t)labels * sizeof(double));
	if (!i.row)
		return n->refuse(n), false;
	i.slope = i.row + labels;
	for (int64_t k = 0; k < to; k++) {
		i.image = k;
		i.step = -1;
		i.paths = (double *)(uintptr_t)o[CTC_PATHS].at + k * each;
		if (!labels_get(&i, &first))
			return false;
		if (k >= from && !image_run(&i))
			return false;
		if (k % 1024 == 1023 && !n->go_on(n, 1024))
			return false;
	}
	return true;
}
