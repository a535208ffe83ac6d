/*
 * conv.c: convolutions and their gradients on the device's threads.
 *
 * A block takes images, or where these are few, channels or groups of one image; of a gradient of the filter it takes
 * channels or groups of all images. oneDNN computes float; without it, and for double, products with columns of windows
 * do. Operands of other types, flipped filters and results that are added to others are copied.
 */
#include "libs/cudnn/conv.h"

#include "libs/common/scratch.h"
#include "libs/cudnn/onednn.h"

#include <string.h>

#define COLUMNS_MOST 256
#define COLUMNS_LEAST 16
#define COLUMNS_ROOM (1 << 22) /* elements of all, with more than the least */
#define CHANNELS_AT_ONCE 16    /* what vectors of the processor like */
#define PRODUCTS_AT_ONCE 2e8   /* multiplications in one go: some milliseconds */
#define FILTER_AT_ONCE 6e8     /* where each go's result is added to the others' */
#define LENGTH_MOST (1 << 28)
#define STEP_USUAL (1 << 12)
#define COUNT_USUAL (1 << 28) /* elements of an image, and of a filter */
#define WORK_USUAL 0x1p37     /* multiplications of an image: oneDNN cannot be stopped within one */

/* Part of a convolution: some groups, or some channels of the only one. */
struct piece {
	int64_t groups, in_each, out_each; /* channels of one group */
	int64_t in_from, out_from;	   /* first channels, counted through all groups */
	int64_t filter_from;		   /* first input channel of the filter */
	int64_t in_size, out_size, window_size;
	int64_t columns; /* windows at once */
	int64_t in[DNN_SPATIAL], out[DNN_SPATIAL], window[DNN_SPATIAL];
	const struct dnn_conv_work *c;
};

/* Where the element of a window lies in its image, or -1 in the padding. */
static inline int64_t window_place(const struct piece *p, int64_t result, int64_t d, int64_t h, int64_t v)
{
	int64_t at[DNN_SPATIAL] = { result / (p->out[1] * p->out[2]), result / p->out[2] % p->out[1],
				    result % p->out[2] };
	int64_t in_window[DNN_SPATIAL] = { d, h, v }, place = 0;

	for (int i = 0; i < DNN_SPATIAL; i++) {
		int64_t k = at[i] * p->c->stride[i] - p->c->pad[i] + in_window[i] * p->c->dilation[i];

		if (k < 0 || k >= p->in[i])
			return -1;
		place = place * p->in[i] + k;
	}
	return place;
}

#define T float
#define NAMED(name) name##_f
#include "libs/cudnn/conv_own.h"
#define T double
#define NAMED(name) name##_d
#include "libs/cudnn/conv_own.h"

/* ---- operands ---- */

/* Part of a tensor, in its own memory or a copy. */
struct view {
	const struct dnn_operand *o;
	int64_t from[DNN_DIMS], dim[DNN_DIMS], stride[DNN_DIMS];
	char *at;
	bool copied;
};

static int64_t view_count(const struct view *v)
{
	return walk_count(v->dim, ALL_AXES);
}

/* The row at `at` of the part: its address, and the step to its next element. */
static void *view_row(const struct view *v, const int64_t at[DNN_DIMS], bool flip, int64_t *step)
{
	int64_t place[DNN_DIMS];

	for (int i = 0; i < DNN_DIMS; i++)
		place[i] = v->from[i] + (flip && i >= 2 ? v->dim[i] - 1 - at[i] : at[i]);
	*step = flip ? -v->o->stride[DNN_DIMS - 1] : v->o->stride[DNN_DIMS - 1];
	return operand_at(v->o, place);
}

static void view_pack(struct view *v, char *room)
{
	int64_t stride = 1;

	v->at = room;
	v->copied = true;
	for (int i = DNN_DIMS - 1; i >= 0; i--) {
		v->stride[i] = stride;
		stride *= v->dim[i];
	}
}

