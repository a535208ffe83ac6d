/*
 * rnn_call.c: how a call of cuDNN's recurrent networks becomes kernels.
 *
 * For each layer and direction a product computes what the inputs add to the gates of all steps, and a kernel goes
 * through the steps (recurrent.c). Gradients are a kernel that goes back through them, and products. Between the calls
 * of a step of training the reserve has what a later call needs; its layout is this file's.
 *
 * The reserve and the workspace are the program's memory. Gradients do not overwrite what the forward call has written,
 * so a gradient may be computed twice.
 */
#include "libs/cudnn/older.h"
#include "libs/cudnn/rnn.h"

#include <float.h>
#include <string.h>

#define ALIGNMENT 256

/* Everything of a call; places in the reserve and the workspace are bytes from their beginnings. */
struct call {
	cudnnHandle_t handle;
	const struct cudnnRNNStruct *d;
	const struct cudnnRNNDataStruct *x;
	bool training, wide, dropped;
	int dirs, gates;
	unsigned int number; /* the type of computing */
	int64_t rows, steps, images, each;
	/* in the reserve (or, of an inference, the workspace) */
	int64_t gates_at, hidden_at, cell_at, before_at, out_at, kept_at, slopes_at, slopes_hidden_at, reserve;
	/* in the workspace */
	int64_t lengths_at, input_at, down_at, more_at, own, workspace;
	uint64_t kept, work; /* addresses of both */
	uint64_t lengths;
	cudnnStatus_t status;
};

static int64_t room(int64_t *end, int64_t bytes)
{
	int64_t at = *end;

	*end += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	return at;
}

/* Sizes stay within 2^40 elements each: there is no overflow. */
static cudnnStatus_t call_begin(struct call *c, cudnnHandle_t handle, cudnnRNNDescriptor_t d,
				cudnnRNNDataDescriptor_t x, bool training)
{
	cudnnStatus_t status = rnn_check(handle, d);
	int64_t layers, matrix, line, total = 0;
	int slots;

	*c = (struct call){ .handle = handle, .d = d, .x = x, .training = training };
	if (status)
		return status;
	if (!IS(x, RNN_DATA) || !x->length || x->wide != d->input_size || x->type != d->type)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM,
				"sequences that are not set, or are not those of the recurrent network");
	c->dirs = rnn_directions(d);
	c->gates = rnn_gates(d);
	c->wide = d->type == CUDNN_DATA_DOUBLE;
	c->number = c->wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
	c->each = c->wide ? 8 : 4;
	c->steps = x->steps;
	c->images = x->images;
	for (int i = 0; i < x->images; i++)
		total += x->length[i];
	c->rows = x->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED ? total : c->steps * c->images;
	if (x->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED)
		c->steps = x->length[0];
	if (c->steps * c->images > DNN_SIZE_MOST / (c->gates * (int64_t)d->hidden) ||
	    c->rows > DNN_SIZE_MOST / d->input_size)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "a recurrent network over 2^40 numbers");
	layers = (int64_t)d->layers * c->dirs;
	slots = training ? (int)layers : 1; /* an inference keeps one layer's numbers */
	line = c->rows * d->hidden * c->each;
	matrix = line * c->gates;
	c->gates_at = room(&c->reserve, matrix * slots);
	c->hidden_at = room(&c->reserve, training && d->mode == CUDNN_GRU ? line * slots : 0);
	c->cell_at = room(&c->reserve, d->mode == CUDNN_LSTM ? line * slots : 0);
	c->before_at = room(&c->reserve, training ? line * slots : 0);
	c->out_at = room(&c->reserve, line * (training ? layers : 2 * c->dirs));
	c->kept_at = room(&c->reserve, training ? c->rows * d->hidden * layers : 0);
	c->slopes_at = room(&c->reserve, training ? matrix * slots : 0);
	c->slopes_hidden_at = room(&c->reserve, training && d->mode == CUDNN_GRU ? line * slots : 0);
	c->lengths_at = room(&c->workspace, 4 * c->images);
	c->input_at = room(&c->workspace, c->rows * d->input_size * c->each);
	c->down_at = room(&c->workspace, line * c->dirs);
	c->more_at = room(&c->workspace, c->rows * d->input_size * c->each);
	c->own = c->workspace;
	if (!training) { /* all in the workspace */
		c->workspace += c->reserve;
		c->reserve = 0;
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
					     cudnnForwardMode_t fwdMode, cudnnRNNDataDescriptor_t xDesc,
					     size_t *workSpaceSize, size_t *reserveSpaceSize)
{
	struct call c;
	cudnnStatus_t status = call_begin(&c, handle, rnnDesc, xDesc, fwdMode == CUDNN_FWD_MODE_TRAINING);

	if (status)
		return status;
	GIVE(workSpaceSize, (size_t)c.workspace);
	GIVE(reserveSpaceSize, (size_t)c.reserve);
	return CUDNN_STATUS_SUCCESS;
}

