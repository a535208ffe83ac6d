/*
 * cudnn_ctc_test.c: the CTC loss of cuDNN against the sum over all paths, and its gradient against differences of that:
 * labels in the program's memory and in the device's, both normalisations, samples that no path has; captured; refused.
 */
#include "libs/cudnn_graphs.h"

enum { STEPS = 5, IMAGES = 4, LABELS = 4, ALL = STEPS * IMAGES * LABELS };

static const int label_lengths[IMAGES] = { 2, 3, 0, 2 }, input_lengths[IMAGES] = { 5, 4, 3, 2 };
static const int labels[] = { 1, 2, 3, 3, 1, 2, 2 }; /* the last sample repeats a label: it would need 3 steps */

static double x[ALL];

/* Do the paths' labels, without repetitions and blanks, spell the sample's? */
static bool spells(const int *path, int steps, const int *wanted, int count_)
{
	int at_ = 0;

	for (int t_ = 0; t_ < steps; t_++) {
		if (!path[t_] || (t_ && path[t_] == path[t_ - 1]))
			continue;
		if (at_ == count_ || wanted[at_++] != path[t_])
			return false;
	}
	return at_ == count_;
}

/* Minus the logarithm of the sum over all paths; x are activations, or probabilities. */
static double loss_of(int image, bool softmax)
{
	double p[STEPS][LABELS], sum = 0;
	int path[STEPS] = { 0 }, from = 0, steps = input_lengths[image], paths = 1;

	for (int i = 0; i < image; i++)
		from += label_lengths[i];
	for (int s = 0; s < steps; s++) {
		double whole = 0;

		for (int k = 0; k < LABELS; k++)
			whole += exp(x[(s * IMAGES + image) * LABELS + k]);
		for (int k = 0; k < LABELS; k++)
			p[s][k] = softmax ? exp(x[(s * IMAGES + image) * LABELS + k]) / whole
					  : x[(s * IMAGES + image) * LABELS + k];
		paths *= LABELS;
	}
	for (int number = 0; number < paths; number++) {
		double product = 1;

		for (int s = 0, rest = number; s < steps; s++, rest /= LABELS) {
			path[s] = rest % LABELS;
			product *= p[s][path[s]];
		}
		if (spells(path, steps, labels + from, label_lengths[image]))
			sum += product;
	}
	return -log(sum);
}

static void normalise(void)
{
	for (int row = 0; row < STEPS * IMAGES; row++) {
		double sum = 0;

		for (int k = 0; k < LABELS; k++)
			sum += exp(x[row * LABELS + k]);
		for (int k = 0; k < LABELS; k++)
			x[row * LABELS + k] = exp(x[row * LABELS + k]) / sum;
	}
}

static CUdeviceptr put(const void *from, size_t bytes)
{
	CUdeviceptr memory;

	CU(cuMemAlloc(&memory, bytes));
	CU(cuMemcpyHtoD(memory, from, bytes));
	return memory;
}

struct memory {
	cudnnCTCLossDescriptor_t d;
	cudnnTensorDescriptor_t shape;
	CUdeviceptr x, costs, gradients, labels, label_lengths, input_lengths, work;
	size_t work_bytes;
};

static void memory_begin(struct memory *m)
{
	int dim[] = { STEPS, IMAGES, LABELS }, stride[] = { IMAGES * LABELS, LABELS, 1 };
	float narrow[ALL];

	for (int i = 0; i < ALL; i++)
		narrow[i] = (float)x[i];
	*m = (struct memory){ .x = put(narrow, sizeof(narrow)),
			      .labels = put(labels, sizeof(labels)),
			      .label_lengths = put(label_lengths, sizeof(label_lengths)),
			      .input_lengths = put(input_lengths, sizeof(input_lengths)) };
	CU(cuMemAlloc(&m->costs, sizeof(float) * IMAGES));
	CU(cuMemAlloc(&m->gradients, sizeof(narrow)));
	CU(cuMemsetD32(m->gradients, 0x40e00000, ALL)); /* 7 */
	GOOD(t.cudnnCreateCTCLossDescriptor(&m->d));
	GOOD(t.cudnnCreateTensorDescriptor(&m->shape));
	GOOD(t.cudnnSetTensorNdDescriptor(m->shape, CUDNN_DATA_FLOAT, 3, dim, stride));
}

