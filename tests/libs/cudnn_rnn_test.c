/*
 * cudnn_rnn_test.c: recurrent networks of cuDNN against a plain loop in double, and their gradients against differences
 * of that loop: all cells, biases, directions and layouts, sequences of different lengths; dropout; captured; and what
 * is refused.
 */
#include "libs/cudnn_graphs.h"

enum { IMAGES = 3, STEPS = 4, INPUT = 3, HIDDEN = 5, LAYERS = 2, WEIGHTS_MOST = 1600, NUMBERS_MOST = 256 };

struct network {
	cudnnRNNMode_t mode;
	cudnnRNNBiasMode_t bias;
	cudnnRNNDataLayout_t layout;
	bool both, even;
	cudnnDataType_t type;
	float dropped;
	cudnnRNNDescriptor_t d;
	cudnnRNNDataDescriptor_t xd, yd;
	cudnnTensorDescriptor_t state;
	cudnnDropoutDescriptor_t dropout;
	CUdeviceptr dropout_states;
	int dirs, gates, rows, length[IMAGES], weights;
	/* where each layer's weights are in w: [layer][direction][matrix or bias of the input or recurrent][gate], or
	 * -1 */
	int place[LAYERS][2][2][2][4];
	double x[STEPS * IMAGES * INPUT], w[WEIGHTS_MOST], h[LAYERS * 2 * IMAGES * HIDDEN],
		c[LAYERS * 2 * IMAGES * HIDDEN];
	double gy[STEPS * IMAGES * HIDDEN * 2], gh[LAYERS * 2 * IMAGES * HIDDEN], gc[LAYERS * 2 * IMAGES * HIDDEN];
	/* results of the loop */
	double y[STEPS * IMAGES * HIDDEN * 2], hy[LAYERS * 2 * IMAGES * HIDDEN], cy[LAYERS * 2 * IMAGES * HIDDEN];
};

static int row_of(const struct network *n, int image, int step)
{
	int before = 0;

	if (n->layout == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED)
		return image * STEPS + step;
	if (n->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED)
		return step * IMAGES + image;
	for (int s = 0; s < step; s++)
		for (int i = 0; i < IMAGES; i++)
			before += s < n->length[i];
	return before + image;
}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

/* What one gate gets from a row of numbers: `which` 0 those of the input, 1 the recurrent ones. */
static double gate(const struct network *n, int layer, int dir, int which, int g, int k, const double *from, int count_)
{
	const int *place_ = n->place[layer][dir][0][which], *bias = n->place[layer][dir][1][which];
	double sum = bias[g] < 0 ? 0 : n->w[bias[g] + k];

	for (int i = 0; i < count_; i++)
		sum += n->w[place_[g] + k * count_ + i] * from[i];
	return sum;
}

static void cell(const struct network *n, int layer, int dir, const double *in, int inputs, double *h, double *c)
{
	double a[4][HIDDEN], b[4][HIDDEN];

	for (int g = 0; g < n->gates; g++)
		for (int k = 0; k < HIDDEN; k++) {
			a[g][k] = gate(n, layer, dir, 0, g, k, in, inputs);
			b[g][k] = gate(n, layer, dir, 1, g, k, h, HIDDEN);
		}
	for (int k = 0; k < HIDDEN; k++)
		switch (n->mode) {
		case CUDNN_RNN_RELU:
			h[k] = fmax(a[0][k] + b[0][k], 0);
			break;
		case CUDNN_RNN_TANH:
			h[k] = tanh(a[0][k] + b[0][k]);
			break;
		case CUDNN_LSTM:
			c[k] = sigmoid(a[1][k] + b[1][k]) * c[k] + sigmoid(a[0][k] + b[0][k]) * tanh(a[2][k] + b[2][k]);
			h[k] = sigmoid(a[3][k] + b[3][k]) * tanh(c[k]);
			break;
		default: {
			double r = sigmoid(a[0][k] + b[0][k]), z = sigmoid(a[1][k] + b[1][k]);

			h[k] = (1 - z) * tanh(a[2][k] + r * b[2][k]) + z * h[k];
		}
		}
}