static void launch(struct call *c, cudnnStatus_t status, struct dnn_work *work)
{
	if (!c->status)
		c->status = status;
	if (!c->status)
		c->status = dnn_launch(c->handle, work);
}

/* A matrix by rows; `turned`: stored the other way round, as `rows` columns. */
static struct dnn_tensor matrix(unsigned int type, uint64_t at, int64_t rows, int64_t columns, int64_t stride,
				bool turned)
{
	return (struct dnn_tensor){ .at = at,
				    .type = (uint8_t)type,
				    .rank = 3,
				    .dim = { 1, rows, columns },
				    .stride = { rows * columns, turned ? 1 : stride, turned ? stride : 1 } };
}

static void multiply(struct call *c, struct dnn_tensor a, struct dnn_tensor b, struct dnn_tensor to, double blend)
{
	static const struct dnn_tensor *const none[3];
	struct dnn_work work;
	cudnnStatus_t status = lower_matmul(&work, &a, &b, &to, none, 0);

	work.scalar[MATMUL_BLEND] = blend;
	work.wide = c->wide;
	launch(c, status, &work);
}

static void point(struct call *c, unsigned int mode, struct dnn_tensor x, const struct dnn_tensor *b,
		  struct dnn_tensor y, double factor)
{
	const double scalar[8] = { factor, 1, 0, 0, DBL_MAX, 0, 0, 1 };
	struct dnn_work work;
	cudnnStatus_t status = lower_pointwise(&work, mode, &x, b, NULL, &y, scalar);

	launch(c, status, &work);
}

/* The lengths of the images where the kernels find them. */
static void lengths_put(struct call *c)
{
	if (c->x->even && c->x->layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED)
		return;
	c->lengths = c->work + (uint64_t)c->lengths_at;
	for (int64_t from = 0; from < c->images; from += DNN_WORDS_MOST) {
		int64_t count = c->images - from < DNN_WORDS_MOST ? c->images - from : DNN_WORDS_MOST;
		struct dnn_work work = { .kernel = DNN_WORDS,
					 .dim = { 1, 1, 1, 1, 1 },
					 .more = { c->lengths + 4 * (uint64_t)from, (uint64_t)count } };

		memcpy(work.words, c->x->length + from, 4 * (size_t)count);
		launch(c, CUDNN_STATUS_SUCCESS, &work);
	}
}

/* What all kernels of a layer are told. */
static struct dnn_work step_work(const struct call *c, enum dnn_kernel kernel, int64_t hidden)
{
	return (struct dnn_work){ .kernel = kernel,
				  .mode = (uint16_t)c->d->mode,
				  .wide = c->wide,
				  .axes = 30,
				  .dim = { c->images, c->steps, hidden, c->gates, 1 },
				  .rnn = { .lengths = c->lengths,
					   .rows = c->rows,
					   .type = (uint8_t)c->d->type,
					   .y_type = (uint8_t)c->d->type,
					   .layout = (uint8_t)c->x->layout } };
}