static void memory_end(struct memory *m)
{
	CUdeviceptr all[] = { m->x, m->costs, m->gradients, m->labels, m->label_lengths, m->input_lengths, m->work };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		cuMemFree(all[i]);
	GOOD(t.cudnnDestroyCTCLossDescriptor(m->d));
	GOOD(t.cudnnDestroyTensorDescriptor(m->shape));
}

/*
 * Does NVIDIA's own tell something else of a sample or step? Of a sample without labels it says that it costs nothing,
 * and it leaves the gradients of steps behind a sample's last as they were.
 */
static bool differs(int image, int step)
{
	return !is_ours && (!label_lengths[image] || image == IMAGES - 1 || step >= input_lengths[image]);
}

/* `hopeless`: what the gradient of the sample is that no path has; 7 is what was there. */
static void check(struct memory *m, bool softmax, double hopeless)
{
	float costs[IMAGES], gradients[ALL];
	double off = 0;

	CU(cuMemcpyDtoH(costs, m->costs, sizeof(costs)));
	CU(cuMemcpyDtoH(gradients, m->gradients, sizeof(gradients)));
	for (int i = 0; i < IMAGES - 1; i++)
		if (!differs(i, 0))
			off = fmax(off, fabs((double)costs[i] - loss_of(i, softmax)));
	tap_ok(off < 1e-5, "losses are off by %g", off);
	ok(!is_ours || (isinf(costs[IMAGES - 1]) && costs[IMAGES - 1] > 0));
	off = 0;
	for (int i = 0; i < ALL; i++) {
		int image = i / LABELS % IMAGES, step = i / LABELS / IMAGES;
		double was = x[i], up, wanted;

		if (differs(image, step))
			continue;
		if (image == IMAGES - 1) {
			wanted = step < input_lengths[image] || hopeless == 7 ? hopeless : 0;
			off = isnan(wanted) ? (isnan(gradients[i]) ? off : 1)
					    : fmax(off, fabs((double)gradients[i] - wanted));
			continue;
		}
		x[i] = was + 1e-5;
		up = loss_of(image, softmax);
		x[i] = was - 1e-5;
		wanted = step < input_lengths[image] ? (up - loss_of(image, softmax)) / 2e-5 : 0;
		x[i] = was;
		off = fmax(off, fabs((double)gradients[i] - wanted));
	}
	tap_ok(off < 1e-4, "gradients are off by %g", off);
}

