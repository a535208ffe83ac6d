/* dnn_forged_test.c: cuDNN's kernels with any parameters: see forged.h. oneDNN computes convolutions where it is there.
 */
#include "tests/libs/forged.h"

#include "libs/cudnn/dnn.h"
#include "libs/cudnn/sampler.h"

#define ROUNDS 150000

union params {
	char bytes[DEVICE_PARAM_BYTES];
	struct dnn_work work;
};

uint32_t device_threads(void)
{
	return 4;
}

CUresult dnn_submit(const struct device_driver *driver, CUcontext context, cudaStream_t stream, struct dnn_work *work,
		    uint32_t blocks)
{
	return CUDA_ERROR_UNKNOWN;
}

bool dnn_handle_known(const void *handle)
{
	return false;
}

const struct device_driver *device_open(const char *library, const char *const *kernels, uint32_t count,
					soft_native_function f)
{
	return NULL;
}

CUresult device_context(CUcontext *ret)
{
	return CUDA_ERROR_UNKNOWN;
}

void library_refused(const char *title, const char *symbol)
{
}

static int64_t size(void)
{
	return forged_below(40) ? 1 + (int64_t)forged_below(5) : forged_number();
}

static void forge_operand(struct dnn_operand *o, const int64_t *dim)
{
	int64_t stride = 1;

	o->at = forged_address();
	o->type = forged_below(16) ? (uint8_t)(forged_below(4) ? 0 : 1) : (uint8_t)forged_below(26);
	o->is_value = !forged_below(30);
	for (int i = DNN_DIMS - 1; i >= 0; i--) {
		o->stride[i] = forged_below(80) ? stride : forged_number();
		stride *= dim[i] > 0 && dim[i] < 100 ? dim[i] : 1;
	}
}

static void forge_conv(struct dnn_work *w)
{
	struct dnn_conv_work *c = &w->conv;

	c->groups = forged_below(4) ? 1 : (int32_t)size();
	c->w_dim[0] = size() * (c->groups > 0 && c->groups < 9 ? c->groups : 1);
	c->w_dim[1] = c->groups > 0 ? w->dim[1] / c->groups : 1;
	c->y_dim[0] = w->dim[0];
	c->y_dim[1] = c->w_dim[0];
	for (int i = 0; i < DNN_SPATIAL; i++) {
		c->w_dim[2 + i] = size();
		c->pad[i] = forged_below(30) ? (int32_t)forged_below(3) : (int32_t)forged_number();
		c->stride[i] = forged_below(30) ? 1 + (int32_t)forged_below(2) : (int32_t)forged_number();
		c->dilation[i] = forged_below(30) ? 1 + (int32_t)forged_below(2) : (int32_t)forged_number();
		c->y_dim[2 + i] = size();
	}
	c->flip = (uint8_t)forged_below(2);
	for (int i = 0; i < DNN_DIMS; i++)
		if (!forged_below(60))
			c->y_dim[i] = forged_number();
	forge_operand(&c->x, w->dim);
	forge_operand(&c->w, c->w_dim);
	forge_operand(&c->y, c->y_dim);
	if (!forged_below(8))
		return;
	/* as most have it, so that something is executed */
	c->x.is_value = c->w.is_value = c->y.is_value = 0;
	w->wide = c->x.type == 1 || c->w.type == 1 || c->y.type == 1;
}

static void forge_pool(struct dnn_work *w)
{
	struct dnn_pool_work *p = &w->pool;

	p->y_dim[0] = w->dim[0];
	p->y_dim[1] = w->dim[1];
	for (int i = 0; i < DNN_SPATIAL; i++) {
		p->y_dim[2 + i] = size();
		p->window[i] = forged_below(30) ? (int32_t)size() : (int32_t)forged_number();
		p->pad[i] = forged_below(30) ? (int32_t)forged_below(3) : (int32_t)forged_number();
		p->stride[i] = forged_below(30) ? 1 + (int32_t)forged_below(2) : (int32_t)forged_number();
	}
	forge_operand(&p->x, w->dim);
	forge_operand(&p->dx, w->dim);
	forge_operand(&p->y, p->y_dim);
	forge_operand(&p->dy, p->y_dim);
}