/* Steps that images do not have may be anything in the program's memory: products read zeros there. */
static struct dnn_tensor input_take(struct call *c, const void *x)
{
	int64_t wide = c->d->input_size;
	struct dnn_work work;

	if (c->x->even || c->x->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED)
		return matrix(c->d->type, (uint64_t)(uintptr_t)x, c->rows, wide, wide, false);
	work = step_work(c, DNN_RNN_TAKE, wide);
	work.rnn.y = (uint64_t)(uintptr_t)x;
	work.rnn.y_stride = work.rnn.stride = wide;
	work.rnn.out = c->work + (uint64_t)c->input_at;
	launch(c, CUDNN_STATUS_SUCCESS, &work);
	return matrix(c->number, work.rnn.out, c->rows, wide, wide, false);
}

static uint64_t place(const struct call *c, int64_t region, int64_t bytes, int pseudo)
{
	return c->kept + (uint64_t)region + (uint64_t)(c->training ? bytes * pseudo : 0);
}

/* Numbers of all rows of a layer in all directions. */
static uint64_t out_place(const struct call *c, int layer)
{
	int64_t bytes = c->rows * c->d->hidden * c->each * c->dirs;

	return c->kept + (uint64_t)c->out_at + (uint64_t)(bytes * (c->training ? layer : layer % 2));
}

/* Which numbers of a layer go on to the next; 1 or 0 in each byte. */
static struct dnn_tensor kept_of(const struct call *c, int layer)
{
	int64_t wide = (int64_t)c->d->hidden * c->dirs;

	return matrix(CUDNN_DATA_UINT8, c->kept + (uint64_t)(c->kept_at + layer * c->rows * wide), c->rows, wide, wide,
		      false);
}

static double keep_of(const struct call *c)
{
	double keep = 1;
	int64_t seed, offset;

	if (c->training && c->d->dropout)
		older_dropout(c->d->dropout, false, &keep, &seed, &offset);
	return keep;
}

/* Drops some of a layer's numbers, in their place. */
static void drop(struct call *c, int layer, struct dnn_tensor numbers)
{
	struct dnn_tensor kept = kept_of(c, layer), seed = { .by_value = true }, offset = { .by_value = true };
	double keep = keep_of(c);
	int64_t seed_word, offset_word;
	struct dnn_work work;

	if (keep >= 1 || !older_dropout(c->d->dropout, true, &keep, &seed_word, &offset_word))
		return;
	seed.value = (double)seed_word;
	offset.value = (double)offset_word;
	launch(c, lower_random(&work, &kept, &seed, &offset, keep, 1), &work);
	point(c, CUDNN_POINTWISE_MUL, numbers, &kept, numbers, keep > 0 ? 1 / keep : 0);
}

/* Addresses of a layer's weights in one direction. */
struct weights {
	uint64_t input, recurrent, bias, bias_recurrent;
};

static struct weights weights_of(const struct call *c, const void *space, int pseudo)
{
	const struct cudnnRNNStruct *d = c->d;
	uint64_t each = dnn_type_bytes(d->type), at = (uint64_t)(uintptr_t)space;
	uint64_t gates = (uint64_t)c->gates * (uint64_t)d->hidden;
	struct weights w = { .input = at + (uint64_t)rnn_matrices_at(d, pseudo) * each };
	uint64_t bias = at + (uint64_t)rnn_biases_at(d, pseudo) * each;

	w.recurrent = w.input + gates * (uint64_t)rnn_input(d, pseudo / c->dirs) * each;
	w.bias = rnn_has_bias(d, false) ? bias : 0;
	w.bias_recurrent = rnn_has_bias(d, true) ? bias + (w.bias ? gates * each : 0) : 0;
	return w;
}

