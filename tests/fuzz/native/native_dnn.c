/*
 * native_dnn.c: kernels of cuDNN: those of tensors (element by element, reductions, attention, CTC, grids), products of
 * matrices, convolutions, pools and recurrent networks.
 */
#include "libs/cudnn/dnn.h"
#include "libs/cudnn/sampler.h"
#include "native.h"

/* What the library asks for where calls are made, which is not here. */
CUresult dnn_submit(const struct device_driver *driver, CUcontext context, cudaStream_t stream, struct dnn_work *work,
		    uint32_t blocks)
{
	return CUDA_ERROR_NOT_INITIALIZED;
}

bool dnn_handle_known(const void *handle)
{
	return false;
}

void library_refused(const char *title, const char *symbol)
{
}

static uint8_t type_of(const struct plain *p)
{
	static const uint8_t types[] = { CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16 };

	return types[p->type];
}

/* In rows, one behind the other. */
static struct dnn_operand packed(unsigned int piece, const int64_t dim[DNN_DIMS], uint8_t type)
{
	struct dnn_operand o = { .at = address(piece, 0), .type = type };
	int64_t stride = 1;

	for (int i = DNN_DIMS - 1; i >= 0; i--) {
		o.stride[i] = stride;
		stride *= dim[i] > 0 ? dim[i] : 1;
	}
	return o;
}

static void words_set(struct dnn_operand *o, int64_t bytes)
{
	*o = (struct dnn_operand){ .at = address(1, bytes), .type = CUDNN_DATA_INT32 };
	o->stride[0] = o->stride[1] = 1;
}

static void ctc_set(struct dnn_work *w, const struct plain *p)
{
	w->axes = 1 << 2 | 1 << 4;
	w->dim[0] = w->dim[1] = 1;
	w->dim[2] = 8; /* the memory's words are below that, or are not */
	w->dim[3] = 1 + p->n % 4;
	w->dim[4] = 8 + p->k % 8;
	w->more[0] = 7;
	for (int i = 0; i < CTC_OPERANDS; i++)
		w->operand[i] = packed((unsigned int)i % 3, w->dim, CUDNN_DATA_FLOAT);
	for (int i = CTC_LABELS; i <= CTC_INPUT_LENGTHS; i++)
		words_set(&w->operand[i], 4096 * i);
	w->operand[CTC_COSTS].at = address(2, 16384);
	w->operand[CTC_PATHS].at = address(0, 8192);
}

static void sampler_set(struct dnn_work *w, const struct plain *p)
{
	int64_t image[DNN_DIMS] = { 1 + p->more % 2, 1 + p->more / 2 % 3, 1, 1 + p->k % 6, 1 + p->k % 5 };

	w->mode = w->kernel == DNN_GRID ? p->more & 1 : 0;
	w->axes = 1 << 3 | 1 << 4;
	w->dim[0] = image[0];
	w->dim[1] = w->kernel == DNN_GRID ? 1 : image[1];
	w->dim[2] = 1;
	w->dim[3] = 1 + p->m % 6;
	w->dim[4] = 1 + p->n % 6;
	w->more[0] = (uint64_t)image[3];
	w->more[1] = (uint64_t)image[4];
	for (int i = SAMPLE_X; i <= SAMPLE_THETA; i++)
		w->operand[i] = packed((unsigned int)i % 3, i == SAMPLE_X ? image : w->dim, type_of(p));
}

static void attention_set(struct dnn_work *w, const struct plain *p)
{
	w->axes = 1u << (DNN_DIMS - 1);
	w->dim[0] = 1;
	w->mode = w->kernel == DNN_BAND ? CUDNN_POINTWISE_CMP_EQ + p->more % 6 : 0;
	if (w->kernel == DNN_RAGGED) {
		w->mode = p->more & 1;
		w->axes = (1 << DNN_DIMS) - 1 - 2;
		w->more[0] = w->more[1] = 1;
		words_set(&w->operand[RAGGED_OFFSETS], 0);
	} else if (w->kernel == DNN_PAGED) {
		w->more[0] = 8;
		w->more[1] = 1 + p->more % 4;
		words_set(&w->operand[PAGED_TABLE], 0);
		words_set(&w->operand[PAGED_LENGTH], 4096);
	}
}