/* The dimensions before those that make one row: they lie behind each other in the tensor as in the copy. */
static uint8_t view_rows(const struct view *v, bool flip, int64_t *ret_length)
{
	int axis = DNN_DIMS - 1;
	int64_t length = v->dim[axis];

	while (!flip && axis > 0 && v->o->stride[DNN_DIMS - 1] == 1 &&
	       (v->dim[axis - 1] == 1 || v->o->stride[axis - 1] == length))
		length *= v->dim[--axis];
	*ret_length = length;
	return (uint8_t)((1u << axis) - 1);
}

static void view_read(const struct view *v, bool wide, bool flip)
{
	int64_t length, rows;
	uint8_t axes = view_rows(v, flip, &length);

	rows = walk_count(v->dim, axes);
	for (int64_t k = 0; k < rows; k++) {
		int64_t at[DNN_DIMS] = { 0 }, step;
		void *row;

		walk_element(v->dim, axes, k, at);
		row = view_row(v, at, flip, &step);
		if (wide)
			dnn_read_d((double *)(void *)v->at + k * length, v->o->type, row, step, length);
		else
			dnn_read_f((float *)(void *)v->at + k * length, v->o->type, row, step, length);
	}
}

/* alpha * the values + beta * what is there. */
static void row_blend(const struct view *v, bool wide, const char *from, char *row, int64_t step, int64_t length,
		      double alpha, double beta)
{
	double old[ROW], value[ROW];
	size_t each = wide ? sizeof(double) : sizeof(float), there = dnn_type_bytes(v->o->type);

	if (alpha == 1 && beta == 0 && !wide) {
		dnn_write_f((const float *)(const void *)from, v->o->type, row, step, length);
		return;
	}
	for (int64_t done = 0; done < length; done += ROW) {
		int64_t count = length - done < ROW ? length - done : ROW;
		char *to = row + done * step * (int64_t)there;

		dnn_read_d(value, wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT, from + (size_t)done * each, 1, count);
		if (beta != 0)
			dnn_read_d(old, v->o->type, to, step, count);
		for (int64_t i = 0; i < count; i++)
			value[i] = alpha * value[i] + (beta != 0 ? beta * old[i] : 0);
		dnn_write_d(value, v->o->type, to, step, count);
	}
}

static void view_write(const struct view *v, bool wide, bool flip, double alpha, double beta)
{
	int64_t length, rows;
	uint8_t axes = view_rows(v, flip, &length);

	rows = walk_count(v->dim, axes);
	for (int64_t k = 0; k < rows; k++) {
		int64_t at[DNN_DIMS] = { 0 }, step;
		void *row;

		walk_element(v->dim, axes, k, at);
		row = view_row(v, at, flip, &step);
		row_blend(v, wide, v->at + (size_t)(k * length) * (wide ? sizeof(double) : sizeof(float)), row, step,
			  length, alpha, beta);
	}
}

/* ---- one block ---- */

struct block {
	struct soft_native *n;
	const struct dnn_work *w;
	bool own;	  /* by products, not by oneDNN */
	bool keep_filter; /* the filter is that of the call before */
	bool wrote;	  /* part of the result is in its place */
	bool at_once;	  /* all images are one go */
	int64_t chunk;	  /* images at once */
	struct view view[3];
	char *room, *columns;
	size_t room_used;
};

enum { X, FILTER, Y };

static int result_of(const struct dnn_work *w)
{
	return w->kernel == DNN_CONV_FORWARD ? Y : w->kernel == DNN_CONV_DATA ? X : FILTER;
}

static const struct dnn_operand *operand_of(const struct dnn_work *w, int i)
{
	return i == X ? &w->conv.x : i == Y ? &w->conv.y : &w->conv.w;
}