/* The whole network; its value is the sum that the gradients are of. */
static double loop(struct network *n)
{
	static double in[STEPS * IMAGES * HIDDEN * 2], out[STEPS * IMAGES * HIDDEN * 2];
	int wide = HIDDEN * n->dirs;
	double sum = 0;

	for (int layer = 0; layer < LAYERS; layer++) {
		memset(out, 0, sizeof(out));
		for (int dir = 0; dir < n->dirs; dir++)
			for (int i = 0; i < IMAGES; i++) {
				int state = ((layer * n->dirs + dir) * IMAGES + i) * HIDDEN;
				double *h = &n->hy[state], *c = &n->cy[state];

				memcpy(h, &n->h[state], sizeof(double) * HIDDEN);
				memcpy(c, &n->c[state], sizeof(double) * HIDDEN);
				for (int s = 0; s < n->length[i]; s++) {
					int row = row_of(n, i, dir ? n->length[i] - 1 - s : s);

					cell(n, layer, dir, layer ? in + row * wide : n->x + row * INPUT,
					     layer ? wide : INPUT, h, c);
					memcpy(out + row * wide + dir * HIDDEN, h, sizeof(double) * HIDDEN);
				}
			}
		memcpy(in, out, sizeof(in));
	}
	memcpy(n->y, out, sizeof(out));
	for (int i = 0; i < n->rows * wide; i++)
		sum += out[i] * n->gy[i];
	for (int i = 0; i < LAYERS * n->dirs * IMAGES * HIDDEN; i++)
		sum += n->hy[i] * n->gh[i] + (n->mode == CUDNN_LSTM ? n->cy[i] * n->gc[i] : 0);
	return sum;
}

/* ---- the device ---- */

static size_t bytes_of(const struct network *n, int count_)
{
	return (size_t)count_ * (n->type == CUDNN_DATA_DOUBLE ? 8 : 4);
}

static CUdeviceptr put(const struct network *n, const double *value, int count_)
{
	static float narrow[WEIGHTS_MOST];
	CUdeviceptr memory;

	CU(cuMemAlloc(&memory, bytes_of(n, count_) + 8));
	for (int i = 0; value && i < count_; i++)
		narrow[i] = (float)value[i];
	if (value)
		CU(cuMemcpyHtoD(memory, n->type == CUDNN_DATA_DOUBLE ? (const void *)value : narrow,
				bytes_of(n, count_)));
	else
		CU(cuMemsetD8(memory, 0xff, bytes_of(n, count_))); /* NaN: what nobody writes is seen */
	return memory;
}

static void compare(const struct network *n, CUdeviceptr memory, const double *wanted, int count_, const char *what)
{
	static double wide[WEIGHTS_MOST];
	static float narrow[WEIGHTS_MOST];
	double off = 0, most = 1;

	CU(cuMemcpyDtoH(n->type == CUDNN_DATA_DOUBLE ? (void *)wide : narrow, memory, bytes_of(n, count_)));
	for (int i = 0; i < count_; i++) {
		double got = n->type == CUDNN_DATA_DOUBLE ? wide[i] : (double)narrow[i];

		most = fmax(most, fabs(wanted[i]));
		off = isnan(got) ? INFINITY : fmax(off, fabs(got - wanted[i]));
	}
	tap_ok(off < (n->type == CUDNN_DATA_DOUBLE ? 2e-8 : 1e-4) * most,
	       "cell %d, bias %d, layout %d, %s, %s: %s is off by %g", (int)n->mode, (int)n->bias, (int)n->layout,
	       n->both ? "both ways" : "one way", n->even ? "even" : "uneven", what, off);
}