/* Numbers in the memory that a kernel reads lengths, offsets and pages from. */
static void forge_words(struct dnn_operand *o)
{
	uint64_t at = o->at - (uint64_t)(uintptr_t)forged_memory;

	o->type = forged_below(40) ? CUDNN_DATA_INT32 : CUDNN_DATA_INT64;
	o->is_value = !forged_below(80);
	for (int i = 0; i < 16 && at <= FORGED_ALLOWED - 4 * (uint64_t)(i + 1); i++) {
		int32_t word = forged_below(20) ? (int32_t)forged_below(4) : (int32_t)forged_number();

		memcpy(forged_memory + at + 4 * i, &word, sizeof(word));
	}
	if (o->type == CUDNN_DATA_INT32 && forged_below(3))
		for (int i = 1; i < 8 && at <= FORGED_ALLOWED - 64; i++)
			*(int32_t *)(void *)(forged_memory + at + 4 * i) = i;
}

static void forge_counts(struct dnn_work *w)
{
	for (int i = MATMUL_M; i <= MATMUL_K; i++) {
		struct dnn_operand *o = &w->operand[i];

		if (forged_below(2))
			*o = (struct dnn_operand){ 0 };
		else
			forge_words(o);
		if (forged_below(20))
			o->stride[DNN_DIMS - 1] = o->stride[DNN_DIMS - 2] = 0;
	}
	w->more[0] = forged_below(20) ? (uint64_t)(1 + forged_below(5)) : w->more[0];
	w->operand[MATMUL_A].is_value = w->operand[MATMUL_B].is_value = 0;
}

static void forge_scores(struct dnn_work *w)
{
	struct dnn_operand *o = w->operand;

	w->axes = forged_below(40) ? 1u << (DNN_DIMS - 1) : w->axes;
	o[0].is_value = !forged_below(40);
	switch ((enum dnn_kernel)w->kernel) {
	case DNN_BAND:
		w->mode = forged_below(2) ? CUDNN_POINTWISE_LOGICAL_AND
					  : CUDNN_POINTWISE_CMP_EQ + (uint16_t)forged_below(7);
		for (int i = BAND_VALUE; i <= BAND_SHIFT; i++)
			if (forged_below(2))
				o[i] = (struct dnn_operand){ .is_value = (uint8_t)forged_below(2) };
		break;
	case DNN_SCORES:
		w->mode = !forged_below(40);
		for (int i = SCORES_STATS; i <= SCORES_SINK; i++)
			if (forged_below(2))
				o[i].at = 0;
		break;
	case DNN_RAGGED:
		w->mode = (uint16_t)forged_below(2);
		w->more[0] = forged_below(40) ? forged_below(DNN_DIMS - 1) : w->more[0];
		w->more[1] = forged_below(40) ? 1 + forged_below(3) : w->more[1];
		for (uint64_t i = 0; i < w->more[0] && i < DNN_DIMS && forged_below(40); i++)
			w->dim[i] = 1;
		if (w->more[0] < DNN_DIMS && forged_below(40))
			w->axes = (uint8_t)((1u << DNN_DIMS) - 1u - (1u << w->more[0]));
		o[RAGGED_Y].is_value = 0;
		forge_words(&o[RAGGED_OFFSETS]);
		break;
	default:
		w->mode = 0;
		w->dim[0] = forged_below(40) ? 1 : w->dim[0];
		w->more[0] = forged_below(40) ? 1 + forged_below(5) : w->more[0];
		w->more[1] = forged_below(40) ? 1 + forged_below(4) : w->more[1];
		forge_words(&o[PAGED_TABLE]);
		forge_words(&o[PAGED_LENGTH]);
		if (forged_below(3) == 0)
			o[PAGED_LENGTH].at = 0;
	}
}

static int64_t few(void)
{
	return forged_below(60) ? 1 + (int64_t)forged_below(4) : forged_number();
}