static bool is_copied(const struct block *b, int i)
{
	const struct dnn_work *w = b->w;
	bool result = i == result_of(w);

	return b->own || operand_of(w, i)->type != CUDNN_DATA_FLOAT || (i == FILTER && w->conv.flip) ||
	       (result && ((i == FILTER && !b->at_once) || w->scalar[BLEND_ALPHA] != 1 || w->scalar[BLEND_BETA] != 0));
}

static void view_of(struct view *v, const struct block *b, const struct piece *p, int i, int64_t image, int64_t images)
{
	const int64_t *spatial = i == X ? p->in : i == Y ? p->out : p->window;

	*v = (struct view){ .o = operand_of(b->w, i),
			    .dim = { images, p->groups * (i == X ? p->in_each : p->out_each) } };
	v->from[0] = i == FILTER ? p->out_from : image;
	v->from[1] = i == X ? p->in_from : i == Y ? p->out_from : p->filter_from;
	if (i == FILTER) {
		v->dim[0] = p->groups * p->out_each;
		v->dim[1] = p->in_each;
	}
	for (int k = 0; k < DNN_SPATIAL; k++)
		v->dim[2 + k] = spatial[k];
	memcpy(v->stride, v->o->stride, sizeof(v->stride));
	v->at = operand_at(v->o, v->from);
}

/* The memory of what is copied, for as many images at once as there will be. */
static bool block_room(struct block *b, const struct piece *p)
{
	size_t each = b->w->wide ? sizeof(double) : sizeof(float), bytes = 0, at[3];
	bool filter = result_of(b->w) == FILTER;

	for (int i = 0; i < 3; i++) {
		view_of(&b->view[i], b, p, i, 0, b->chunk);
		at[i] = bytes;
		if (is_copied(b, i))
			bytes += ((size_t)view_count(&b->view[i]) * each + 63) & ~(size_t)63;
	}
	b->room_used = bytes;
	if (filter)
		bytes += ((size_t)view_count(&b->view[FILTER]) * each + 63) & ~(size_t)63;
	if (b->own)
		bytes += (size_t)(p->in_each * p->window_size * p->columns) * each;
	b->room = scratch_get(bytes + 64);
	if (!b->room)
		return false;
	b->columns = b->room + bytes - (b->own ? (size_t)(p->in_each * p->window_size * p->columns) * each : 0);
	for (int i = 0; i < 3; i++)
		b->view[i].at = is_copied(b, i) ? b->room + at[i] : NULL;
	return true;
}

static void shape_of(const struct block *b, const struct piece *p, int64_t images, struct onednn_conv *s)
{
	const struct dnn_conv_work *c = &b->w->conv;
	int64_t spatial = DNN_SPATIAL;

	memset(s, 0, sizeof(*s));
	while (spatial > 1 && p->in[DNN_SPATIAL - spatial] == 1 && p->window[DNN_SPATIAL - spatial] == 1 &&
	       p->out[DNN_SPATIAL - spatial] == 1 && !c->pad[DNN_SPATIAL - spatial])
		spatial--;
	s->direction = b->w->kernel == DNN_CONV_FORWARD ? ONEDNN_FORWARD
		       : b->w->kernel == DNN_CONV_DATA	? ONEDNN_DATA
							: ONEDNN_FILTER;
	s->spatial = spatial;
	s->images = images;
	s->groups = p->groups;
	s->in_channels = p->groups * p->in_each;
	s->out_channels = p->groups * p->out_each;
	memcpy(s->in, p->in, sizeof(s->in));
	memcpy(s->out, p->out, sizeof(s->out));
	memcpy(s->window, p->window, sizeof(s->window));
	for (int i = 0; i < DNN_SPATIAL; i++) {
		s->stride[i] = c->stride[i];
		s->dilation[i] = c->dilation[i];
		s->pad[i] = c->pad[i];
	}
	memcpy(s->x_stride, b->view[X].stride, sizeof(s->x_stride));
	memcpy(s->w_stride, b->view[FILTER].stride, sizeof(s->w_stride));
	memcpy(s->y_stride, b->view[Y].stride, sizeof(s->y_stride));
}