/* Where the library wants each matrix and bias. */
static void places_find(struct network *n, CUdeviceptr space, size_t bytes)
{
	int each = (int)bytes_of(n, 1);
	cudnnTensorDescriptor_t m, b;
	void *matrix, *bias;

	GOOD(t.cudnnCreateTensorDescriptor(&m));
	GOOD(t.cudnnCreateTensorDescriptor(&b));
	for (int p = 0; p < LAYERS * n->dirs; p++)
		for (int id = 0; id < 2 * n->gates; id++) {
			int(*to)[2][4] = n->place[p / n->dirs][p % n->dirs];

			GOOD(t.cudnnGetRNNWeightParams(handle, n->d, p, bytes, at(space), id, m, &matrix, b, &bias));
			to[0][id / n->gates][id % n->gates] = (int)((char *)matrix - (char *)at(space)) / each;
			to[1][id / n->gates][id % n->gates] =
				bias ? (int)((char *)bias - (char *)at(space)) / each : -1;
		}
	is(t.cudnnGetRNNWeightParams(handle, n->d, LAYERS * n->dirs, bytes, at(space), 0, m, &matrix, b, &bias),
	   CUDNN_STATUS_BAD_PARAM);
	if (is_ours) { /* NVIDIA's own does not look at the size, and writes to NULL */
		is(t.cudnnGetRNNWeightParams(handle, n->d, 0, bytes - 1, at(space), 0, m, &matrix, b, &bias),
		   CUDNN_STATUS_BAD_PARAM);
		GOOD(t.cudnnGetRNNWeightParams(handle, n->d, 0, bytes, at(space), 0, m, NULL, b, NULL));
	}
	GOOD(t.cudnnDestroyTensorDescriptor(m));
	GOOD(t.cudnnDestroyTensorDescriptor(b));
}

static void network_begin(struct network *n)
{
	static const int uneven[] = { 4, 2, 1 };
	int state[3], stride[3];
	double fill = -7;
	float narrow = -7;
	size_t bytes;

	n->dirs = n->both ? 2 : 1;
	n->gates = n->mode == CUDNN_LSTM ? 4 : n->mode == CUDNN_GRU ? 3 : 1;
	n->rows = 0;
	for (int i = 0; i < IMAGES; i++) {
		n->length[i] = n->even ? STEPS : uneven[i];
		n->rows += n->length[i];
	}
	if (n->layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED)
		n->rows = STEPS * IMAGES;
	if (n->dropped > 0) {
		GOOD(t.cudnnCreateDropoutDescriptor(&n->dropout));
		GOOD(t.cudnnDropoutGetStatesSize(handle, &bytes));
		CU(cuMemAlloc(&n->dropout_states, bytes));
		GOOD(t.cudnnSetDropoutDescriptor(n->dropout, handle, n->dropped, at(n->dropout_states), bytes, 5));
	} else if (n->both) { /* as PyTorch says that nothing is dropped */
		GOOD(t.cudnnCreateDropoutDescriptor(&n->dropout));
		GOOD(t.cudnnSetDropoutDescriptor(n->dropout, handle, 0, NULL, 0, 0));
	}
	GOOD(t.cudnnCreateRNNDescriptor(&n->d));
	GOOD(t.cudnnSetRNNDescriptor_v8(n->d, CUDNN_RNN_ALGO_STANDARD, n->mode, n->bias,
					n->both ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT,
					n->type, n->type, CUDNN_FMA_MATH, INPUT, HIDDEN, HIDDEN, LAYERS, n->dropout,
					1 /* padded sequences */));
	GOOD(t.cudnnCreateRNNDataDescriptor(&n->xd));
	GOOD(t.cudnnCreateRNNDataDescriptor(&n->yd));
	GOOD(t.cudnnSetRNNDataDescriptor(n->xd, n->type, n->layout, STEPS, IMAGES, INPUT, n->length, NULL));
	GOOD(t.cudnnSetRNNDataDescriptor(n->yd, n->type, n->layout, STEPS, IMAGES, HIDDEN * n->dirs, n->length,
					 n->type == CUDNN_DATA_DOUBLE ? (void *)&fill : &narrow));
	GOOD(t.cudnnCreateTensorDescriptor(&n->state));
	state[0] = LAYERS * n->dirs;
	state[1] = IMAGES;
	state[2] = HIDDEN;
	stride[0] = IMAGES * HIDDEN;
	stride[1] = HIDDEN;
	stride[2] = 1;
	GOOD(t.cudnnSetTensorNdDescriptor(n->state, n->type, 3, state, stride));
	GOOD(t.cudnnGetRNNWeightSpaceSize(handle, n->d, &bytes));
	n->weights = (int)(bytes / bytes_of(n, 1));
	ok(n->weights <= WEIGHTS_MOST);
	places_find(n, 1 << 20, bytes);
	for (int i = 0; i < n->weights; i++)
		n->w[i] = random_number() * 0.6;
	for (int i = 0; i < STEPS * IMAGES * INPUT; i++)
		n->x[i] = random_number();
	for (int i = 0; i < STEPS * IMAGES * HIDDEN * 2; i++)
		n->gy[i] = random_number();
	for (int i = 0; i < LAYERS * 2 * IMAGES * HIDDEN; i++) {
		n->h[i] = random_number();
		n->c[i] = random_number();
		n->gh[i] = random_number();
		n->gc[i] = random_number();
	}
}