static void forge_rnn(struct dnn_work *w)
{
	static const uint8_t gates[] = { 1, 1, 4, 3 };
	static const uint8_t types[] = { CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16 };
	struct dnn_rnn_work *r = &w->rnn;
	uint64_t *address = &r->gates;
	struct dnn_operand lengths = { .at = forged_address() };
	uint64_t at = lengths.at - (uint64_t)(uintptr_t)forged_memory;

	if (w->kernel == DNN_WORDS) {
		w->more[0] = forged_address();
		w->more[1] = forged_below(30) ? forged_below(130) : (uint64_t)forged_number();
		return;
	}
	w->mode = (uint16_t)forged_below(forged_below(60) ? 4 : 400);
	for (int i = 0; i < 3; i++)
		w->dim[i] = few();
	w->dim[3] = w->mode < 4 && forged_below(60) ? gates[w->mode] : few();
	w->dim[4] = forged_below(60) ? 1 : few();
	w->wide = (uint8_t)forged_below(2);
	for (int i = 0; i < 16; i++)
		address[i] = forged_below(6) ? forged_address() & ~UINT64_C(63) : 0;
	r->rows = forged_below(60) ? 16 : forged_number();
	if (w->dim[0] > 0 && w->dim[0] < 9 && w->dim[1] > 0 && w->dim[1] < 9 && forged_below(60))
		r->rows = w->dim[0] * w->dim[1];
	r->stride = forged_below(60) ? 4 + (int64_t)forged_below(8) : forged_number();
	r->y_stride = forged_below(60) ? 4 + (int64_t)forged_below(8) : forged_number();
	r->type = forged_below(60) ? types[forged_below(4)] : (uint8_t)forged_below(40);
	r->y_type = forged_below(60) ? types[forged_below(4)] : (uint8_t)forged_below(40);
	r->layout = (uint8_t)forged_below(forged_below(60) ? 3 : 40);
	r->reverse = (uint8_t)forged_below(forged_below(60) ? 2 : 40);
	r->lengths = forged_below(2) ? 0 : lengths.at;
	for (int i = 0; r->lengths && i < 8 && at <= FORGED_ALLOWED - 4 * (uint64_t)(i + 1); i++) {
		int32_t word =
			(int32_t)(forged_below(30) ? (uint64_t)w->dim[1] - (uint64_t)i : (uint64_t)forged_number());

		word = word < 1 && forged_below(30) ? 1 : word;
		memcpy(forged_memory + at + 4 * i, &word, sizeof(word));
	}
}

static void forge_ctc(struct dnn_work *w)
{
	struct dnn_operand *o = w->operand;

	w->mode = (uint16_t)forged_below(2);
	w->axes = 1 << 2 | 1 << 4;
	for (int i = 0; i < DNN_DIMS; i++)
		w->dim[i] = i < 2 ? (forged_below(80) ? 1 : few()) : few();
	w->more[0] = forged_below(60) ? forged_below(4) : (uint64_t)forged_number();
	for (int i = 0; i < CTC_OPERANDS; i++) {
		int64_t stride = 1;

		o[i] = (struct dnn_operand){ .at = forged_address(),
					     .type = forged_below(80) ? CUDNN_DATA_FLOAT : (uint8_t)forged_below(26),
					     .is_value = !forged_below(80) };
		for (int k = DNN_DIMS - 1; k >= 0; k--) {
			o[i].stride[k] = forged_below(80) ? stride : forged_number();
			stride *= w->dim[k] > 0 && w->dim[k] < 100 ? w->dim[k] : 1;
		}
	}
	for (int i = CTC_LABELS; i <= CTC_INPUT_LENGTHS; i++) {
		o[i].at = (uint64_t)(uintptr_t)forged_memory + 64 * forged_below(64);
		forge_words(&o[i]);
	}
	if (!forged_below(4))
		o[CTC_GRADIENTS].at = 0;
}