static bool compute(struct block *b, const struct piece *p, int64_t images, bool same_filter)
{
	char *x = b->view[X].at, *w = b->view[FILTER].at, *y = b->view[Y].at;
	struct onednn_conv shape;

	if (!b->own) {
		shape_of(b, p, images, &shape);
		return onednn_conv(&shape, (float *)x, (float *)w, (float *)y, same_filter);
	}
	if (b->w->wide)
		return conv_own_d(b->n, p, b->w->kernel, (double *)x, (double *)w, (double *)y, (double *)b->columns);
	return conv_own_f(b->n, p, b->w->kernel, (float *)x, (float *)w, (float *)y, (float *)b->columns);
}

/* Puts each operand where the computing finds it; `first`: of this piece. */
static void block_views(struct block *b, const struct piece *p, int64_t image, int64_t images, bool first)
{
	for (int i = 0; i < 3; i++) {
		char *room = b->view[i].at;

		if (i == FILTER && !first)
			continue;
		view_of(&b->view[i], b, p, i, image, images);
		if (!is_copied(b, i))
			continue;
		view_pack(&b->view[i], room);
		if (i != result_of(b->w))
			view_read(&b->view[i], b->w->wide, i == FILTER && b->w->conv.flip);
	}
}

static uint64_t work_of(const struct piece *p, int64_t images)
{
	return (uint64_t)images * (uint64_t)(p->groups * p->out_each * p->out_size) *
	       (uint64_t)(p->in_each * p->window_size);
}

static void add_f(float *sum, const float *more, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		sum[i] += more[i];
}

/* False: the launch has ended; `fits` tells when oneDNN cannot compute this. */
static bool piece_run(struct block *b, const struct piece *p, int64_t image, int64_t images, bool *fits)
{
	const struct dnn_work *w = b->w;
	int result = result_of(w);
	float *sum;

	b->chunk =
		b->own ? 1
		       : 1 + (int64_t)((result == FILTER ? FILTER_AT_ONCE : PRODUCTS_AT_ONCE) / (double)work_of(p, 1));
	b->chunk = b->chunk < images ? b->chunk : images;
	b->at_once = b->chunk == images;
	if (!block_room(b, p))
		return b->n->refuse(b->n), false;
	sum = (float *)(b->room + b->room_used);
	for (int64_t done = 0, count; done < images; done += count) {
		count = images - done < b->chunk ? images - done : b->chunk;
		block_views(b, p, image + done, count, !done);
		if (!done && result == FILTER && (b->own || !b->at_once))
			memset(b->own ? (void *)b->view[FILTER].at : (void *)sum, 0,
			       (size_t)view_count(&b->view[FILTER]) * (w->wide ? sizeof(double) : sizeof(float)));
		if (!compute(b, p, count, b->keep_filter)) {
			*fits = b->own || b->wrote;
			if (*fits && !b->own)
				b->n->refuse(b->n);
			return false;
		}
		b->keep_filter = true;
		b->wrote = b->wrote || result != FILTER || !b->view[FILTER].copied;
		if (result == FILTER && !b->own && !b->at_once)
			add_f(sum, (float *)b->view[FILTER].at, view_count(&b->view[FILTER]));
		else if (result != FILTER && b->view[result].copied)
			view_write(&b->view[result], w->wide, false, w->scalar[BLEND_ALPHA], w->scalar[BLEND_BETA]);
		if (!b->n->go_on(b->n, b->own ? 1 : work_of(p, count) / 32 + 1))
			return false;
	}
	if (result == FILTER && b->view[FILTER].copied) {
		if (!b->own && !b->at_once)
			b->view[FILTER].at = (char *)sum;
		view_write(&b->view[FILTER], w->wide, w->conv.flip, w->scalar[BLEND_ALPHA], w->scalar[BLEND_BETA]);
	}
	return true;
}

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Groups, or channels of the only group, from `from` to `to` of `all`. */
static void piece_of(const struct dnn_work *w, struct piece *p, int64_t from, int64_t to)
{
	const struct dnn_conv_work *c = &w->conv;
	int64_t in = w->dim[1] / c->groups, out = c->w_dim[0] / c->groups;

	*p = (struct piece){
		.groups = 1, .in_each = in, .out_each = out, .in_size = 1, .out_size = 1, .window_size = 1, .c = c
	};
	if (c->groups > 1) {
		p->groups = to - from;
		p->in_from = from * in;
		p->out_from = from * out;
	} else if (w->kernel == DNN_CONV_DATA) {
		p->in_from = p->filter_from = from * CHANNELS_AT_ONCE;
		p->in_each = (to * CHANNELS_AT_ONCE < in ? to * CHANNELS_AT_ONCE : in) - p->in_from;
	} else {
		p->out_from = from * CHANNELS_AT_ONCE;
		p->out_each = (to * CHANNELS_AT_ONCE < out ? to * CHANNELS_AT_ONCE : out) - p->out_from;
	}
	for (int i = 0; i < DNN_SPATIAL; i++) {
		p->in_size *= p->in[i] = w->dim[2 + i];
		p->out_size *= p->out[i] = c->y_dim[2 + i];
		p->window_size *= p->window[i] = c->w_dim[2 + i];
	}
	p->columns = COLUMNS_ROOM / (p->in_each * p->window_size);
	p->columns = p->columns < COLUMNS_LEAST ? COLUMNS_LEAST : p->columns;
	p->columns = min(p->columns, min(COLUMNS_MOST, p->out_size));
}