static void network_end(struct network *n)
{
	GOOD(t.cudnnDestroyRNNDescriptor(n->d));
	GOOD(t.cudnnDestroyRNNDataDescriptor(n->xd));
	GOOD(t.cudnnDestroyRNNDataDescriptor(n->yd));
	GOOD(t.cudnnDestroyTensorDescriptor(n->state));
	if (n->dropout)
		GOOD(t.cudnnDestroyDropoutDescriptor(n->dropout));
	if (n->dropout_states)
		cuMemFree(n->dropout_states);
}

/* The gradients of some numbers of the loop, by differences. */
static void differences(struct network *n, double *numbers, int count_, double *ret)
{
	for (int i = 0; i < count_; i++) {
		double was = numbers[i], up;

		numbers[i] = was + 1e-5;
		up = loop(n);
		numbers[i] = was - 1e-5;
		ret[i] = (up - loop(n)) / 2e-5;
		numbers[i] = was;
	}
}

/* Memory of a call. */
struct memory {
	CUdeviceptr x, y, h, c, hy, cy, w, work, reserve, dx, dy, dh, dc, gh, gc, dw;
	size_t work_bytes, reserve_bytes, weight_bytes;
};

static cudnnStatus_t forward(struct network *n, const struct memory *m, cudnnForwardMode_t mode)
{
	bool lstm = n->mode == CUDNN_LSTM;

	return t.cudnnRNNForward(handle, n->d, mode, NULL, n->xd, at(m->x), n->yd, at(m->y), n->state, at(m->h),
				 at(m->hy), n->state, lstm ? at(m->c) : NULL, lstm ? at(m->cy) : NULL, m->weight_bytes,
				 at(m->w), m->work_bytes, at(m->work), m->reserve_bytes, at(m->reserve));
}

/* The weights' gradient, set or added; NVIDIA's own adds only. */
static void backward_weights(struct network *n, const struct memory *m, cudnnWgradMode_t mode)
{
	if (mode == CUDNN_WGRAD_MODE_SET && !is_ours) {
		CU(cuMemsetD8(m->dw, 0, m->weight_bytes));
		mode = CUDNN_WGRAD_MODE_ADD;
	}
	GOOD(t.cudnnRNNBackwardWeights_v8(handle, n->d, mode, NULL, n->xd, at(m->x), n->state, at(m->h), n->yd,
					  at(m->y), m->weight_bytes, at(m->dw), m->work_bytes, at(m->work),
					  m->reserve_bytes, at(m->reserve)));
}

/* mete's leaves the reserve as the pass forward has made it; NVIDIA's own spends it. */
static void backward(struct network *n, const struct memory *m, cudnnWgradMode_t mode)
{
	bool lstm = n->mode == CUDNN_LSTM;

	GOOD(t.cudnnRNNBackwardData_v8(handle, n->d, NULL, n->yd, at(m->y), at(m->dy), n->xd, at(m->dx), n->state,
				       at(m->h), at(m->gh), at(m->dh), n->state, lstm ? at(m->c) : NULL,
				       lstm ? at(m->gc) : NULL, lstm ? at(m->dc) : NULL, m->weight_bytes, at(m->w),
				       m->work_bytes, at(m->work), m->reserve_bytes, at(m->reserve)));
	backward_weights(n, m, mode);
}