static void forge_sampler(struct dnn_work *w)
{
	static const uint8_t types[] = { CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16 };
	int64_t dim[DNN_DIMS];

	w->mode = w->kernel == DNN_GRID ? (uint16_t)forged_below(2) : 0;
	for (int i = 0; i < DNN_DIMS; i++)
		w->dim[i] = i == 2 || (i == 1 && w->kernel == DNN_GRID) ? (forged_below(80) ? 1 : few()) : few();
	for (int i = 0; i < 2; i++)
		w->more[i] = (uint64_t)few();
	for (int i = SAMPLE_X; i <= SAMPLE_THETA; i++) {
		int64_t stride = 1;

		memcpy(dim, w->dim, sizeof(dim));
		for (int k = 0; i == SAMPLE_X && k < 2; k++)
			dim[3 + k] = (int64_t)w->more[k];
		w->operand[i] = (struct dnn_operand){ .at = forged_address() & ~UINT64_C(7),
						      .type = forged_below(80) ? types[forged_below(4)]
									       : (uint8_t)forged_below(26),
						      .is_value = !forged_below(80) };
		for (int k = DNN_DIMS - 1; k >= 0; k--) {
			w->operand[i].stride[k] = forged_below(80) ? stride : forged_number();
			stride *= dim[k] > 0 && dim[k] < 100 ? dim[k] : 1;
		}
	}
}

static void forge(struct dnn_work *w)
{
	w->kernel = (uint32_t)forged_below(DNN_KERNELS + 1);
	w->mode = forged_below(3) ? (uint16_t)forged_below(10) : (uint16_t)forged_below(1210);
	w->wide = (uint8_t)forged_below(2);
	w->axes = (uint8_t)forged_below(40);
	w->flag = (uint8_t)forged_below(2);
	w->more[0] = forged_below(2) ? (uint64_t)size() : forged_address();
	w->more[1] = forged_below(2) ? 0 : forged_address();
	for (int i = 0; i < DNN_DIMS; i++)
		w->dim[i] = size();
	for (int i = 0; i < 7; i++)
		w->scalar[i] = forged_below(20) ? (double)forged_below(3) : (double)forged_number();
	if (w->kernel <= DNN_CONV_FILTER)
		forge_conv(w);
	else if (w->kernel == DNN_POOL || w->kernel == DNN_POOL_BACK)
		forge_pool(w);
	else
		for (int i = 0; i < DNN_OPERANDS; i++)
			forge_operand(&w->operand[i], w->dim);
	if (w->kernel == DNN_MATMUL)
		forge_counts(w);
	if (w->kernel >= DNN_BAND && w->kernel <= DNN_PAGED)
		forge_scores(w);
	if (w->kernel == DNN_CTC)
		forge_ctc(w);
	if (w->kernel >= DNN_GRID && w->kernel <= DNN_SAMPLE_GRID)
		forge_sampler(w);
	if (w->kernel >= DNN_RNN && w->kernel <= DNN_WORDS)
		forge_rnn(w);
	if (w->kernel == DNN_RANDOM)
		w->operand[1].type = w->operand[2].type = forged_below(2) ? CUDNN_DATA_INT32 : CUDNN_DATA_INT64;
}

static struct dnn_operand operand_of_one(uint64_t from_end, uint8_t type)
{
	return (struct dnn_operand){ .at = (uint64_t)(uintptr_t)forged_memory + FORGED_ALLOWED - from_end,
				     .type = type };
}

static enum forged_end run_one(const struct dnn_work *w)
{
	union params p;

	memset(&p, 0, sizeof(p));
	p.work = *w;
	return forged_run(dnn_run, &p, 1, 900);
}

/* A seed of 1 byte at the end of the memory: a word there would be nobody's. */
static void test_words(void)
{
	struct dnn_work w = { .kernel = DNN_RANDOM, .dim = { 1, 1, 1, 1, 1 } };

	w.operand[0] = operand_of_one(8, CUDNN_DATA_FLOAT);
	for (int i = 1; i < 3; i++) {
		w.operand[1] = w.operand[2] = operand_of_one(8, CUDNN_DATA_INT64);
		tap_ok(run_one(&w) == FORGED_DONE, "words are taken");
		w.operand[i] = operand_of_one(1, CUDNN_DATA_INT8);
		tap_ok(run_one(&w) == FORGED_REFUSED, "word %d of a byte is none", i);
	}
}

/* An element that a matrix has often is not copied as often: the host's memory would be the client's. */
static void test_copies(void)
{
	struct dnn_work w = { .kernel = DNN_MATMUL, .dim = { 1, 1, 1, 1, 1 << 20 }, .more = { 1 } };

	for (int i = 0; i < 3; i++)
		w.operand[i] = operand_of_one(8, CUDNN_DATA_FLOAT);
	tap_ok(run_one(&w) == FORGED_REFUSED, "a row of one element is no matrix");
}