/* This block's part. */
static bool block_run(struct block *b, bool *fits)
{
	const struct dnn_work *w = b->w;
	const struct dnn_conv_work *c = &w->conv;
	int64_t channels = w->kernel == DNN_CONV_DATA ? w->dim[1] : c->w_dim[0], images = w->dim[0], from, to;
	int64_t units = c->groups > 1 ? c->groups : (channels + CHANNELS_AT_ONCE - 1) / CHANNELS_AT_ONCE, splits = 1;
	struct piece p;

	if (result_of(w) == FILTER) {
		library_part(b->n, units, &from, &to);
		piece_of(w, &p, from, to);
		return from >= to || piece_run(b, &p, 0, images, fits);
	}
	if (images < b->n->blocks)
		splits = min((b->n->blocks + images - 1) / images, units);
	library_part(b->n, images * splits, &from, &to);
	if (splits == 1) {
		piece_of(w, &p, 0, units);
		return from >= to || piece_run(b, &p, from, to - from, fits);
	}
	for (int64_t k = from; k < to; k++) {
		piece_of(w, &p, units * (k % splits) / splits, units * (k % splits + 1) / splits);
		b->keep_filter = false;
		if (!piece_run(b, &p, k / splits, 1, fits))
			return false;
	}
	return true;
}

/* ---- checks ---- */

/* What is computed with in memory, and what is counted, stays far from overflowing. */
static bool work_size_good(const struct dnn_work *w)
{
	const struct dnn_conv_work *c = &w->conv;
	int64_t all = c->y_dim[1];

	for (int i = 0; i < DNN_SPATIAL; i++)
		if (__builtin_mul_overflow(all, c->y_dim[2 + i], &all) ||
		    __builtin_mul_overflow(all, c->w_dim[2 + i], &all))
			return false;
	return !__builtin_mul_overflow(all, c->w_dim[1], &all) && !__builtin_mul_overflow(all, w->dim[0], &all);
}

/* No operand covers itself: what is copied is not larger than what it is a copy of. */
static bool is_spread(const struct dnn_operand *o, const int64_t dim[DNN_DIMS])
{
	int64_t extent = 1, count = 1;

	for (int i = 0; i < DNN_DIMS; i++) {
		extent += (dim[i] - 1) * o->stride[i];
		count *= dim[i];
	}
	return count <= extent;
}

