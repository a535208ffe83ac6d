/*
 * run.c: kernels of cuDNN on the device's threads. The parameters are checked before they are used; the convolution and
 * the product of matrices have files of their own.
 */
#include "libs/cudnn/conv.h"

#include "libs/common/scratch.h"
#include "libs/cudnn/ctc.h"
#include "libs/cudnn/recurrent.h"
#include "libs/cudnn/sampler.h"
#include "libs/cudnn/scores.h"

#include <math.h>
#include <string.h>

/* ---- walks ---- */

int64_t walk_count(const int64_t dim[DNN_DIMS], uint8_t axes)
{
	int64_t count = 1;

	for (int i = 0; i < DNN_DIMS; i++)
		count *= axes & 1 << i ? dim[i] : 1;
	return count;
}

void walk_element(const int64_t dim[DNN_DIMS], uint8_t axes, int64_t k, int64_t at[DNN_DIMS])
{
	for (int i = DNN_DIMS - 1; i >= 0; i--) {
		if (!(axes & 1 << i))
			continue;
		at[i] = k % dim[i];
		k /= dim[i];
	}
}

void walk_begin(struct walk *w, struct soft_native *n, const int64_t dim[DNN_DIMS], uint8_t axes,
		const struct dnn_operand *o)
{
	int row = -1;

	for (int i = DNN_DIMS - 1; i >= 0; i--)
		if (axes & 1 << i && dim[i] > 1 && (row < 0 || o->stride[i] < o->stride[row]))
			row = i;
	for (int i = 0; row < 0 && i < DNN_DIMS; i++)
		if (axes & 1 << i)
			row = i;
	*w = (struct walk){
		.progress = { .n = n }, .dim = dim, .axes = axes, .row = row < 0 ? 0 : row, .rows = 1, .length = 1
	};
	if (row < 0)
		return;
	w->length = dim[row];
	w->axes &= (uint8_t) ~(1u << row);
	w->rows = walk_count(dim, w->axes);
}

void walk_at(const struct walk *w, int64_t k, int64_t at[DNN_DIMS])
{
	for (int i = DNN_DIMS - 1; i >= 0; i--)
		if (w->axes & 1 << i) {
			at[i] = k % w->dim[i];
			k /= w->dim[i];
		}
	if (w->length > 1)
		at[w->row] = 0;
}

/* ---- both types ---- */

#define T float
#define NAMED(name) name##_f
#define EXP expf
#define EXPM1 expm1f
#define LOG logf
#define LOG1P log1pf
#define TANH tanhf
#define ERF erff
#define FMOD fmodf
#define POW powf
#define ATAN2 atan2f
#define CEIL ceilf
#define FLOOR floorf
#define COS cosf
#define SIN sinf
#define TAN tanf
#define SQRT sqrtf
#include "libs/cudnn/typed.h"
#undef EXP
#undef EXPM1
#undef LOG
#undef LOG1P
#undef TANH
#undef ERF
#undef FMOD
#undef POW
#undef ATAN2
#undef CEIL
#undef FLOOR
#undef COS
#undef SIN
#undef TAN
#undef SQRT
#define T double
#define NAMED(name) name##_d
#define EXP exp
#define EXPM1 expm1
#define LOG log
#define LOG1P log1p
#define TANH tanh
#define ERF erf
#define FMOD fmod
#define POW pow
#define ATAN2 atan2
#define CEIL ceil
#define FLOOR floor
#define COS cos
#define SIN sin
#define TAN tan
#define SQRT sqrt
#include "libs/cudnn/typed.h"

/* ---- random numbers ---- */

/* Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", SC11). */
static uint32_t philox(uint64_t seed, uint64_t offset, uint64_t index)
{
	uint32_t c[4] = { (uint32_t)index, (uint32_t)(index >> 32), (uint32_t)offset, (uint32_t)(offset >> 32) };
	uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };

	for (int i = 0; i < 10; i++) {
		uint64_t a = (uint64_t)c[0] * 0xd2511f53u, b = (uint64_t)c[2] * 0xcd9e8d57u;
		uint32_t next[4] = { (uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b,
				     (uint32_t)(a >> 32) ^ c[3] ^ key[1], (uint32_t)a };

		memcpy(c, next, sizeof(c));
		key[0] += 0x9e3779b9u;
		key[1] += 0xbb67ae85u;
	}
	return c[0];
}