/* A state of the program's, of one layer in one direction. */
static uint64_t state(const struct call *c, const void *at, int pseudo)
{
	uint64_t bytes = (uint64_t)(c->images * c->d->hidden) * dnn_type_bytes(c->d->type);

	return at ? (uint64_t)(uintptr_t)at + (uint64_t)pseudo * bytes : 0;
}

/* The program's memory for a call, and the bytes of each. */
struct rooms {
	size_t weights;
	const void *weight;
	size_t workspace;
	const void *work;
	size_t reserve;
	const void *kept;
};

/* States, or their gradients, before the first step and behind the last one; both may be NULL. */
struct states {
	cudnnTensorDescriptor_t desc;
	const void *first, *last;
	const char *what;
};

static cudnnStatus_t states_check(const struct call *c, const struct states *s)
{
	struct dnn_tensor t;

	if (!s->first && !s->last)
		return CUDNN_STATUS_SUCCESS;
	if (!dnn_tensor_of(s->desc, &t))
		return CUDNN_STATUS_BAD_PARAM;
	while (t.rank > 3 && t.dim[t.rank - 1] == 1) /* as frameworks fill up dimensions */
		t.rank--;
	if (t.rank != 3 || t.dim[0] != c->d->layers * c->dirs || t.dim[1] != c->images || t.dim[2] != c->d->hidden ||
	    t.type != c->d->type || t.stride[2] != 1 || t.stride[1] != t.dim[2] || t.stride[0] != t.dim[1] * t.dim[2])
		return dnn_fail(CUDNN_STATUS_BAD_PARAM,
				"%s of a recurrent network: (%d, %lld, %d) of its type, dense, is needed", s->what,
				c->d->layers * c->dirs, (long long)c->images, c->d->hidden);
	return CUDNN_STATUS_SUCCESS;
}

/* The result's sequences are those of the input. */
static cudnnStatus_t result_check(const struct call *c, cudnnRNNDataDescriptor_t y)
{
	const struct cudnnRNNDataStruct *x = c->x;

	if (!IS(y, RNN_DATA) || !y->length || y->type != x->type || y->layout != x->layout || y->steps != x->steps ||
	    y->images != x->images || y->wide != c->d->hidden * c->dirs ||
	    memcmp(y->length, x->length, sizeof(*y->length) * (size_t)x->images))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM,
				"sequences of a recurrent network's result that are not its own");
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t rooms_check(const struct call *c, const struct rooms *r)
{
	if (!r->weight || !r->work || (c->reserve && !r->kept))
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (r->weights < (size_t)rnn_weights_bytes(c->d) || r->workspace < (size_t)c->workspace ||
	    r->reserve < (size_t)c->reserve)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT,
				"a recurrent network needs %lld bytes of weights, %lld of workspace, %lld of reserve",
				(long long)rnn_weights_bytes(c->d), (long long)c->workspace, (long long)c->reserve);
	return CUDNN_STATUS_SUCCESS;
}

/*
 * What every call checks and does before its kernels. `given`: whether the data that it needs is there, which is
 * checked last.
 */