/* What the memory says of pages and offsets is believed by no kernel. */
static void test_told(void)
{
	struct dnn_work w = { .kernel = DNN_PAGED, .axes = 1 << 4, .dim = { 1, 1, 1, 1, 1 }, .more = { 1, 1 } };
	int32_t *words = (int32_t *)(void *)forged_memory;

	for (int i = 0; i < 3; i++)
		w.operand[i] = operand_of_one(8, CUDNN_DATA_FLOAT);
	w.operand[PAGED_TABLE] = (struct dnn_operand){ .at = (uint64_t)(uintptr_t)words, .type = CUDNN_DATA_INT32 };
	for (int page = -1; page < 2; page++) {
		words[0] = page;
		tap_ok(run_one(&w) == (page ? FORGED_REFUSED : FORGED_DONE), "page %d of one", page);
	}
	w = (struct dnn_work){ .kernel = DNN_RAGGED, .axes = 15 << 1, .dim = { 1, 1, 1, 1, 4 }, .more = { 0, 1 } };
	for (int i = 0; i < 3; i++)
		w.operand[i] = operand_of_one(64, CUDNN_DATA_FLOAT);
	w.operand[RAGGED_X].stride[4] = w.operand[RAGGED_Y].stride[4] = 1;
	w.operand[RAGGED_OFFSETS] = w.operand[0];
	w.operand[RAGGED_OFFSETS].at = (uint64_t)(uintptr_t)words;
	w.operand[RAGGED_OFFSETS].type = CUDNN_DATA_INT32;
	for (int way = 0; way < 2; way++) {
		static const int32_t ends[][3] = { { 0, 4, 1 }, { 4, 0, 0 }, { -1, 4, 0 }, { 14, 20, 0 }, { 0, 0, 1 } };

		w.mode = (uint16_t)way;
		for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
			memcpy(words, ends[i], 8);
			tap_ok(run_one(&w) == (ends[i][2] ? FORGED_DONE : FORGED_REFUSED), "an image from %d to %d",
			       ends[i][0], ends[i][1]);
		}
	}
}

/* An image of a ragged tensor that begins beyond the last address: at 0, where no operand lies. */
static void test_wrapped(void)
{
	static const int32_t ends[] = { 4, 8 };

	for (int way = 0; way < 2; way++) {
		struct dnn_work w = { .kernel = DNN_RAGGED,
				      .mode = (uint16_t)way,
				      .axes = 15 << 1,
				      .dim = { 1, 1, 1, 1, 4 },
				      .more = { 0, 1 } };
		struct dnn_operand *o = &w.operand[way ? RAGGED_Y : RAGGED_X];

		memcpy(forged_memory, ends, sizeof(ends));
		for (int i = 0; i < 3; i++)
			w.operand[i] = operand_of_one(64, CUDNN_DATA_FLOAT);
		w.operand[RAGGED_OFFSETS].at = (uint64_t)(uintptr_t)forged_memory;
		w.operand[RAGGED_OFFSETS].type = CUDNN_DATA_INT32;
		o->at = UINT64_MAX - 15;
		o->stride[4] = 1;
		tap_ok(run_one(&w) == FORGED_REFUSED, "an image at address 0, way %d", way);
	}
}

/* Rows of an image that has nothing are not walked through: there may be as many as numbers go. */
static void test_nothing(void)
{
	struct dnn_work w = { .kernel = DNN_RAGGED,
			      .mode = 1,
			      .axes = 15 << 1,
			      .dim = { 1, 1, 1, INT64_C(1) << 38, 2 },
			      .more = { 0, 1 } };

	memset(forged_memory, 0, 64);
	for (int i = 0; i < 3; i++)
		w.operand[i] = operand_of_one(64, CUDNN_DATA_FLOAT);
	w.operand[RAGGED_OFFSETS].at = (uint64_t)(uintptr_t)forged_memory;
	w.operand[RAGGED_OFFSETS].type = CUDNN_DATA_INT32;
	w.operand[RAGGED_Y].stride[3] = 1;
	w.operand[RAGGED_Y].stride[4] = 2;
	tap_ok(run_one(&w) == FORGED_DONE, "an image of nothing takes no time");
}