static bool is_word(const struct dnn_operand *o)
{
	return !o->at || (!o->is_value && (o->type == CUDNN_DATA_INT32 || o->type == CUDNN_DATA_INT64));
}

/* A seed or an offset: from the device's memory, or its bits stand in the scalar. */
static uint64_t random_word(const struct dnn_work *w, int operand, int scalar)
{
	int64_t zero[DNN_DIMS] = { 0 };
	const struct dnn_operand *o = &w->operand[operand];
	uint64_t word = 0;

	if (!o->at) {
		memcpy(&word, &w->scalar[scalar], sizeof(word));
		return word;
	}
	if (o->type == CUDNN_DATA_INT32)
		return (uint64_t) * (const int32_t *)operand_at(o, zero);
	return (uint64_t) * (const int64_t *)operand_at(o, zero);
}

static bool random_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	uint64_t seed = random_word(w, 1, RANDOM_SEED), offset = random_word(w, 2, RANDOM_OFFSET);
	const struct dnn_operand *y = &w->operand[0];
	int64_t at[DNN_DIMS];

	for (int64_t k = from; k < to; k++) {
		double value = philox(seed, offset, (uint64_t)k) * 0x1p-32 < w->scalar[RANDOM_KEEP]
				       ? w->scalar[RANDOM_VALUE]
				       : 0;

		walk_element(w->dim, ALL_AXES, k, at);
		dnn_write_d(&value, y->type, operand_at(y, at), 1, 1);
		if (k % 8192 == 8191 && !n->go_on(n, 8192))
			return false;
	}
	return true;
}

/* ---- checks ---- */

bool operand_reach(struct soft_native *n, const struct dnn_operand *o, const int64_t dim[DNN_DIMS], bool write)
{
	int64_t last = 0, more;
	uint32_t each = dnn_type_bytes(o->type);

	if (!o->at || (o->is_value && !write))
		return true;
	if (!each || o->is_value)
		return n->refuse(n), false;
	for (int i = 0; i < DNN_DIMS; i++) {
		if (!dim[i])
			continue; /* a result may be there all the same: of nothing */
		if (dim[i] < 0 || o->stride[i] < 0 || __builtin_mul_overflow(dim[i] - 1, o->stride[i], &more) ||
		    __builtin_add_overflow(last, more, &last) || last > DNN_SIZE_MOST)
			return n->refuse(n), false;
	}
	return library_reach(n, o->at, last + 1, each, write);
}

/* Dimensions and what is counted with them stay far from overflowing. */
bool dims_good(const int64_t dim[DNN_DIMS])
{
	int64_t all = 1;

	for (int i = 0; i < DNN_DIMS; i++)
		if (dim[i] < 0 || __builtin_mul_overflow(all, dim[i] ? dim[i] : 1, &all) || all > DNN_SIZE_MOST)
			return false;
	return true;
}

static const struct {
	uint8_t operands, written; /* how many, and bits: those that are results */
	uint16_t modes;
} shapes[DNN_KERNELS] = {
	[DNN_POINTWISE] = { 4, 1 << POINT_Y, UINT16_MAX },
	[DNN_REDUCE] = { 2, 1 << 1, DNN_REDUCE_SQUARES },
	[DNN_NORM] = { 8, 1 << NORM_Y, DNN_NORM_VARIANCE },
	[DNN_NORM_DATA] = { 6, 1 << NORM_DX, DNN_NORM_GIVEN },
	[DNN_NORM_WEIGHTS] = { 7, 1 << NORM_DSCALE | 1 << NORM_DBIAS, DNN_NORM_GIVEN },
	[DNN_SOFTMAX] = { 2, 1 << 1, 1 },
	[DNN_SOFTMAX_BACK] = { 3, 1 << 2, 1 },
	[DNN_RANDOM] = { 3, 1 << 0, 0 },
	[DNN_BAND] = { 0, 0, UINT16_MAX },
	[DNN_RAGGED] = { 0, 0, 1 },
};