static void product_set(struct dnn_work *w, const struct plain *p)
{
	int64_t a[DNN_DIMS] = { 1, 1, w->dim[2], w->dim[3], p->k }, b[DNN_DIMS] = { 1, 1, w->dim[2], p->k, w->dim[4] };

	w->dim[0] = w->dim[1] = 1;
	w->more[0] = (uint64_t)p->k;
	w->scalar[MATMUL_FACTOR] = 1;
	w->operand[MATMUL_A] = packed(0, a, type_of(p));
	w->operand[MATMUL_B] = packed(1, b, type_of(p));
	w->operand[MATMUL_C] = packed(2, w->dim, type_of(p));
	for (int i = MATMUL_M; i < DNN_OPERANDS; i++)
		w->operand[i] = (struct dnn_operand){ 0 };
	for (int i = MATMUL_M; i <= MATMUL_K && p->more & 64; i++)
		words_set(&w->operand[i], 8192 * (i - MATMUL_M));
}

static void make_dnn(void *to, const struct plain *p)
{
	static const uint8_t kernels[] = { DNN_MATMUL,	  DNN_POINTWISE,    DNN_REDUCE,	    DNN_NORM,
					   DNN_NORM_DATA, DNN_NORM_WEIGHTS, DNN_SOFTMAX,    DNN_SOFTMAX_BACK,
					   DNN_RANDOM,	  DNN_BAND,	    DNN_SCORES,	    DNN_RAGGED,
					   DNN_PAGED,	  DNN_WORDS,	    DNN_CTC,	    DNN_GRID,
					   DNN_SAMPLE,	  DNN_SAMPLE_DATA,  DNN_SAMPLE_GRID };
	struct dnn_work *w = to;

	*w = (struct dnn_work){ .kernel = kernels[p->choice % sizeof(kernels)],
				.wide = p->type == 1,
				.axes = (uint8_t)(p->more % 32),
				.flag = (uint8_t)(p->more >> 7),
				.dim = { 1, 1 + p->more % 3, 1 + p->m % 5, 1 + p->n % 9, 1 + p->k % 11 },
				.scalar = { 1, 0, 0, 1, 1, 0, 0, 1 } };
	if (w->kernel == DNN_POINTWISE)
		w->mode = (uint16_t)(p->more % 48);
	if (w->kernel == DNN_REDUCE)
		w->mode = (uint16_t)(p->more % 10);
	if (w->kernel == DNN_NORM_WEIGHTS)
		w->more[0] = w->axes & 21;
	for (int i = 0; i < DNN_OPERANDS; i++)
		w->operand[i] = packed((unsigned int)i % 3, w->dim, type_of(p));
	if (w->kernel == DNN_RANDOM)
		w->operand[1].at = w->operand[2].at = 0;
	if (w->kernel == DNN_CTC)
		ctc_set(w, p);
	else if (w->kernel >= DNN_GRID)
		sampler_set(w, p);
	else if (w->kernel == DNN_MATMUL)
		product_set(w, p);
	else if (w->kernel >= DNN_BAND && w->kernel <= DNN_PAGED)
		attention_set(w, p);
	else if (w->kernel == DNN_WORDS) {
		w->more[0] = address(0, 0);
		w->more[1] = (uint64_t)p->m;
	}
}

#define W(member) F(struct dnn_work, member)
#define HEAD                                                                                                           \
	W(kernel), W(mode), W(wide), W(axes), W(flag), W(dim[0]), W(dim[1]), W(dim[2]), W(dim[3]), W(dim[4]),          \
		W(scalar[0]), W(scalar[1]), W(scalar[2]), W(more[0]), W(more[1])
#define O(o)                                                                                                           \
	W(o.at), W(o.stride[0]), W(o.stride[1]), W(o.stride[2]), W(o.stride[3]), W(o.stride[4]), W(o.type),            \
		W(o.is_value)
static const struct field dnn_fields[] = { HEAD,	  O(operand[0]), O(operand[1]), O(operand[2]), O(operand[3]),
					   O(operand[4]), O(operand[5]), O(operand[6]), O(operand[7]) };

NATIVE_KERNEL(dnn, dnn_run)

static void make_conv(void *to, const struct plain *p)
{
	struct dnn_work *w = to;
	struct dnn_conv_work *c = &w->conv;
	int32_t groups = 1 + (int32_t)(p->more % 2);

	*w = (struct dnn_work){ .kernel = p->choice % 3,
				.wide = p->type == 1,
				.dim = { 1 + p->m % 3, 2 * groups, 1, 4 + p->n % 4, 4 + p->k % 4 },
				.scalar = { 1, p->more & 4 } };
	c->groups = groups;
	c->w_dim[0] = 2 * groups;
	c->w_dim[1] = 2;
	c->y_dim[0] = w->dim[0];
	c->y_dim[1] = c->w_dim[0];
	for (int i = 0; i < DNN_SPATIAL; i++) {
		c->w_dim[2 + i] = i ? 1 + p->m % 3 : 1;
		c->stride[i] = 1 + (int32_t)(p->more >> 3 & 1);
		c->dilation[i] = 1;
		c->pad[i] = i ? (int32_t)(p->more >> 4 & 1) : 0;
		c->y_dim[2 + i] = (w->dim[2 + i] + 2 * c->pad[i] - c->w_dim[2 + i]) / c->stride[i] + 1;
	}
	c->flip = (uint8_t)(p->more >> 7);
	c->x = packed(0, w->dim, type_of(p));
	c->w = packed(1, c->w_dim, type_of(p));
	c->y = packed(2, c->y_dim, type_of(p));
}