/* A step of many sequences is computed in parts, so that the device can stop it. */
static void test_parts(void)
{
	static const uint32_t kernels[] = { DNN_RNN, DNN_RNN_BACK };

	for (size_t k = 0; k < 2; k++) {
		struct dnn_work w = { .kernel = kernels[k], .mode = CUDNN_RNN_TANH, .dim = { 1024, 1, 8, 1, 1 } };
		uint64_t *address = &w.rnn.gates;

		memset(forged_memory, 0, FORGED_ALLOWED);
		for (int i = 0; i < 15; i++)
			address[i] = (uint64_t)(uintptr_t)forged_memory;
		w.wide = 1; /* oneDNN, which takes its time when it is opened, has no double */
		w.rnn.type = w.rnn.y_type = CUDNN_DATA_DOUBLE;
		w.rnn.rows = 1024;
		w.rnn.stride = w.rnn.y_stride = 8;
		tap_ok(run_one(&w) == FORGED_DONE, "kernel %u is executed", kernels[k]);
		tap_ok(forged_told <= 1024, "it is told of in parts: %llu instructions at once",
		       (unsigned long long)forged_told);
	}
}

/* Weights that are numbers of computing are not copied for every block: the host's memory would be the client's. */
static void test_weights(void)
{
	struct dnn_work w = { .kernel = DNN_RNN, .mode = CUDNN_RNN_TANH, .wide = 1, .dim = { 1, 1, 32, 1, 1 } };
	uint64_t *address = &w.rnn.gates;

	memset(forged_memory, 0, FORGED_ALLOWED);
	for (int i = 0; i < 16; i++)
		address[i] = (uint64_t)(uintptr_t)forged_memory;
	w.rnn.type = w.rnn.y_type = CUDNN_DATA_DOUBLE;
	w.rnn.rows = 1;
	w.rnn.stride = w.rnn.y_stride = 32;
	tap_ok(run_one(&w) == FORGED_DONE, "a network of one sequence is computed");
	tap_ok(forged_scratch.bytes < 2 * FORGED_PAGE, "in %zu bytes of the host's", forged_scratch.bytes);
}

/* However much is reduced to one element, the device is told of it, and can stop it. */
static void test_stopped(void)
{
	static const uint32_t kernels[] = { DNN_POINTWISE,    DNN_REDUCE, DNN_NORM,    DNN_NORM_DATA,
					    DNN_NORM_WEIGHTS, DNN_POOL,	  DNN_SOFTMAX, DNN_SOFTMAX_BACK,
					    DNN_RANDOM,	      DNN_BAND,	  DNN_SCORES };

	for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++)
		for (int axis = 0; axis < DNN_DIMS; axis += DNN_DIMS - 1) {
			struct dnn_work w = { .kernel = kernels[k],
					      .mode = kernels[k] == DNN_POINTWISE ? CUDNN_POINTWISE_ADD : 0,
					      .axes = (1u << DNN_DIMS) - 1,
					      .dim = { 1, 1, 1, 1, 1 },
					      .more = { kernels[k] == DNN_NORM_WEIGHTS ? (1u << DNN_DIMS) - 1 : 0 } };

			if (kernels[k] == DNN_POOL) {
				w.pool.x = w.pool.y = operand_of_one(8, CUDNN_DATA_FLOAT);
				for (int i = 0; i < DNN_DIMS; i++)
					w.pool.y_dim[i] = 1;
				for (int i = 0; i < DNN_SPATIAL; i++)
					w.pool.window[i] = w.pool.stride[i] = 1;
				w.pool.y_dim[axis ? axis : 2] = DNN_SIZE_MOST;
			} else {
				w.dim[axis] = DNN_SIZE_MOST;
				for (int i = 0; i < 6; i++)
					w.operand[i] = operand_of_one(8, CUDNN_DATA_FLOAT);
				w.operand[kernels[k] == DNN_RANDOM ? 2 : 6].at = 0;
				if (kernels[k] == DNN_RANDOM)
					w.operand[1].at = 0;
			}
			if (kernels[k] >= DNN_BAND) {
				w.axes = 1u << (DNN_DIMS - 1);
				w.mode = kernels[k] == DNN_BAND ? CUDNN_POINTWISE_CMP_GE : 0;
			}
			forged_goes_on = 3;
			tap_ok(run_one(&w) == FORGED_DONE && forged_goes_on < 0, "kernel %u over dimension %d ends",
			       kernels[k], axis);
			forged_goes_on = INT64_MAX;
		}
}