static void rooms(struct network *n, struct memory *m, cudnnForwardMode_t mode)
{
	GOOD(t.cudnnGetRNNTempSpaceSizes(handle, n->d, mode, n->xd, &m->work_bytes, &m->reserve_bytes));
	CU(cuMemAlloc(&m->work, m->work_bytes));
	CU(cuMemAlloc(&m->reserve, m->reserve_bytes + 8));
	CU(cuMemsetD8(m->work, 0xff, m->work_bytes));
	CU(cuMemsetD8(m->reserve, 0xff, m->reserve_bytes + 8));
}

static void memory_begin(struct network *n, struct memory *m)
{
	int states = LAYERS * n->dirs * IMAGES * HIDDEN, out = n->rows * HIDDEN * n->dirs;
	double x[STEPS * IMAGES * INPUT];

	/* steps that there are not hold NaN */
	for (int i = 0; i < n->rows * INPUT; i++)
		x[i] = NAN;
	for (int i = 0; i < IMAGES; i++)
		for (int s = 0; s < n->length[i]; s++)
			memcpy(x + row_of(n, i, s) * INPUT, n->x + row_of(n, i, s) * INPUT, sizeof(double) * INPUT);
	*m = (struct memory){ .x = put(n, x, n->rows * INPUT),
			      .y = put(n, NULL, out),
			      .h = put(n, n->h, states),
			      .c = put(n, n->c, states),
			      .hy = put(n, NULL, states),
			      .cy = put(n, NULL, states),
			      .w = put(n, n->w, n->weights),
			      .dx = put(n, NULL, n->rows * INPUT),
			      .dy = put(n, n->gy, out),
			      .dh = put(n, NULL, states),
			      .dc = put(n, NULL, states),
			      .gh = put(n, n->gh, states),
			      .gc = put(n, n->gc, states),
			      .dw = put(n, n->w, n->weights) };
	m->weight_bytes = bytes_of(n, n->weights);
}

static void memory_end(struct memory *m)
{
	CUdeviceptr *all = &m->x;

	for (size_t i = 0; i < 16; i++)
		if (all[i])
			cuMemFree(all[i]);
}

static void check_forward(struct network *n, struct memory *m)
{
	int states = LAYERS * n->dirs * IMAGES * HIDDEN, wide = HIDDEN * n->dirs;

	loop(n);
	for (int i = 0; i < IMAGES && n->layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED; i++)
		for (int s = n->length[i]; s < STEPS; s++)
			for (int k = 0; k < wide; k++)
				n->y[row_of(n, i, s) * wide + k] = -7;
	compare(n, m->y, n->y, n->rows * wide, "the result");
	compare(n, m->hy, n->hy, states, "the last state");
	if (n->mode == CUDNN_LSTM)
		compare(n, m->cy, n->cy, states, "the last cell");
}