#define EACH_OF(member) W(member[0]), W(member[1]), W(member[2])
#define DIMS(member) EACH_OF(member), W(member[3]), W(member[4])
static const struct field conv_fields[] = {
	HEAD,
	O(conv.x),
	O(conv.w),
	O(conv.y),
	DIMS(conv.w_dim),
	DIMS(conv.y_dim),
	EACH_OF(conv.pad),
	EACH_OF(conv.stride),
	EACH_OF(conv.dilation),
	W(conv.groups),
	W(conv.flip),
};

NATIVE_KERNEL(conv, dnn_run)

static void make_pool(void *to, const struct plain *p)
{
	struct dnn_work *w = to;
	struct dnn_pool_work *o = &w->pool;

	*w = (struct dnn_work){ .kernel = p->choice % 2 ? DNN_POOL : DNN_POOL_BACK,
				.mode = (uint16_t)(p->more % 3),
				.wide = p->type == 1,
				.dim = { 1 + p->m % 3, 2, 1, 2 + p->n % 6, 2 + p->k % 6 },
				.scalar = { 1, p->more & 4 } };
	o->y_dim[0] = w->dim[0];
	o->y_dim[1] = w->dim[1];
	for (int i = 0; i < DNN_SPATIAL; i++) {
		o->window[i] = i ? 2 : 1;
		o->stride[i] = 1 + (int32_t)(p->more >> 3 & 1);
		o->y_dim[2 + i] = (w->dim[2 + i] - o->window[i]) / o->stride[i] + 1;
	}
	o->x = packed(0, w->dim, type_of(p));
	o->y = packed(1, o->y_dim, type_of(p));
	o->dx = packed(2, w->dim, type_of(p));
	o->dy = packed(1, o->y_dim, type_of(p));
	if (w->kernel == DNN_POOL)
		o->dx.at = o->dy.at = 0;
}

static const struct field pool_fields[] = { HEAD,
					    O(pool.x),
					    O(pool.y),
					    O(pool.dx),
					    O(pool.dy),
					    DIMS(pool.y_dim),
					    EACH_OF(pool.window),
					    EACH_OF(pool.pad),
					    EACH_OF(pool.stride) };

NATIVE_KERNEL(pool, dnn_run)

static void make_rnn(void *to, const struct plain *p)
{
	static const uint8_t gates[] = { 1, 1, 4, 3 };
	struct dnn_work *w = to;
	struct dnn_rnn_work *r = &w->rnn;
	uint64_t *at = &r->gates;

	*w = (struct dnn_work){ .kernel = DNN_RNN + p->choice % 3,
				.mode = (uint16_t)(p->choice / 3 % 4),
				.wide = p->type == 1,
				.dim = { 1 + p->m % 4, 1 + p->n % 4, 1 + p->k % 6, gates[p->choice / 3 % 4], 1 } };
	for (unsigned int i = 0; i < 15; i++)
		at[i] = address(i % 3, 64 * i);
	r->lengths = p->more & 1 ? address(1, 8192) : 0;
	r->rows = w->dim[0] * w->dim[1];
	r->stride = r->y_stride = w->dim[2];
	r->type = r->y_type = type_of(p);
	r->layout = (uint8_t)(p->more >> 1) % 3;
	r->reverse = (uint8_t)(p->more >> 4) & 1;
}

static const struct field rnn_fields[] = {
	HEAD,		W(rnn.gates),	      W(rnn.hidden),	W(rnn.cell),   W(rnn.before),	      W(rnn.out),
	W(rnn.y),	W(rnn.first_h),	      W(rnn.first_c),	W(rnn.last_h), W(rnn.last_c),	      W(rnn.given_c),
	W(rnn.slopes),	W(rnn.slopes_hidden), W(rnn.recurrent), W(rnn.bias),   W(rnn.bias_recurrent), W(rnn.lengths),
	W(rnn.rows),	W(rnn.stride),	      W(rnn.y_stride),	W(rnn.type),   W(rnn.y_type),	      W(rnn.layout),
	W(rnn.reverse),
};

NATIVE_KERNEL(rnn, dnn_run)