/* A launch of one that goes on for as long as it may ends when it is stopped, or is refused at once. */
static void stops(const struct dnn_work *w, const char *what)
{
	enum forged_end end;

	forged_goes_on = 3;
	end = run_one(w);
	tap_ok((end == FORGED_DONE && forged_goes_on < 0) || end == FORGED_REFUSED, "%s: it can be stopped", what);
	forged_goes_on = INT64_MAX;
}

/* The same element for a million million channels, and the other ways to have much to do of little memory. */
static void test_little(void)
{
	const struct dnn_work sampler = {
		.kernel = DNN_SAMPLE_GRID, .axes = 1u << 1 | 1u << 4, .dim = { 1, 1, 1, 1, 1 }, .more = { 2, 2 }
	};
	struct dnn_work w = sampler;

	memset(forged_memory, 0, FORGED_ALLOWED);
	for (int i = SAMPLE_X; i <= SAMPLE_THETA; i++)
		w.operand[i] = operand_of_one(64, CUDNN_DATA_FLOAT);
	w.operand[SAMPLE_X].stride[3] = 2;
	w.operand[SAMPLE_X].stride[4] = 1;
	w.dim[1] = INT64_C(1) << 37;
	stops(&w, "gradients of places over channels");
	for (uint32_t kernel = DNN_SAMPLE; kernel <= DNN_SAMPLE_DATA; kernel++) {
		w.kernel = kernel;
		w.axes = 1u << 3 | 1u << 4;
		w.dim[3] = 0;
		stops(&w, "planes without rows");
	}
	w = (struct dnn_work){
		.kernel = DNN_NORM_WEIGHTS, .axes = 3, .dim = { DNN_SIZE_MOST, 0, 1, 1, 1 }, .more = { 2 }
	};
	for (int i = 0; i < 7; i++)
		w.operand[i] = operand_of_one(64, CUDNN_DATA_FLOAT);
	stops(&w, "groups of nothing");
	for (int pass = 0; pass < 2; pass++) {
		w = (struct dnn_work){ .kernel = DNN_POOL, .dim = { 1, 1, 1, 1, 1 } };
		w.pool.x = w.pool.y = operand_of_one(64, CUDNN_DATA_FLOAT);
		for (int i = 0; i < DNN_DIMS; i++)
			w.pool.y_dim[i] = 1;
		for (int i = 0; i < DNN_SPATIAL; i++)
			w.pool.window[i] = w.pool.stride[i] = 1;
		(pass ? w.dim : w.pool.y_dim)[2] = (pass ? w.dim : w.pool.y_dim)[3] = 1 << 19;
		(pass ? w.dim : w.pool.y_dim)[4] = 0;
		stops(&w, pass ? "planes of rows without columns" : "results of rows without columns");
	}
}

int main(void)
{
	int escaped = 0, done[DNN_KERNELS + 1] = { 0 };

	tap_begin();
	forged_begin();
	test_words();
	test_copies();
	test_told();
	test_wrapped();
	test_nothing();
	test_parts();
	test_weights();
	test_stopped();
	test_little();
	for (int i = 0; i < ROUNDS; i++) {
		enum forged_end end;
		union params p;

		memset(&p, 0, sizeof(p));
		forge(&p.work);
		end = forged_any(dnn_run, &p);
		done[p.work.kernel] += end == FORGED_DONE;
		if ((end == FORGED_ESCAPED && escaped++ < 8) || end == FORGED_LONG)
			printf("# kernel %u, mode %u, round %d, end %d\n", p.work.kernel, p.work.mode, i, end);
	}
	tap_ok(!escaped, "%d of %d touch what they must not", escaped, ROUNDS);
	tap_ok(!forged_endless, "%d of %d cannot be stopped", forged_endless, ROUNDS);
	for (int k = 0; k < DNN_KERNELS; k++)
		tap_ok(done[k] > 20, "of kernel %d %d are executed", k, done[k]);
	return tap_end();
}