static bool conv_sound(const struct dnn_work *w)
{
	const struct dnn_conv_work *c = &w->conv;

	if (!dims_good(c->w_dim) || !dims_good(c->y_dim) || c->groups < 1 || c->flip > 1 || c->x.is_value ||
	    c->y.is_value || c->w.is_value || !c->x.at || !c->y.at || !c->w.at)
		return false;
	for (int i = 0; i < DNN_DIMS; i++)
		if (w->dim[i] < 1 || c->w_dim[i] < 1 || c->y_dim[i] < 1 || w->dim[i] > LENGTH_MOST ||
		    c->w_dim[i] > LENGTH_MOST || c->y_dim[i] > LENGTH_MOST)
			return false;
	for (int i = 0; i < DNN_SPATIAL; i++) {
		int64_t reach = (c->w_dim[2 + i] - 1) * (int64_t)c->dilation[i] + 1;
		int64_t behind = (c->y_dim[2 + i] - 1) * (int64_t)c->stride[i] + reach - w->dim[2 + i] - c->pad[i];

		if (c->stride[i] < 1 || c->dilation[i] < 1 || c->pad[i] < 0 || c->stride[i] > LENGTH_MOST ||
		    c->dilation[i] > LENGTH_MOST || c->pad[i] > LENGTH_MOST || behind + c->stride[i] <= 0 ||
		    behind > LENGTH_MOST)
			return false;
	}
	return w->dim[0] == c->y_dim[0] && c->y_dim[1] == c->w_dim[0] && c->w_dim[0] % c->groups == 0 &&
	       c->w_dim[1] * c->groups == w->dim[1] && work_size_good(w);
}

/*
 * What oneDNN is made for. Its generated code counts bytes in 32 bits in places, and nobody has tried it with padding
 * beyond the window: such a convolution, which is sound, is computed here.
 */
static bool is_usual(const struct dnn_work *w)
{
	const struct dnn_conv_work *c = &w->conv;
	int64_t in = w->dim[1], out = c->y_dim[1], window = c->w_dim[0] * c->w_dim[1];

	for (int i = 0; i < DNN_SPATIAL; i++) {
		int64_t reach = (c->w_dim[2 + i] - 1) * (int64_t)c->dilation[i] + 1;
		int64_t behind = (c->y_dim[2 + i] - 1) * (int64_t)c->stride[i] + reach - w->dim[2 + i] - c->pad[i];

		if (c->stride[i] > STEP_USUAL || c->dilation[i] > STEP_USUAL || c->pad[i] >= reach || behind >= reach)
			return false;
		in *= w->dim[2 + i];
		out *= c->y_dim[2 + i];
		window *= c->w_dim[2 + i];
	}
	return in <= COUNT_USUAL && out <= COUNT_USUAL && window <= COUNT_USUAL &&
	       (double)out * (double)window / (double)c->w_dim[0] <= WORK_USUAL;
}

bool conv_run(struct soft_native *n, const struct dnn_work *w)
{
	const struct dnn_conv_work *c = &w->conv;
	struct block b = { .n = n, .w = w };
	int result = result_of(w);
	bool fits = true, good;

	if (!conv_sound(w))
		return n->refuse(n), false;
	if (!operand_reach(n, &c->x, w->dim, result == X) || !operand_reach(n, &c->w, c->w_dim, result == FILTER) ||
	    !operand_reach(n, &c->y, c->y_dim, result == Y))
		return false;
	if (!is_spread(&c->x, w->dim) || !is_spread(&c->w, c->w_dim) || !is_spread(&c->y, c->y_dim))
		return n->refuse(n), false;
	b.own = w->wide || !onednn_open() || !is_usual(w);
	good = block_run(&b, &fits);
	if (fits)
		return good;
	/* of what oneDNN cannot do everything is computed again */
	b = (struct block){ .n = n, .w = w, .own = true };
	return block_run(&b, &fits);
}