static bool reach_operands(struct soft_native *n, const struct dnn_work *w)
{
	uint8_t written = shapes[w->kernel].written;

	if (w->kernel >= DNN_BAND)
		return scores_reach(n, w);
	if (w->kernel == DNN_NORM && w->mode == DNN_NORM_COMPUTE)
		written |= 1 << NORM_MEAN | 1 << NORM_INVERSE;
	for (int i = 0; i < shapes[w->kernel].operands; i++)
		if (!operand_reach(n, &w->operand[i], w->dim, written & 1 << i))
			return false;
	for (int i = 0; w->kernel == DNN_NORM && i < 2; i++) {
		struct dnn_operand run = w->operand[i ? NORM_RUN_VARIANCE : NORM_RUN_MEAN];

		run.at = w->more[i];
		if (!operand_reach(n, &run, w->dim, true))
			return false;
	}
	return true;
}

/* Elements from the first to the last of a plane; operand_reach() has made sure that it can be counted. */
static int64_t pool_extent(const struct dnn_work *w, const struct dnn_operand *o)
{
	int64_t extent = 1;

	for (int i = 2; i < DNN_DIMS; i++)
		extent += w->dim[i] ? (w->dim[i] - 1) * o->stride[i] : 0;
	return extent;
}

static bool pool_sound(const struct dnn_work *w)
{
	const struct dnn_pool_work *p = &w->pool;
	bool back = w->kernel == DNN_POOL_BACK;
	int64_t whole = 1, plane = w->dim[2] * w->dim[3] * w->dim[4];

	if (w->mode > DNN_POOL_MEAN_INSIDE || p->x.is_value || p->dx.is_value || p->dy.is_value)
		return false;
	for (int i = 0; i < DNN_SPATIAL; i++) {
		/* rows of nothing would be walked through: there may be as many as numbers go */
		if (w->dim[2 + i] < 1 || p->y_dim[2 + i] < 1 || p->window[i] < 1 || p->stride[i] < 1 || p->pad[i] < 0 ||
		    p->window[i] > 1 << 20 || p->stride[i] > 1 << 20 || p->pad[i] > 1 << 20)
			return false;
		whole *= p->window[i];
		if (whole > INT32_MAX)
			return false;
	}
	if (back ? !p->dx.at || !p->dy.at || (!p->x.at && w->mode == DNN_POOL_MAX) : !p->x.at || !p->y.at)
		return false;
	/* A plane is copied: it must not be larger than what it is a copy of. */
	if (plane > pool_extent(w, back ? &p->dx : &p->x) || (back && p->x.at && plane > pool_extent(w, &p->x)))
		return false;
	return p->y_dim[0] == w->dim[0] && p->y_dim[1] == w->dim[1];
}

static bool reach_pool(struct soft_native *n, const struct dnn_work *w)
{
	const struct dnn_pool_work *p = &w->pool;

	if (!dims_good(p->y_dim))
		return n->refuse(n), false;
	if (!operand_reach(n, &p->x, w->dim, false) || !operand_reach(n, &p->dx, w->dim, true) ||
	    !operand_reach(n, &p->y, p->y_dim, w->kernel == DNN_POOL) || !operand_reach(n, &p->dy, p->y_dim, false))
		return false;
	return pool_sound(w) || (n->refuse(n), false);
}