static void test_network(struct network n, CUstream captured)
{
	static double wanted[WEIGHTS_MOST];
	int states;
	struct memory m;
	CUgraph graph;
	CUgraphExec ready;

	network_begin(&n);
	states = LAYERS * n.dirs * IMAGES * HIDDEN;
	memory_begin(&n, &m);
	rooms(&n, &m, CUDNN_FWD_MODE_INFERENCE);
	ok(!m.reserve_bytes);
	GOOD(forward(&n, &m, CUDNN_FWD_MODE_INFERENCE));
	check_forward(&n, &m);
	cuMemFree(m.work);
	cuMemFree(m.reserve);
	rooms(&n, &m, CUDNN_FWD_MODE_TRAINING);
	if (captured) {
		CU(cuCtxSynchronize());
		CU(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
		GOOD(t.cudnnSetStream(handle, (cudaStream_t)captured));
	}
	GOOD(forward(&n, &m, CUDNN_FWD_MODE_TRAINING));
	if (captured) {
		GOOD(t.cudnnSetStream(handle, NULL));
		CU(cuStreamEndCapture(captured, &graph));
		CU(cuGraphInstantiate(&ready, graph, 0));
		CU(cuGraphLaunch(ready, captured));
		CU(cuStreamSynchronize(captured));
		CU(cuGraphExecDestroy(ready));
		CU(cuGraphDestroy(graph));
	}
	check_forward(&n, &m);
	for (int again = 0; again < 2; again++) {
		if (again && !is_ours)
			GOOD(forward(&n, &m, CUDNN_FWD_MODE_TRAINING));
		backward(&n, &m, again ? CUDNN_WGRAD_MODE_SET : CUDNN_WGRAD_MODE_ADD);
	}
	differences(&n, n.x, n.rows * INPUT, wanted);
	compare(&n, m.dx, wanted, n.rows * INPUT, "the input's gradient");
	differences(&n, n.h, states, wanted);
	compare(&n, m.dh, wanted, states, "the first state's gradient");
	if (n.mode == CUDNN_LSTM) {
		differences(&n, n.c, states, wanted);
		compare(&n, m.dc, wanted, states, "the first cell's gradient");
	}
	differences(&n, n.w, n.weights, wanted);
	compare(&n, m.dw, wanted, n.weights, "the weights' gradient");
	if (!is_ours)
		GOOD(forward(&n, &m, CUDNN_FWD_MODE_TRAINING));
	backward(&n, &m, CUDNN_WGRAD_MODE_ADD);
	for (int i = 0; i < n.weights; i++)
		wanted[i] *= 2;
	compare(&n, m.dw, wanted, n.weights, "the weights' gradient, added");
	memory_end(&m);
	network_end(&n);
}

/* With all numbers between layers dropped, the last layer's input is nothing: the first one's weights have no gradient.
 */
static void test_dropout(void)
{
	static struct network n = {
		.mode = CUDNN_LSTM, .bias = CUDNN_RNN_DOUBLE_BIAS, .even = true, .type = CUDNN_DATA_DOUBLE, .dropped = 1
	};
	static double got[WEIGHTS_MOST];
	struct memory m;
	bool none = true, some = false;

	network_begin(&n);
	memory_begin(&n, &m);
	rooms(&n, &m, CUDNN_FWD_MODE_TRAINING);
	CU(cuMemsetD8(m.gh, 0, bytes_of(&n, LAYERS * IMAGES * HIDDEN)));
	CU(cuMemsetD8(m.gc, 0, bytes_of(&n, LAYERS * IMAGES * HIDDEN)));
	GOOD(forward(&n, &m, CUDNN_FWD_MODE_TRAINING));
	backward(&n, &m, CUDNN_WGRAD_MODE_SET);
	CU(cuMemcpyDtoH(got, m.dw, bytes_of(&n, n.weights)));
	for (int g = 0; g < 4; g++)
		for (int k = 0; k < HIDDEN * INPUT; k++) {
			none = none && got[n.place[0][0][0][0][g] + k] == 0;
			none = none && got[n.place[1][0][0][0][g] + k] == 0;
			some = some || got[n.place[1][0][0][1][g] + k] != 0;
		}
	tap_ok(none && some, "what is dropped has no gradient, and what is not has one");
	memory_end(&m);
	network_end(&n);
}

static void test_refused(void)
{
	static struct network n = {
		.mode = CUDNN_LSTM, .bias = CUDNN_RNN_DOUBLE_BIAS, .even = true, .type = CUDNN_DATA_FLOAT
	};
	static const int rising[] = { 1, 2, 3 }, long_[] = { 5, 2, 1 };
	cudnnRNNDataDescriptor_t bad;
	struct memory m;
	double low, high;
	cudnnRNNClipMode_t clip;

	network_begin(&n);
	memory_begin(&n, &m);
	rooms(&n, &m, CUDNN_FWD_MODE_TRAINING);
	GOOD(t.cudnnCreateRNNDataDescriptor(&bad));
	is(t.cudnnSetRNNDataDescriptor(bad, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, STEPS, IMAGES,
				       INPUT, rising, NULL),
	   CUDNN_STATUS_BAD_PARAM);
	is(t.cudnnSetRNNDataDescriptor(bad, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, STEPS, IMAGES,
				       INPUT, long_, NULL),
	   CUDNN_STATUS_BAD_PARAM);
	is(t.cudnnSetRNNDataDescriptor(bad, CUDNN_DATA_INT8, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, STEPS, IMAGES,
				       INPUT, n.length, NULL),
	   CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE);
	m.work_bytes--;
	REFUSED(forward(&n, &m, CUDNN_FWD_MODE_TRAINING), CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
	m.work_bytes++;
	m.reserve_bytes--;
	REFUSED(forward(&n, &m, CUDNN_FWD_MODE_TRAINING), CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
	m.reserve_bytes++;
	GOOD(t.cudnnRNNSetClip_v9(n.d, CUDNN_RNN_CLIP_MINMAX, -1, 1));
	GOOD(t.cudnnRNNGetClip_v9(n.d, &clip, &low, &high));
	ok(clip == CUDNN_RNN_CLIP_MINMAX && low == -1 && high == 1);
	if (is_ours)
		is(forward(&n, &m, CUDNN_FWD_MODE_TRAINING), CUDNN_STATUS_NOT_SUPPORTED);
	GOOD(t.cudnnRNNSetClip_v9(n.d, CUDNN_RNN_CLIP_NONE, 0, 0));
	GOOD(forward(&n, &m, CUDNN_FWD_MODE_TRAINING));
	is(t.cudnnSetRNNDescriptor_v8(n.d, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_NO_BIAS, CUDNN_UNIDIRECTIONAL,
				      CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, INPUT,
				      HIDDEN, HIDDEN - 1, LAYERS, NULL, 0),
	   CUDNN_STATUS_NOT_SUPPORTED);
	/* more weights than mete's numbers count */
	for (int i = 0; i < 2 && is_ours; i++) {
		size_t bytes = 0;

		GOOD(t.cudnnSetRNNDescriptor_v8(n.d, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_NO_BIAS,
						CUDNN_BIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
						CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, i ? INT32_MAX : 1, INT32_MAX,
						INT32_MAX, LAYERS, NULL, 0));
		is(t.cudnnGetRNNWeightSpaceSize(handle, n.d, &bytes), CUDNN_STATUS_NOT_SUPPORTED_SHAPE);
	}
	is(t.cudnnRNNForward(handle, NULL, CUDNN_FWD_MODE_TRAINING, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
			     NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL),
	   CUDNN_STATUS_BAD_PARAM);
	GOOD(t.cudnnDestroyRNNDataDescriptor(bad));
	memory_end(&m);
	network_end(&n);
}

int main(void)
{
	static const struct network some[] = {
		{ .mode = CUDNN_LSTM, .bias = CUDNN_RNN_NO_BIAS, .even = true },
		{ .mode = CUDNN_GRU, .bias = CUDNN_RNN_SINGLE_INP_BIAS, .even = true, .both = true },
		{ .mode = CUDNN_GRU, .bias = CUDNN_RNN_SINGLE_REC_BIAS },
		{ .mode = CUDNN_RNN_TANH, .bias = CUDNN_RNN_SINGLE_REC_BIAS, .both = true, .layout = 2 },
		{ .mode = CUDNN_LSTM, .bias = CUDNN_RNN_DOUBLE_BIAS, .both = true, .type = CUDNN_DATA_FLOAT },
		{ .mode = CUDNN_GRU,
		  .bias = CUDNN_RNN_DOUBLE_BIAS,
		  .type = CUDNN_DATA_FLOAT,
		  .layout = 1,
		  .both = true },
	};
	CUstream stream;

	cudnn_begin();
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int mode = 0; mode < 4; mode++)
		for (int layout = 0; layout < 3; layout++)
			test_network((struct network){ .mode = (cudnnRNNMode_t)mode,
						       .bias = CUDNN_RNN_DOUBLE_BIAS,
						       .layout = (cudnnRNNDataLayout_t)layout,
						       .both = (mode + layout) % 2,
						       .type = CUDNN_DATA_DOUBLE },
				     layout == 1 ? stream : NULL);
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
		struct network n = some[i];

		if (i < 4)
			n.type = CUDNN_DATA_DOUBLE;
		test_network(n, NULL);
	}
	test_dropout();
	test_refused();
	CU(cuStreamDestroy(stream));
	GOOD(t.cudnnDestroy(handle));
	return soft_end();
}