static cudnnStatus_t call_take(struct call *c, cudnnRNNDataDescriptor_t y, const struct states *hidden,
			       const struct states *cell, const struct rooms *rooms, bool given)
{
	cudnnStatus_t status = result_check(c, y);

	if (!status)
		status = states_check(c, hidden);
	if (!status && c->d->mode == CUDNN_LSTM)
		status = states_check(c, cell);
	if (!status)
		status = rooms_check(c, rooms);
	if (!status && !given)
		status = CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (status)
		return status;
	c->work = (uint64_t)(uintptr_t)rooms->work;
	c->kept = c->training ? (uint64_t)(uintptr_t)rooms->kept : c->work + (uint64_t)c->own;
	lengths_put(c);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnForwardMode_t fwdMode,
				   const int32_t *devSeqLengths, cudnnRNNDataDescriptor_t xDesc, const void *x,
				   cudnnRNNDataDescriptor_t yDesc, void *y, cudnnTensorDescriptor_t hDesc,
				   const void *hx, void *hy, cudnnTensorDescriptor_t cDesc, const void *cx, void *cy,
				   size_t weightSpaceSize, const void *weightSpace, size_t workSpaceSize,
				   void *workSpace, size_t reserveSpaceSize, void *reserveSpace)
{
	const struct rooms rooms = { weightSpaceSize, weightSpace,	workSpaceSize,
				     workSpace,	      reserveSpaceSize, reserveSpace };
	const struct states h = { hDesc, hx, hy, "hidden states" }, c_states = { cDesc, cx, cy, "cell states" };
	struct call c;
	cudnnStatus_t status = call_begin(&c, handle, rnnDesc, xDesc, fwdMode == CUDNN_FWD_MODE_TRAINING);
	struct dnn_tensor input;

	if (!status)
		status = call_take(&c, yDesc, &h, &c_states, &rooms, x && y);
	if (status)
		return status;
	input = input_take(&c, x);
	for (int layer = 0; layer < c.d->layers; layer++) {
		int64_t hidden = c.d->hidden, wide = hidden * c.dirs, all = c.gates * hidden,
			line = c.rows * hidden * c.each;
		bool last = layer == c.d->layers - 1;

		for (int dir = 0; dir < c.dirs; dir++) {
			int pseudo = layer * c.dirs + dir;
			struct weights w = weights_of(&c, weightSpace, pseudo);
			struct dnn_work work = step_work(&c, DNN_RNN, hidden);
			struct dnn_rnn_work *r = &work.rnn;

			r->gates = place(&c, c.gates_at, line * c.gates, pseudo);
			multiply(&c, input, matrix(c.d->type, w.input, input.dim[2], all, input.dim[2], true),
				 matrix(c.number, r->gates, c.rows, all, all, false), 0);
			r->hidden = c.training && c.d->mode == CUDNN_GRU ? place(&c, c.hidden_at, line, pseudo) : 0;
			r->cell = c.d->mode == CUDNN_LSTM ? place(&c, c.cell_at, line, pseudo) : 0;
			r->before = c.training ? place(&c, c.before_at, line, pseudo) : 0;
			r->out = out_place(&c, layer) + (uint64_t)(dir * hidden * c.each);
			r->stride = wide;
			r->y = last ? (uint64_t)(uintptr_t)y + (uint64_t)(dir * hidden * dnn_type_bytes(c.d->type)) : 0;
			r->y_stride = wide;
			r->first_h = state(&c, hx, pseudo);
			r->last_h = state(&c, hy, pseudo);
			r->first_c = c.d->mode == CUDNN_LSTM ? state(&c, cx, pseudo) : 0;
			r->last_c = c.d->mode == CUDNN_LSTM ? state(&c, cy, pseudo) : 0;
			r->recurrent = w.recurrent;
			r->bias = w.bias;
			r->bias_recurrent = w.bias_recurrent;
			r->reverse = (uint8_t)dir;
			work.scalar[0] = yDesc->fill;
			launch(&c, CUDNN_STATUS_SUCCESS, &work);
		}
		input = matrix(c.number, out_place(&c, layer), c.rows, wide, wide, false);
		if (!last)
			drop(&c, layer, input);
	}
	return c.status;
}