/* What each kernel cannot do without. */
static bool work_sound(const struct dnn_work *w)
{
	const struct dnn_operand *o = w->operand;

	switch ((enum dnn_kernel)w->kernel) {
	case DNN_POINTWISE:
		return o[POINT_Y].at && (w->mode != CUDNN_POINTWISE_GEN_INDEX ||
					 (w->scalar[POINT_AXIS] >= 0 && w->scalar[POINT_AXIS] < DNN_DIMS));
	case DNN_REDUCE:
	case DNN_SOFTMAX:
		return o[0].at && o[1].at;
	case DNN_SOFTMAX_BACK:
		return o[0].at && o[1].at && o[2].at;
	case DNN_NORM:
		return o[NORM_X].at && o[NORM_Y].at &&
		       (w->mode == DNN_NORM_COMPUTE || ((w->flag || o[NORM_MEAN].at) && o[NORM_INVERSE].at));
	case DNN_NORM_DATA:
		return o[NORM_X].at && o[NORM_DY].at && o[NORM_DX].at &&
		       (w->mode == DNN_NORM_COMPUTE || ((w->flag || o[NORM_MEAN].at) && o[NORM_INVERSE].at));
	case DNN_NORM_WEIGHTS:
		return o[NORM_X].at && o[NORM_DY].at && !(w->more[0] & ~(uint64_t)ALL_AXES) &&
		       (w->mode == DNN_NORM_COMPUTE ? !(w->more[0] & ~(uint64_t)w->axes)
						    : (w->flag || o[NORM_MEAN].at) && o[NORM_INVERSE].at);
	case DNN_RANDOM:
		return o[0].at && is_word(&o[1]) && is_word(&o[2]);
	default:
		return scores_sound(w);
	}
}

typedef bool (*run_function)(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to);

static const run_function runs[DNN_KERNELS][2] = {
	[DNN_POINTWISE] = { pointwise_f, pointwise_d },
	[DNN_REDUCE] = { reduce_f, reduce_d },
	[DNN_NORM] = { norm_f, norm_d },
	[DNN_NORM_DATA] = { norm_data_f, norm_data_d },
	[DNN_NORM_WEIGHTS] = { norm_weights_f, norm_weights_d },
	[DNN_POOL] = { pool_f, pool_d },
	[DNN_POOL_BACK] = { pool_f, pool_d },
	[DNN_SOFTMAX] = { softmax_f, softmax_d },
	[DNN_SOFTMAX_BACK] = { softmax_back_f, softmax_back_d },
	[DNN_RANDOM] = { random_run, random_run },
	[DNN_BAND] = { band_run, band_run },
	[DNN_SCORES] = { scores_run, scores_run },
	[DNN_RAGGED] = { ragged_run, ragged_run },
	[DNN_PAGED] = { paged_run, paged_run },
};

static int64_t work_parts(const struct dnn_work *w)
{
	if (w->kernel == DNN_POINTWISE || w->kernel == DNN_RANDOM)
		return walk_count(w->dim, ALL_AXES);
	if (w->kernel == DNN_POOL || w->kernel == DNN_POOL_BACK)
		return w->dim[0] * w->dim[1];
	return walk_count(w->dim, (uint8_t)(ALL_AXES & ~w->axes));
}

void dnn_run(struct soft_native *n)
{
	const struct dnn_work *w = n->params;
	bool pool;
	int64_t from, to;

	if (n->bytes != DEVICE_PARAM_BYTES || !n->blocks || w->kernel >= DNN_KERNELS || w->wide > 1 ||
	    w->axes & ~ALL_AXES || !dims_good(w->dim)) {
		n->refuse(n);
		return;
	}
	if (w->kernel == DNN_MATMUL) {
		matmul_run(n, w);
		return;
	}
	if (w->kernel >= DNN_GRID && w->kernel <= DNN_SAMPLE_GRID) {
		sampler_run(n, w);
		return;
	}
	if (w->kernel == DNN_CTC) {
		ctc_run(n, w);
		return;
	}
	if (w->kernel >= DNN_RNN && w->kernel <= DNN_WORDS) {
		recurrent_run(n, w);
		return;
	}
	if (w->kernel <= DNN_CONV_FILTER) {
		conv_run(n, w);
		return;
	}
	pool = w->kernel == DNN_POOL || w->kernel == DNN_POOL_BACK;
	if (!pool && (w->mode > shapes[w->kernel].modes || !work_sound(w))) {
		n->refuse(n);
		return;
	}
	if (pool ? !reach_pool(n, w) : !reach_operands(n, w))
		return;
	library_part(n, work_parts(w), &from, &to);
	if (from < to)
		runs[w->kernel][w->wide](n, w, from, to);
}