static void test_device(CUstream captured)
{
	struct memory m;
	CUgraph graph;
	CUgraphExec ready;

	memory_begin(&m);
	GOOD(t.cudnnSetCTCLossDescriptor_v9(m.d, CUDNN_DATA_FLOAT, CUDNN_LOSS_NORMALIZATION_SOFTMAX,
					    captured ? CUDNN_CTC_SKIP_OOB_GRADIENTS : CUDNN_CTC_ZERO_OOB_GRADIENTS, 4));
	GOOD(t.cudnnGetCTCLossWorkspaceSize_v8(handle, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, m.d, m.shape, m.shape,
					       &m.work_bytes));
	CU(cuMemAlloc(&m.work, m.work_bytes));
	if (captured) {
		CU(cuCtxSynchronize());
		CU(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
		GOOD(t.cudnnSetStream(handle, (cudaStream_t)captured));
	}
	GOOD(t.cudnnCTCLoss_v8(handle, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, m.d, m.shape, at(m.x), at(m.labels),
			       at(m.label_lengths), at(m.input_lengths), at(m.costs), m.shape, at(m.gradients),
			       m.work_bytes, at(m.work)));
	if (captured) {
		GOOD(t.cudnnSetStream(handle, NULL));
		CU(cuStreamEndCapture(captured, &graph));
		CU(cuGraphInstantiate(&ready, graph, 0));
		CU(cuGraphLaunch(ready, captured));
		CU(cuStreamSynchronize(captured));
		CU(cuGraphExecDestroy(ready));
		CU(cuGraphDestroy(graph));
	}
	check(&m, true, captured ? 7 : 0);
	LATER(t.cudnnCTCLoss_v8(handle, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, m.d, m.shape, at(m.x), at(m.labels),
				at(m.label_lengths), at(m.input_lengths), at(m.costs), m.shape, at(m.gradients),
				m.work_bytes - 1, at(m.work)),
	      CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
	memory_end(&m);
}

static void test_program(bool softmax, cudnnNanPropagation_t nan)
{
	struct memory m;
	int bad[] = { 1, 2, 3, 3, LABELS, 2, 2 }, large[] = { 1, 1, (1 << 22) + 1 },
	    large_stride[] = { large[2], large[2], 1 };
	size_t bytes;

	memory_begin(&m);
	GOOD(t.cudnnSetCTCLossDescriptorEx(m.d, CUDNN_DATA_FLOAT,
					   softmax ? CUDNN_LOSS_NORMALIZATION_SOFTMAX : CUDNN_LOSS_NORMALIZATION_NONE,
					   nan));
	GOOD(t.cudnnGetCTCLossWorkspaceSize(handle, m.shape, m.shape, labels, label_lengths, input_lengths,
					    CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC, m.d, &m.work_bytes));
	CU(cuMemAlloc(&m.work, m.work_bytes));
	GOOD(t.cudnnCTCLoss(handle, m.shape, at(m.x), labels, label_lengths, input_lengths, at(m.costs), m.shape,
			    at(m.gradients), CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC, m.d, at(m.work), m.work_bytes));
	check(&m, softmax, nan == CUDNN_PROPAGATE_NAN ? NAN : 0);
	REFUSED(t.cudnnSetCTCLossDescriptor(m.d, CUDNN_DATA_HALF), CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE);
	if (!is_ours) { /* NVIDIA's own looks neither at labels nor at how many there are */
		memory_end(&m);
		return;
	}
	is(t.cudnnCTCLoss(handle, m.shape, at(m.x), bad, label_lengths, input_lengths, at(m.costs), m.shape,
			  at(m.gradients), CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC, m.d, at(m.work), m.work_bytes),
	   CUDNN_STATUS_BAD_PARAM);
	/* a step's numbers are in each thread of the device, in memory that no quota counts */
	GOOD(t.cudnnSetTensorNdDescriptor(m.shape, CUDNN_DATA_FLOAT, 3, large, large_stride));
	is(t.cudnnGetCTCLossWorkspaceSize_v8(handle, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, m.d, m.shape, NULL, &bytes),
	   CUDNN_STATUS_NOT_SUPPORTED_SHAPE);
	memory_end(&m);
}

/* A label that there is not, in the device's memory, is the launch's fault. */
static void test_wrong(void)
{
	struct memory m;
	const int32_t bad = 1 << 30;

	memory_begin(&m);
	CU(cuMemcpyHtoD(m.labels, &bad, sizeof(bad)));
	GOOD(t.cudnnSetCTCLossDescriptor_v8(m.d, CUDNN_DATA_FLOAT, CUDNN_LOSS_NORMALIZATION_SOFTMAX,
					    CUDNN_NOT_PROPAGATE_NAN, 4));
	GOOD(t.cudnnGetCTCLossWorkspaceSize_v8(handle, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, m.d, m.shape, NULL,
					       &m.work_bytes));
	CU(cuMemAlloc(&m.work, m.work_bytes));
	t.cudnnCTCLoss_v8(handle, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, m.d, m.shape, at(m.x), at(m.labels),
			  at(m.label_lengths), at(m.input_lengths), at(m.costs), NULL, NULL, m.work_bytes, at(m.work));
	tap_ok(cuCtxSynchronize() != CUDA_SUCCESS, "a label that there is not is the launch's fault");
	memory_end(&m);
}

int main(void)
{
	CUstream stream;

	cudnn_begin();
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < ALL; i++)
		x[i] = random_number() * 2;
	test_device(NULL);
	test_device(stream);
	test_program(true, CUDNN_NOT_PROPAGATE_NAN);
	test_program(true, CUDNN_PROPAGATE_NAN);
	normalise();
	test_program(false, CUDNN_NOT_PROPAGATE_NAN);
	CU(cuStreamDestroy(stream));
	test_wrong();
	tap_ok(!t.cudnnDestroy(handle) || !is_ours, "the handle's end"); /* NVIDIA's own tells of the context's fault */
	return soft_end();
}