cudnnStatus_t soft_cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
					   const int32_t *devSeqLengths, cudnnRNNDataDescriptor_t yDesc, const void *y,
					   const void *dy, cudnnRNNDataDescriptor_t xDesc, void *dx,
					   cudnnTensorDescriptor_t hDesc, const void *hx, const void *dhy, void *dhx,
					   cudnnTensorDescriptor_t cDesc, const void *cx, const void *dcy, void *dcx,
					   size_t weightSpaceSize, const void *weightSpace, size_t workSpaceSize,
					   void *workSpace, size_t reserveSpaceSize, void *reserveSpace)
{
	const struct rooms rooms = { weightSpaceSize, weightSpace,	workSpaceSize,
				     workSpace,	      reserveSpaceSize, reserveSpace };
	const struct states h = { hDesc, dhy, dhx, "gradients of hidden states" },
			    c_states = { cDesc, cx ? cx : dcy, dcx, "cell states and their gradients" };
	struct call c;
	cudnnStatus_t status = call_begin(&c, handle, rnnDesc, xDesc, true);
	double keep;

	if (!status)
		status = call_take(&c, yDesc, &h, &c_states, &rooms, dy && dx);
	if (status)
		return status;
	keep = keep_of(&c);
	for (int layer = c.d->layers - 1; layer >= 0; layer--) {
		int64_t hidden = c.d->hidden, wide = hidden * c.dirs, all = c.gates * hidden,
			line = c.rows * hidden * c.each;
		int64_t in = rnn_input(c.d, layer);
		bool last = layer == c.d->layers - 1;
		/* of the numbers that the layer below gives, or of the program's */
		struct dnn_tensor below = layer ? matrix(c.number, c.work + (uint64_t)c.down_at, c.rows, in, in, false)
						: matrix(c.d->type, (uint64_t)(uintptr_t)dx, c.rows, in, in, false);
		/* two directions are added in numbers of computing */
		bool apart = c.dirs == 2 && below.type != c.number;
		struct dnn_tensor sum =
			apart ? matrix(c.number, c.work + (uint64_t)c.more_at, c.rows, in, in, false) : below;

		for (int dir = 0; dir < c.dirs; dir++) {
			int pseudo = layer * c.dirs + dir;
			struct weights w = weights_of(&c, weightSpace, pseudo);
			struct dnn_work work = step_work(&c, DNN_RNN_BACK, hidden);
			struct dnn_rnn_work *r = &work.rnn;

			r->gates = place(&c, c.gates_at, line * c.gates, pseudo);
			r->slopes = place(&c, c.slopes_at, line * c.gates, pseudo);
			r->before = place(&c, c.before_at, line, pseudo);
			if (c.d->mode == CUDNN_GRU) {
				r->hidden = place(&c, c.hidden_at, line, pseudo);
				r->slopes_hidden = place(&c, c.slopes_hidden_at, line, pseudo);
			}
			if (c.d->mode == CUDNN_LSTM) {
				r->cell = place(&c, c.cell_at, line, pseudo);
				r->given_c = state(&c, cx, pseudo);
				r->first_c = state(&c, dcx, pseudo);
				r->last_c = state(&c, dcy, pseudo);
			}
			r->first_h = state(&c, dhx, pseudo);
			r->last_h = state(&c, dhy, pseudo);
			r->y = last ? (uint64_t)(uintptr_t)dy : c.work + (uint64_t)c.down_at;
			r->y_type = (uint8_t)(last ? c.d->type : c.number);
			r->y += (uint64_t)(dir * hidden * dnn_type_bytes(r->y_type));
			r->y_stride = wide;
			r->stride = wide;
			r->recurrent = w.recurrent;
			r->reverse = (uint8_t)dir;
			launch(&c, CUDNN_STATUS_SUCCESS, &work);
		}
		/* all directions have read what `below` may take the place of */
		for (int dir = 0; dir < c.dirs; dir++) {
			int pseudo = layer * c.dirs + dir;
			struct weights w = weights_of(&c, weightSpace, pseudo);

			multiply(&c,
				 matrix(c.number, place(&c, c.slopes_at, line * c.gates, pseudo), c.rows, all, all,
					false),
				 matrix(c.d->type, w.input, all, in, in, false), sum, dir);
		}
		if (apart)
			point(&c, CUDNN_POINTWISE_IDENTITY, sum, NULL, below, 1);
		if (layer && keep < 1) {
			struct dnn_tensor kept = kept_of(&c, layer - 1);

			point(&c, CUDNN_POINTWISE_MUL, below, &kept, below, keep > 0 ? 1 / keep : 0);
		}
	}
	return c.status;
}

