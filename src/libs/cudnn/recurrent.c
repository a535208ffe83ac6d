/*
 * recurrent.c: kernels of recurrent networks on the device's threads. A block has some images and computes all their
 * steps; what the inputs add to the gates has been computed before, for all steps at once, by a product.
 *
 * Lengths are read from the device's memory once, and checked: another stream may change them meanwhile.
 */
#include "libs/cudnn/recurrent.h"
#include "libs/cudnn/cell.h"
#include "libs/common/exponential.h"

#include "libs/common/scratch.h"
#include "libs/cudnn/conv.h"

#include <math.h>
#include <string.h>

#define IMAGES 0
#define STEPS 1
#define HIDDEN 2
#define GATES 3

/* What a block knows. */
struct block {
	struct soft_native *n;
	const struct dnn_work *w;
	const struct dnn_rnn_work *r;
	int64_t images, steps, hidden, gates; /* of all blocks */
	int64_t from, count;		      /* its own images */
	int32_t *length;		      /* of all images */
	int64_t *start;			      /* packed: the row of a step's first image */
	int64_t longest;		      /* of its own */
	size_t each;			      /* bytes of a number */
	uint64_t number;		      /* of the recurrent weights, for products */
	char *room;
};

/* The place of an image's step, which the image has. */
static int64_t row_of(const struct block *b, int64_t image, int64_t step)
{
	switch (b->r->layout) {
	case CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED:
		return b->start[step] + image;
	case CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED:
		return image * b->steps + step;
	default:
		return step * b->images + image;
	}
}

/* The s-th step in the direction of the layer. */
static int64_t step_of(const struct block *b, int64_t image, int64_t s)
{
	return b->r->reverse ? b->length[image] - 1 - s : s;
}

/* Lengths as the program says them, and rows of packed steps. */
static bool lengths_get(struct block *b)
{
	bool packed = b->r->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
	int64_t rows = 0;

	for (int64_t i = 0; i < b->images; i++) {
		b->length[i] = (int32_t)b->steps;
		if (b->r->lengths)
			memcpy(&b->length[i], (const char *)(uintptr_t)b->r->lengths + 4 * i, 4);
		if (b->length[i] < 0 || b->length[i] > b->steps || (packed && i && b->length[i] > b->length[i - 1]))
			return false;
		rows += b->length[i];
		if (i >= b->from && i < b->from + b->count && b->length[i] > b->longest)
			b->longest = b->length[i];
	}
	if (packed ? rows > b->r->rows : b->images * b->steps > b->r->rows)
		return false;
	for (int64_t s = 0, held = b->images, at = 0; packed && s < b->steps; s++) {
		while (held && b->length[held - 1] <= s)
			held--;
		b->start[s] = at;
		at += held;
	}
	return true;
}