/* The gradient of one bias: the sum of those of all steps. */
static void bias_sum(struct call *c, uint64_t slopes, int64_t stride, uint64_t to, int64_t count, double blend)
{
	struct dnn_tensor x = matrix(c->number, slopes, c->rows, count, stride, false);
	struct dnn_tensor y = matrix(c->d->type, to, 1, count, count, false);
	struct dnn_work work;

	if (to)
		launch(c, lower_reduce(&work, CUDNN_REDUCE_TENSOR_ADD, &x, &y, 1, blend), &work);
}

cudnnStatus_t soft_cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
					      cudnnWgradMode_t addGrad, const int32_t *devSeqLengths,
					      cudnnRNNDataDescriptor_t xDesc, const void *x,
					      cudnnTensorDescriptor_t hDesc, const void *hx,
					      cudnnRNNDataDescriptor_t yDesc, const void *y, size_t weightSpaceSize,
					      void *dweightSpace, size_t workSpaceSize, void *workSpace,
					      size_t reserveSpaceSize, void *reserveSpace)
{
	const struct rooms rooms = { weightSpaceSize, dweightSpace,	workSpaceSize,
				     workSpace,	      reserveSpaceSize, reserveSpace };
	const struct states none = { .desc = NULL };
	struct call c;
	cudnnStatus_t status = call_begin(&c, handle, rnnDesc, xDesc, true);
	double blend = addGrad == CUDNN_WGRAD_MODE_ADD;
	struct dnn_tensor input;

	if (!status && (unsigned int)addGrad > CUDNN_WGRAD_MODE_SET)
		status = CUDNN_STATUS_BAD_PARAM;
	if (!status)
		status = call_take(&c, yDesc, &none, &none, &rooms, x);
	if (status)
		return status;
	input = input_take(&c, x);
	for (int layer = 0; layer < c.d->layers; layer++) {
		int64_t hidden = c.d->hidden, wide = hidden * c.dirs, all = c.gates * hidden,
			line = c.rows * hidden * c.each;
		/* gates whose recurrent part has the gradient of the whole */
		int64_t same = c.d->mode == CUDNN_GRU ? 2 * hidden : all;

		for (int dir = 0; dir < c.dirs; dir++) {
			int pseudo = layer * c.dirs + dir;
			struct weights w = weights_of(&c, dweightSpace, pseudo);
			uint64_t slopes = place(&c, c.slopes_at, line * c.gates, pseudo),
				 each = dnn_type_bytes(c.d->type);
			struct dnn_tensor before =
				matrix(c.number, place(&c, c.before_at, line, pseudo), c.rows, hidden, hidden, false);

			multiply(&c, matrix(c.number, slopes, all, c.rows, all, true), input,
				 matrix(c.d->type, w.input, all, input.dim[2], input.dim[2], false), blend);
			multiply(&c, matrix(c.number, slopes, same, c.rows, all, true), before,
				 matrix(c.d->type, w.recurrent, same, hidden, hidden, false), blend);
			bias_sum(&c, slopes, all, w.bias, all, blend);
			bias_sum(&c, slopes, all, w.bias_recurrent, same, blend);
			if (same == all)
				continue;
			slopes = place(&c, c.slopes_hidden_at, line, pseudo);
			multiply(&c, matrix(c.number, slopes, hidden, c.rows, hidden, true), before,
				 matrix(c.d->type, w.recurrent + (uint64_t)(same * hidden) * each, hidden, hidden,
					hidden, false),
				 blend);
			bias_sum(&c, slopes, hidden, w.bias_recurrent ? w.bias_recurrent + (uint64_t)same * each : 0,
				 hidden, blend);
		}
		input = matrix(c.number, out_place(&c, layer), c.rows, wide, wide, false);
	}
	return c.status;
}