/* Weights that are numbers of computing are used where they are: every block would have a copy. */
static bool has_plain_weights(const struct block *b)
{
	return b->r->type == (b->w->wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
}

/* A step of so many images has been computed. False: the launch has ended. */
static bool step_told(const struct block *b, int64_t images)
{
	uint64_t numbers = (uint64_t)(images * b->gates * b->hidden);

	return b->n->go_on(b->n, numbers * (uint64_t)(b->hidden + 8) / 32 + 1);
}

#define T float
#define NAMED(name) name##_f
#define TANH tanh_float
#include "libs/cudnn/recurrent_typed.h"
#undef TANH
#define T double
#define NAMED(name) name##_d
#define TANH tanh
#include "libs/cudnn/recurrent_typed.h"

/* ---- checks ---- */

static bool is_data(unsigned int type)
{
	return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF ||
	       type == CUDNN_DATA_BFLOAT16;
}

/* `count` rows of `wide` elements, `stride` apart, where there are any. */
static bool reach_rows(const struct block *b, uint64_t at, int64_t count, int64_t stride, int64_t wide, uint64_t each,
		       bool write)
{
	int64_t last;

	if (!at || !count || !wide)
		return true;
	if (stride < wide || __builtin_mul_overflow(count - 1, stride, &last) ||
	    __builtin_add_overflow(last, wide, &last) || last > DNN_SIZE_MOST)
		return b->n->refuse(b->n), false;
	return library_reach(b->n, at, last, each, write);
}

static bool is_sound(const struct dnn_work *w)
{
	const struct dnn_rnn_work *r = &w->rnn;
	static const uint8_t gates[] = {
		[CUDNN_RNN_RELU] = 1, [CUDNN_RNN_TANH] = 1, [CUDNN_LSTM] = 4, [CUDNN_GRU] = 3
	};

	if (w->mode > CUDNN_GRU || w->dim[GATES] != gates[w->mode] || w->dim[4] != 1 || w->dim[STEPS] > INT32_MAX ||
	    r->rows < 0 || r->rows > DNN_SIZE_MOST || !is_data(r->type) || !is_data(r->y_type) || r->reverse > 1 ||
	    r->layout > CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED)
		return false;
	for (int i = 0; i < DNN_DIMS; i++)
		if (w->dim[i] < 1)
			return false;
	/* a packed step has an image at least, and an image has a step: what a block keeps is no more than rows are */
	if (w->dim[STEPS] > r->rows || w->dim[IMAGES] > r->rows)
		return false;
	switch ((enum dnn_kernel)w->kernel) {
	case DNN_RNN_TAKE:
		return r->y && r->out;
	case DNN_RNN:
		return r->gates && r->out && r->recurrent && (w->mode != CUDNN_LSTM || r->cell);
	default:
		return r->gates && r->slopes && r->recurrent && r->y && (w->mode != CUDNN_LSTM || r->cell) &&
		       (w->mode != CUDNN_GRU || (r->hidden && r->slopes_hidden && r->before));
	}
}

static bool reach_all(const struct block *b)
{
	const struct dnn_rnn_work *r = b->r;
	bool forward = b->w->kernel == DNN_RNN, back = b->w->kernel == DNN_RNN_BACK;
	int64_t all = b->gates * b->hidden, h = b->hidden;
	uint32_t data = dnn_type_bytes(r->type), each = (uint32_t)b->each;
	const struct {
		uint64_t at;
		int64_t count, stride, wide;
		uint64_t bytes;
		bool write;
	} list[] = {
		{ r->lengths, b->images, 1, 1, 4, false },
		{ r->y, r->rows, r->y_stride, h, dnn_type_bytes(r->y_type), forward },
		{ r->out, r->rows, r->stride, h, each, !back },
		{ r->gates, r->rows, all, all, each, forward },
		{ r->hidden, r->rows, h, h, each, forward },
		{ r->cell, r->rows, h, h, each, forward },
		{ r->before, r->rows, h, h, each, forward },
		{ r->slopes, r->rows, all, all, each, true },
		{ r->slopes_hidden, r->rows, h, h, each, true },
		{ r->first_h, b->images, h, h, data, back },
		{ r->first_c, b->images, h, h, data, back },
		{ r->last_h, b->images, h, h, data, forward },
		{ r->last_c, b->images, h, h, data, forward },
		{ r->given_c, b->images, h, h, data, false },
		{ r->recurrent, all, h, h, data, false },
		{ r->bias, 1, all, all, data, false },
		{ r->bias_recurrent, 1, all, all, data, false },
	};
	size_t used = b->w->kernel == DNN_RNN_TAKE ? 3 : sizeof(list) / sizeof(*list);

	for (size_t i = 0; i < used; i++)
		if (!reach_rows(b, list[i].at, list[i].count, list[i].stride, list[i].wide, list[i].bytes,
				list[i].write))
			return false;
	return true;
}

/* Room of a block's own: lengths, rows, weights, and what its images have now. Each is no more than their memory is. */
static bool room_get(struct block *b)
{
	size_t lengths = ((size_t)b->images * sizeof(int32_t) + 63) & ~(size_t)63;
	size_t starts = ((size_t)b->steps * sizeof(int64_t) + 63) & ~(size_t)63;
	size_t all = (size_t)(b->gates * b->hidden), numbers = 0;

	if (b->w->kernel != DNN_RNN_TAKE)
		numbers = (has_plain_weights(b) ? 0 : all * (size_t)b->hidden) + 2 * all +
			  (size_t)b->count * (2 * all + 5 * (size_t)b->hidden);
	if (b->r->layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED)
		starts = 0;
	b->room = scratch_get(lengths + starts + (numbers + 16) * b->each);
	if (!b->room)
		return b->n->refuse(b->n), false;
	b->length = (int32_t *)(void *)b->room;
	b->start = (int64_t *)(void *)(b->room + lengths);
	b->room += lengths + starts;
	return lengths_get(b) || (b->n->refuse(b->n), false);
}

static bool words_run(struct soft_native *n, const struct dnn_work *w)
{
	if (w->more[1] > DNN_WORDS_MOST)
		return n->refuse(n), false;
	if (!library_reach(n, w->more[0], (int64_t)w->more[1], 4, true))
		return false;
	if (!n->block && w->more[1])
		memcpy((void *)(uintptr_t)w->more[0], w->words, 4 * w->more[1]);
	return true;
}

bool recurrent_run(struct soft_native *n, const struct dnn_work *w)
{
	struct block b = { .n = n,
			   .w = w,
			   .r = &w->rnn,
			   .images = w->dim[IMAGES],
			   .steps = w->dim[STEPS],
			   .hidden = w->dim[HIDDEN],
			   .gates = w->dim[GATES],
			   .each = w->wide ? sizeof(double) : sizeof(float),
			   .number = product_number() };
	int64_t to;

	if (w->kernel == DNN_WORDS)
		return words_run(n, w);
	if (!is_sound(w))
		return n->refuse(n), false;
	if (!reach_all(&b))
		return false;
	library_part(n, b.images, &b.from, &to);
	b.count = to - b.from;
	if (!b.count)
		return true;
	if (!room_get(&b))
		return false;
	if (w->kernel == DNN_RNN_TAKE)
		return w->wide ? take_d(&b) : take_f(&b);
	if (w->kernel == DNN_RNN)
		return w->wide ? forward_d(&b) : forward_f(&b);
	return w->wide ? backward_d(&b) : backward_f(&b);
}
