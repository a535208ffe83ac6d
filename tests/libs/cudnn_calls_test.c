/*
 * cudnn_calls_test.c: cuDNN of the software device against sums in double: convolutions and their gradients by the
 * older calls and by graphs, in several types and layouts; pools, softmax, normalisations, reductions, captured graphs,
 * wrong arguments. With METE_ONEDNN naming nothing the device's own loops compute.
 */
#include "libs/cudnn_graphs.h"

/* ---- convolutions ---- */

struct shape {
	const char *name;
	int spatial, images, channels, filters, groups, size[3], window[3], pad[3], stride[3], dilation[3];
	bool flip;
};

static const struct shape shapes[] = {
	{ "plain", 2, 3, 5, 7, 1, { 9, 8 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 } },
	{ "strided", 2, 2, 4, 18, 1, { 11, 9 }, { 3, 2 }, { 2, 0 }, { 2, 3 }, { 1, 1 } },
	{ "dilated", 2, 1, 3, 40, 1, { 12, 11 }, { 3, 3 }, { 2, 3 }, { 1, 2 }, { 2, 3 } },
	{ "in groups", 2, 2, 6, 9, 3, { 7, 7 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 } },
	{ "by channel", 2, 2, 8, 8, 8, { 6, 7 }, { 3, 3 }, { 1, 1 }, { 2, 1 }, { 1, 1 } },
	{ "pointwise", 2, 2, 33, 20, 1, { 4, 4 }, { 1, 1 }, { 0, 0 }, { 1, 1 }, { 1, 1 } },
	{ "padded far", 2, 2, 3, 4, 1, { 5, 4 }, { 2, 2 }, { 3, 2 }, { 1, 1 }, { 1, 2 } },
	{ "flipped", 2, 2, 3, 4, 1, { 6, 5 }, { 3, 2 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, true },
	{ "a volume", 3, 2, 3, 4, 1, { 5, 4, 6 }, { 2, 3, 3 }, { 1, 1, 0 }, { 1, 2, 1 }, { 1, 1, 1 } },
};

/* Adds x * w to y, or where `into` is 0 or 1 gradients of y to x or w. */
static void convolve(const struct shape *s, double *x, double *w, double *y, const int *out, int into)
{
	int in[3] = { 1, 1, 1 }, win[3] = { 1, 1, 1 }, o[3] = { 1, 1, 1 }, pad[3] = { 0 }, stride[3] = { 1, 1, 1 },
	    dilation[3] = { 1, 1, 1 }, each_in = s->channels / s->groups, each_out = s->filters / s->groups;

	for (int i = 0; i < s->spatial; i++) {
		int to = 3 - s->spatial + i;

		in[to] = s->size[i];
		win[to] = s->window[i];
		o[to] = out[2 + i];
		pad[to] = s->pad[i];
		stride[to] = s->stride[i];
		dilation[to] = s->dilation[i];
	}
	for (int k = 0; k < s->images * s->filters * o[0] * o[1] * o[2]; k++) {
		int v = k % o[2], h = k / o[2] % o[1], d = k / o[2] / o[1] % o[0], rest = k / o[2] / o[1] / o[0];
		int f = rest % s->filters, n = rest / s->filters;

		for (int q = 0; q < each_in * win[0] * win[1] * win[2]; q++) {
			int b = q % win[2], a = q / win[2] % win[1], e = q / win[2] / win[1] % win[0],
			    c = q / win[2] / win[1] / win[0];
			int at_d = d * stride[0] - pad[0] + e * dilation[0],
			    at_h = h * stride[1] - pad[1] + a * dilation[1],
			    at_v = v * stride[2] - pad[2] + b * dilation[2];
			int channel = f / each_out * each_in + c, xi, wi;

			if (at_d < 0 || at_d >= in[0] || at_h < 0 || at_h >= in[1] || at_v < 0 || at_v >= in[2])
				continue;
			xi = ((n * s->channels + channel) * in[0] + at_d) * in[1] * in[2] + at_h * in[2] + at_v;
			if (s->flip) {
				e = win[0] - 1 - e;
				a = win[1] - 1 - a;
				b = win[2] - 1 - b;
			}
			wi = ((f * each_in + c) * win[0] + e) * win[1] * win[2] + a * win[2] + b;
			if (into == 2)
				y[k] += x[xi] * w[wi];
			else if (into == 0)
				x[xi] += y[k] * w[wi];
			else
				w[wi] += y[k] * x[xi];
		}
	}
}

/* The first algorithm that the library names for these, and the room that it asks for. */
#define FIRST(call, type, ...)                                                                                         \
	({                                                                                                             \
		type first_[8];                                                                                        \
		int named_ = 0, of_ = 0;                                                                               \
		GOOD(t.call(handle, __VA_ARGS__, 8, &named_, first_));                                                 \
		while (of_ + 1 < named_ && first_[of_].status)                                                         \
			of_++;                                                                                         \
		tap_ok(named_ > 0 && !first_[of_].status, "%s names %d algorithms", #call, named_);                    \
		*bytes = first_[of_].memory;                                                                           \
		(int)first_[of_].algo;                                                                                 \
	})

static int algorithm_of(int into, const struct tensor *x, const struct tensor *w, const struct tensor *y,
			cudnnConvolutionDescriptor_t c, size_t *bytes)
{
	if (into == 2)
		return FIRST(cudnnGetConvolutionForwardAlgorithm_v7, cudnnConvolutionFwdAlgoPerf_t, x->descriptor,
			     w->filter, c, y->descriptor);
	if (into == 0)
		return FIRST(cudnnGetConvolutionBackwardDataAlgorithm_v7, cudnnConvolutionBwdDataAlgoPerf_t, w->filter,
			     y->descriptor, c, x->descriptor);
	return FIRST(cudnnGetConvolutionBackwardFilterAlgorithm_v7, cudnnConvolutionBwdFilterAlgoPerf_t, x->descriptor,
		     y->descriptor, c, w->filter);
}

static void test_convolution(const struct shape *s, cudnnDataType_t type, bool last, double alpha, double beta)
{
	static struct tensor x, w, y;
	static double sum[MOST], old[MOST];
	int rank = s->spatial + 2, x_dim[DIMS] = { s->images, s->channels },
	    w_dim[DIMS] = { s->filters, s->channels / s->groups }, y_dim[DIMS];
	cudnnConvolutionDescriptor_t c;
	float alpha_f = (float)alpha, beta_f = (float)beta;
	const void *a = type == CUDNN_DATA_DOUBLE ? (const void *)&alpha : &alpha_f,
		   *b = type == CUDNN_DATA_DOUBLE ? (const void *)&beta : &beta_f;
	size_t bytes = 1;
	CUdeviceptr room;
	int algorithm;

	for (int i = 0; i < s->spatial; i++) {
		x_dim[2 + i] = s->size[i];
		w_dim[2 + i] = s->window[i];
	}
	make(&x, type, last, rank, x_dim);
	make(&w, type, last, rank, w_dim);
	GOOD(t.cudnnCreateConvolutionDescriptor(&c));
	GOOD(t.cudnnSetConvolutionNdDescriptor(c, s->spatial, s->pad, s->stride, s->dilation,
					       s->flip ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION,
					       type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT));
	GOOD(t.cudnnSetConvolutionMathType(c, CUDNN_FMA_MATH)); /* NVIDIA's own computes with TF32 else */
	GOOD(t.cudnnSetConvolutionGroupCount(c, s->groups));
	GOOD(t.cudnnGetConvolutionNdForwardOutputDim(c, x.descriptor, w.filter, rank, y_dim));
	make(&y, type, last, rank, y_dim);
	if (is_ours) {
		GOOD(t.cudnnGetConvolutionForwardWorkspaceSize(handle, x.descriptor, w.filter, c, y.descriptor, 1,
							       &bytes));
		ok(!bytes);
	}
	for (int into = 2; into >= 0; into--) {
		struct tensor *result = into == 0 ? &x : into == 1 ? &w : &y;
		char what[128];

		memcpy(old, result->value, sizeof(old));
		memset(result->value, 0, sizeof(result->value));
		convolve(s, x.value, w.value, y.value, y_dim, into);
		for (int k = 0; k < count(result); k++) {
			sum[k] = alpha * result->value[k] + beta * old[k];
			result->value[k] = old[k];
		}
		store(&x);
		store(&w);
		store(&y);
		algorithm = algorithm_of(into, &x, &w, &y, c, &bytes);
		CU(cuMemAlloc(&room, bytes + 1));
		if (into == 2)
			GOOD(t.cudnnConvolutionForward(handle, a, x.descriptor, at(x.memory), w.filter, at(w.memory), c,
						       (cudnnConvolutionFwdAlgo_t)algorithm, at(room), bytes, b,
						       y.descriptor, at(y.memory)));
		else if (into == 0)
			GOOD(t.cudnnConvolutionBackwardData(handle, a, w.filter, at(w.memory), y.descriptor,
							    at(y.memory), c, (cudnnConvolutionBwdDataAlgo_t)algorithm,
							    at(room), bytes, b, x.descriptor, at(x.memory)));
		else
			GOOD(t.cudnnConvolutionBackwardFilter(handle, a, x.descriptor, at(x.memory), y.descriptor,
							      at(y.memory), c,
							      (cudnnConvolutionBwdFilterAlgo_t)algorithm, at(room),
							      bytes, b, w.filter, at(w.memory)));
		snprintf(what, sizeof(what), "%s of type %d%s, alpha %g, beta %g, %s", s->name, (int)type,
			 last ? ", channels last" : "", alpha, beta,
			 into == 2   ? "forward"
			 : into == 0 ? "data"
				     : "filter");
		same(result, sum, what);
		CU(cuMemFree(room));
	}
	GOOD(t.cudnnDestroyConvolutionDescriptor(c));
	end(&x);
	end(&w);
	end(&y);
}

/* ---- the other older calls ---- */

static void test_softmax(cudnnSoftmaxAlgorithm_t algorithm)
{
	static struct tensor x, y, dx;
	static double wanted[MOST], back[MOST];
	int dim[] = { 3, 11, 2, 4 }, inner = 8;
	float one = 1, zero = 0;

	make(&x, CUDNN_DATA_FLOAT, true, 4, dim);
	make(&y, CUDNN_DATA_FLOAT, false, 4, dim);
	make(&dx, CUDNN_DATA_FLOAT, false, 4, dim);
	GOOD(t.cudnnSoftmaxForward(handle, algorithm, CUDNN_SOFTMAX_MODE_CHANNEL, &one, x.descriptor, at(x.memory),
				   &zero, y.descriptor, at(y.memory)));
	for (int g = 0; g < 3 * inner; g++) {
		double sum = 0, product = 0, *from = x.value + g / inner * 11 * inner + g % inner;
		double *to = wanted + (from - x.value), *slope = dx.value + (from - x.value),
		       *b = back + (from - x.value);

		for (int c = 0; c < 11; c++)
			sum += exp(from[c * inner]);
		for (int c = 0; c < 11; c++) {
			double p = exp(from[c * inner]) / sum;

			to[c * inner] = algorithm == CUDNN_SOFTMAX_LOG ? log(p) : p;
			product += slope[c * inner] * (algorithm == CUDNN_SOFTMAX_LOG ? 1 : p);
		}
		for (int c = 0; c < 11; c++) {
			double p = exp(from[c * inner]) / sum;

			b[c * inner] = algorithm == CUDNN_SOFTMAX_LOG ? slope[c * inner] - p * product
								      : p * (slope[c * inner] - product);
		}
	}
	same(&y, wanted, "softmax");
	/* dx is where dy is */
	GOOD(t.cudnnSoftmaxBackward(handle, algorithm, CUDNN_SOFTMAX_MODE_CHANNEL, &one, y.descriptor, at(y.memory),
				    dx.descriptor, at(dx.memory), &zero, dx.descriptor, at(dx.memory)));
	same(&dx, back, "the gradient of softmax");
	end(&x);
	end(&y);
	end(&dx);
}

static void test_pool(cudnnPoolingMode_t mode)
{
	static struct tensor x, y, dy, dx;
	static double wanted[MOST], back[MOST];
	int dim[] = { 2, 3, 7, 6 }, out[4], window[] = { 3, 2 }, pad[] = { 1, 1 }, stride[] = { 2, 2 };
	cudnnPoolingDescriptor_t p;
	float one = 1, zero = 0;

	make(&x, CUDNN_DATA_FLOAT, false, 4, dim);
	make(&dx, CUDNN_DATA_FLOAT, is_ours, 4, dim); /* NVIDIA's own wants it as x */
	GOOD(t.cudnnCreatePoolingDescriptor(&p));
	GOOD(t.cudnnSetPoolingNdDescriptor(p, mode, CUDNN_PROPAGATE_NAN, 2, window, pad, stride));
	GOOD(t.cudnnGetPoolingNdForwardOutputDim(p, x.descriptor, 4, out));
	make(&y, CUDNN_DATA_FLOAT, false, 4, out);
	make(&dy, CUDNN_DATA_FLOAT, false, 4, out);
	memset(back, 0, sizeof(back));
	for (int k = 0; k < count(&y); k++) {
		int v = k % out[3], h = k / out[3] % out[2], plane = k / out[3] / out[2], best = -1, inside = 0;
		double sum = 0;

		for (int pass = 0; pass < 2; pass++)
			for (int q = 0; q < 6; q++) {
				int r = h * 2 - 1 + q / 2, c = v * 2 - 1 + q % 2, i = plane * 42 + r * 6 + c;
				int whole = mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ? 6 : inside;

				if (r < 0 || r >= 7 || c < 0 || c >= 6)
					continue;
				if (pass && mode)
					back[i] += dy.value[k] / whole;
				if (pass)
					continue;
				inside++;
				sum += x.value[i];
				if (best < 0 || x.value[i] > x.value[best])
					best = i;
			}
		wanted[k] = !mode ? x.value[best]
				  : sum / (mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ? 6 : inside);
		if (!mode)
			back[best] += dy.value[k];
	}
	GOOD(t.cudnnPoolingForward(handle, p, &one, x.descriptor, at(x.memory), &zero, y.descriptor, at(y.memory)));
	same(&y, wanted, "a pool");
	GOOD(t.cudnnPoolingBackward(handle, p, &one, y.descriptor, at(y.memory), dy.descriptor, at(dy.memory),
				    x.descriptor, at(x.memory), &zero, dx.descriptor, at(dx.memory)));
	same(&dx, back, "the gradient of a pool");
	GOOD(t.cudnnDestroyPoolingDescriptor(p));
	end(&x);
	end(&y);
	end(&dy);
	end(&dx);
}

static void test_batch(void)
{
	static struct tensor x, y, dy, dx, scale, bias, mean, inverse, run_mean, run_variance;
	static double wanted[MOST], m[8], v[8], dscale[8], dbias[8], back[MOST];
	int dim[] = { 4, 3, 5, 2 }, small[] = { 1, 3, 1, 1 }, inner = 10, all = 40;
	float one = 1, zero = 0;
	struct tensor *list[] = { &scale, &bias, &mean, &inverse, &run_mean, &run_variance };

	make(&x, CUDNN_DATA_FLOAT, false, 4, dim);
	make(&y, CUDNN_DATA_FLOAT, true, 4, dim);
	make(&dy, CUDNN_DATA_FLOAT, false, 4, dim);
	make(&dx, CUDNN_DATA_FLOAT, false, 4, dim);
	for (int i = 0; i < 6; i++)
		make(list[i], CUDNN_DATA_FLOAT, false, 4, small);
	memset(m, 0, sizeof(m));
	memset(v, 0, sizeof(v));
	memset(dscale, 0, sizeof(dscale));
	memset(dbias, 0, sizeof(dbias));
	for (int k = 0; k < count(&x); k++)
		m[k / inner % 3] += x.value[k] / all;
	for (int k = 0; k < count(&x); k++)
		v[k / inner % 3] += pow(x.value[k] - m[k / inner % 3], 2) / all;
	for (int k = 0; k < count(&x); k++) {
		int c = k / inner % 3;
		double normal = (x.value[k] - m[c]) / sqrt(v[c] + 1e-3);

		wanted[k] = normal * scale.value[c] + bias.value[c];
		dscale[c] += dy.value[k] * normal;
		dbias[c] += dy.value[k];
	}
	for (int k = 0; k < count(&x); k++) {
		int c = k / inner % 3;
		double normal = (x.value[k] - m[c]) / sqrt(v[c] + 1e-3);

		back[k] =
			scale.value[c] / sqrt(v[c] + 1e-3) * (dy.value[k] - dbias[c] / all - normal * dscale[c] / all);
	}
	GOOD(t.cudnnBatchNormalizationForwardTraining(
		handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, x.descriptor, at(x.memory), y.descriptor, at(y.memory),
		scale.descriptor, at(scale.memory), at(bias.memory), 0.25, at(run_mean.memory), at(run_variance.memory),
		1e-3, at(mean.memory), at(inverse.memory)));
	same(&y, wanted, "batch normalisation");
	same(&mean, m, "its mean");
	for (int c = 0; c < 3; c++) {
		wanted[c] = 1 / sqrt(v[c] + 1e-3);
		m[c] = 0.75 * run_mean.value[c] + 0.25 * m[c];
		v[c] = 0.75 * run_variance.value[c] + 0.25 * v[c] * all / (all - 1);
	}
	same(&inverse, wanted, "its inverse deviation");
	same(&run_mean, m, "its running mean");
	same(&run_variance, v, "its running variance");
	GOOD(t.cudnnBatchNormalizationBackward(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, &one, &zero, x.descriptor,
					       at(x.memory), dy.descriptor, at(dy.memory), dx.descriptor, at(dx.memory),
					       scale.descriptor, at(scale.memory), at(run_mean.memory),
					       at(run_variance.memory), 1e-3, at(mean.memory), at(inverse.memory)));
	same(&dx, back, "the gradient of batch normalisation");
	same(&run_mean, dscale, "of its scale");
	same(&run_variance, dbias, "of its bias");
	/* without saved statistics the same */
	GOOD(t.cudnnBatchNormalizationBackward(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, &one, &zero, x.descriptor,
					       at(x.memory), dy.descriptor, at(dy.memory), dx.descriptor, at(dx.memory),
					       scale.descriptor, at(scale.memory), at(run_mean.memory),
					       at(run_variance.memory), 1e-3, NULL, NULL));
	same(&dx, back, "the gradient without saved statistics");
	same(&run_mean, dscale, "and of the scale");
	end(&x);
	end(&y);
	end(&dy);
	end(&dx);
	for (int i = 0; i < 6; i++)
		end(list[i]);
}

/* Of minus infinity a rectifier without a slope is 0. */
static void test_infinite(cudnnActivationDescriptor_t f)
{
	static const cudnnActivationMode_t modes[] = { CUDNN_ACTIVATION_RELU, CUDNN_ACTIVATION_CLIPPED_RELU };
	float values[] = { -INFINITY, INFINITY, -1, 1 }, one = 1, zero = 0;
	static struct tensor x;
	int dim[] = { 1, 4, 1, 1 };

	make(&x, CUDNN_DATA_FLOAT, false, 4, dim);
	for (size_t m = 0; m < sizeof(modes) / sizeof(*modes); m++) {
		float got[4];

		GOOD(t.cudnnSetActivationDescriptor(f, modes[m], CUDNN_PROPAGATE_NAN, 2));
		CU(cuMemcpyHtoD(x.memory, values, sizeof(values)));
		GOOD(t.cudnnActivationForward(handle, f, &one, x.descriptor, at(x.memory), &zero, x.descriptor,
					      at(x.memory)));
		CU(cuMemcpyDtoH(got, x.memory, sizeof(got)));
		ok(got[0] == 0 && got[1] == (m ? 2 : INFINITY) && got[2] == 0 && got[3] == 1);
	}
	end(&x);
}

/* What a function has computed in the place of its argument is all that its gradient has of it. */
static void test_in_place(cudnnActivationDescriptor_t f, const struct tensor *a)
{
	static const cudnnActivationMode_t modes[] = { CUDNN_ACTIVATION_SIGMOID, CUDNN_ACTIVATION_RELU,
						       CUDNN_ACTIVATION_TANH, CUDNN_ACTIVATION_CLIPPED_RELU,
						       CUDNN_ACTIVATION_ELU };
	static double wanted[MOST];
	static struct tensor y, dx, *c = &dx;
	float one = 1, zero = 0;

	make(&y, CUDNN_DATA_FLOAT, false, a->rank, a->dim);
	make(&dx, CUDNN_DATA_FLOAT, is_ours, a->rank, a->dim); /* NVIDIA's own wants it as x */
	for (size_t m = 0; m < sizeof(modes) / sizeof(*modes); m++) {
		GOOD(t.cudnnSetActivationDescriptor(f, modes[m], CUDNN_PROPAGATE_NAN, 0.5));
		CU(cuMemcpyDtoD(y.memory, a->memory, (size_t)count(a) * sizeof(float)));
		GOOD(t.cudnnActivationForward(handle, f, &one, y.descriptor, at(y.memory), &zero, y.descriptor,
					      at(y.memory)));
		GOOD(t.cudnnActivationBackward(handle, f, &one, a->descriptor, at(y.memory), a->descriptor,
					       at(a->memory), a->descriptor, at(a->memory), &zero, c->descriptor,
					       at(c->memory)));
		load(c, wanted);
		GOOD(t.cudnnActivationBackward(handle, f, &one, y.descriptor, at(y.memory), a->descriptor,
					       at(a->memory), y.descriptor, at(y.memory), &zero, c->descriptor,
					       at(c->memory)));
		same(c, wanted, "the gradient of a function in place");
	}
	end(&dx);
	end(&y);
}

static void test_tensors(void)
{
	static struct tensor a, b, c;
	static double wanted[MOST];
	int dim[] = { 2, 3, 4, 5 }, small[] = { 1, 3, 1, 1 };
	cudnnReduceTensorDescriptor_t r;
	cudnnOpTensorDescriptor_t op;
	cudnnActivationDescriptor_t f;
	cudnnDropoutDescriptor_t d;
	float two = 2, half = 0.5f, zero = 0, one = 1;
	size_t bytes = 0;
	CUdeviceptr reserve, states;
	int kept = 0;

	make(&a, CUDNN_DATA_FLOAT, false, 4, dim);
	make(&c, CUDNN_DATA_FLOAT, true, 4, dim);
	make(&b, CUDNN_DATA_FLOAT, false, 4, small);
	GOOD(t.cudnnAddTensor(handle, &two, b.descriptor, at(b.memory), &half, c.descriptor, at(c.memory)));
	for (int k = 0; k < 120; k++)
		wanted[k] = 2 * b.value[k / 20 % 3] + c.value[k] / 2;
	same(&c, wanted, "adding");
	GOOD(t.cudnnCreateReduceTensorDescriptor(&r));
	GOOD(t.cudnnSetReduceTensorDescriptor(r, CUDNN_REDUCE_TENSOR_NORM2, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN,
					      CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES));
	GOOD(t.cudnnGetReductionWorkspaceSize(handle, r, a.descriptor, b.descriptor, &bytes));
	CU(cuMemAlloc(&reserve, bytes + 1));
	GOOD(t.cudnnReduceTensor(handle, r, NULL, 0, at(reserve), bytes, &two, a.descriptor, at(a.memory), &one,
				 b.descriptor, at(b.memory)));
	memset(wanted, 0, sizeof(wanted));
	for (int k = 0; k < 120; k++)
		wanted[k / 20 % 3] += a.value[k] * a.value[k];
	for (int k = 0; k < 3; k++)
		wanted[k] = 2 * sqrt(wanted[k]) + b.value[k];
	same(&b, wanted, "a reduction");
	CU(cuMemFree(reserve));
	GOOD(t.cudnnDestroyReduceTensorDescriptor(r));
	GOOD(t.cudnnCreateOpTensorDescriptor(&op));
	GOOD(t.cudnnSetOpTensorDescriptor(op, CUDNN_OP_TENSOR_MAX, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN));
	GOOD(t.cudnnOpTensor(handle, op, &two, a.descriptor, at(a.memory), &one, a.descriptor, at(a.memory), &zero,
			     c.descriptor, at(c.memory)));
	for (int k = 0; k < 120; k++)
		wanted[k] = fmax(2 * a.value[k], a.value[k]);
	same(&c, wanted, "the larger one");
	/* What counts 0 times may be NaN. */
	b.value[0] = b.value[1] = b.value[2] = NAN;
	store(&b);
	GOOD(t.cudnnSetOpTensorDescriptor(op, CUDNN_OP_TENSOR_ADD, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN));
	GOOD(t.cudnnOpTensor(handle, op, &two, a.descriptor, at(a.memory), &zero, b.descriptor, at(b.memory), &zero,
			     c.descriptor, at(c.memory)));
	for (int k = 0; k < 120; k++)
		wanted[k] = 2 * a.value[k];
	same(&c, wanted, "a sum with 0 times NaN");
	GOOD(t.cudnnDestroyOpTensorDescriptor(op));
	GOOD(t.cudnnCreateActivationDescriptor(&f));
	GOOD(t.cudnnSetActivationDescriptor(f, CUDNN_ACTIVATION_ELU, CUDNN_PROPAGATE_NAN, 0.5));
	GOOD(t.cudnnActivationForward(handle, f, &two, a.descriptor, at(a.memory), &zero, c.descriptor, at(c.memory)));
	for (int k = 0; k < 120; k++)
		wanted[k] = 2 * (a.value[k] > 0 ? a.value[k] : 0.5 * expm1(a.value[k]));
	same(&c, wanted, "an activation");
	test_infinite(f);
	test_in_place(f, &a);
	GOOD(t.cudnnDestroyActivationDescriptor(f));
	GOOD(t.cudnnSetTensor(handle, c.descriptor, at(c.memory), &half));
	GOOD(t.cudnnScaleTensor(handle, c.descriptor, at(c.memory), &half));
	for (int k = 0; k < 120; k++)
		wanted[k] = 0.25;
	same(&c, wanted, "setting and scaling");
	GOOD(t.cudnnCreateDropoutDescriptor(&d));
	GOOD(t.cudnnDropoutGetStatesSize(handle, &bytes));
	CU(cuMemAlloc(&states, bytes));
	GOOD(t.cudnnSetDropoutDescriptor(d, handle, 0.25f, at(states), bytes, 42));
	GOOD(t.cudnnDropoutGetReserveSpaceSize(a.descriptor, &bytes));
	CU(cuMemAlloc(&reserve, bytes));
	GOOD(t.cudnnDropoutForward(handle, d, a.descriptor, at(a.memory), c.descriptor, at(c.memory), at(reserve),
				   bytes));
	load(&c, wanted);
	for (int k = 0; k < 120; k++) {
		kept += wanted[k] != 0;
		tap_ok(wanted[k] == 0 || fabs(wanted[k] - a.value[k] / 0.75) < 1e-6, "element %d is dropped or larger",
		       k);
	}
	tap_ok(kept > 70 && kept < 110, "%d of 120 are kept", kept);
	GOOD(t.cudnnDropoutBackward(handle, d, a.descriptor, at(a.memory), c.descriptor, at(c.memory), at(reserve),
				    bytes));
	same(&c, wanted, "the gradient keeps the same ones");
	REFUSED(t.cudnnDropoutForward(handle, d, a.descriptor, at(a.memory), c.descriptor, at(c.memory), at(reserve),
				      bytes - 1),
		CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
	REFUSED(t.cudnnRestoreDropoutDescriptor(d, handle, 0.25f, NULL, 0, 42),
		CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
	GOOD(t.cudnnDestroyDropoutDescriptor(d));
	cuMemFree(states);
	cuMemFree(reserve);
	end(&a);
	end(&b);
	end(&c);
}

/* A convolution whose result is added to a bias and cut off at 0, captured: the launched graph computes again. */
static void test_captured(void)
{
	static struct tensor x, w, b, y;
	static double sum[MOST];
	static const int conv[] = { CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
				    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
				    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
				    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y };
	const struct shape *s = &shapes[0];
	int xd[] = { s->images, s->channels, s->size[0], s->size[1] }, wd[] = { s->filters, s->channels, 3, 3 },
	    yd[] = { s->images, s->filters, s->size[0], s->size[1] }, bd[] = { 1, s->filters, 1, 1 };
	int64_t ids[] = { 'x', 'w', 'y', 'b' }, spatial = 2, ones[] = { 1, 1 };
	cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
	cudnnDataType_t type = CUDNN_DATA_FLOAT;
	object tx, tw, ty, tb, v1, v2, settings, list[3], plan, pack;
	CUdeviceptr workspace;
	CUstream stream;
	CUgraph graph;
	CUgraphExec launch;
	void *pointers[4];

	make(&x, type, false, 4, xd);
	make(&w, type, false, 4, wd);
	make(&y, type, false, 4, yd);
	make(&b, type, false, 4, bd);
	tx = graph_tensor('x', type, 4, xd, NULL, false, false);
	tw = graph_tensor('w', type, 4, wd, NULL, false, false);
	ty = graph_tensor('y', type, 4, yd, NULL, false, false);
	tb = graph_tensor('b', type, 4, bd, NULL, false, false);
	v1 = graph_tensor(100, type, 4, yd, NULL, true, false);
	v2 = graph_tensor(101, type, 4, yd, NULL, true, false);
	settings = new_object(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
	set(settings, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	set(settings, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
	set(settings, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
	for (int name = CUDNN_ATTR_CONVOLUTION_DILATIONS; name <= CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS; name++)
		set(settings, name, CUDNN_TYPE_INT64, 2, ones);
	GOOD(t.cudnnBackendFinalize(settings));
	{
		object values[] = { settings, tx, tw, v1 };

		list[0] = operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 4, conv, values);
	}
	list[1] = pointwise(CUDNN_POINTWISE_ADD, v1, tb, NULL, v2, 0);
	list[2] = pointwise(CUDNN_POINTWISE_RELU_FWD, v2, NULL, NULL, ty, 0);
	plan = plan_of(list, 3);
	workspace = workspace_make(plan);
	pointers[0] = at(x.memory);
	pointers[1] = at(w.memory);
	pointers[2] = at(y.memory);
	pointers[3] = at(b.memory);
	pack = pack_of(4, ids, pointers, at(workspace));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	GOOD(t.cudnnSetStream(handle, (cudaStream_t)stream));
	CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	GOOD(t.cudnnBackendExecute(handle, plan, pack));
	CU(cuStreamEndCapture(stream, &graph));
	same(&y, y.value, "a captured plan has computed nothing yet");
	CU(cuGraphInstantiate(&launch, graph, 0));
	for (int round = 0; round < 2; round++) {
		for (int k = 0; k < count(&x); k++)
			x.value[k] = of_half(half_of(random_number()));
		store(&x);
		memset(sum, 0, sizeof(sum));
		convolve(s, x.value, w.value, sum, yd, 2);
		for (int k = 0; k < count(&y); k++)
			sum[k] = fmax(0, sum[k] + b.value[k / (s->size[0] * s->size[1]) % s->filters]);
		CU(cuGraphLaunch(launch, stream));
		CU(cuStreamSynchronize(stream));
		same(&y, sum, "a graph that is launched");
	}
	GOOD(t.cudnnSetStream(handle, NULL));
	cuGraphExecDestroy(launch);
	cuGraphDestroy(graph);
	cuStreamDestroy(stream);
	cuMemFree(workspace);
	{
		object all[] = { tx, tw, ty, tb, v1, v2, settings, plan, pack };

		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			GOOD(t.cudnnBackendDestroyDescriptor(all[i]));
	}
	end(&x);
	end(&w);
	end(&y);
	end(&b);
}

static void test_wrong(void)
{
	static struct tensor x, w, y;
	int xd[] = { 1, 2, 4, 4 }, wd[] = { 3, 2, 3, 3 }, yd[] = { 1, 3, 2, 2 }, pad[] = { 0, 0 }, stride[] = { 1, 1 },
	    bad[] = { 1, 0 };
	cudnnConvolutionDescriptor_t c, unset;
	cudnnTensorDescriptor_t d;
	cudnnLRNDescriptor_t lrn;
	float one = 1, zero = 0, wanted[12];
	double sum[MOST];
	cudnnHandle_t none = NULL;
	char words[64] = { 0 };
	int value = 0;

	REFUSED(t.cudnnCreate(NULL), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
	if (is_ours) { /* NVIDIA's own takes the first and reads the second */
		is(t.cudnnDestroy(NULL), CUDNN_STATUS_NOT_INITIALIZED);
		is(t.cudnnSetStream((cudnnHandle_t)(void *)words, NULL), CUDNN_STATUS_NOT_INITIALIZED);
		is(t.cudnnCreateLRNDescriptor(&lrn), CUDNN_STATUS_NOT_SUPPORTED);
	}
	GOOD(t.cudnnGetProperty(MAJOR_VERSION, &value));
	is(value, 9);
	is(t.cudnnGetProperty((libraryPropertyType)17, &value), CUDNN_STATUS_BAD_PARAM);
	ok(!strcmp(t.cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH),
		   "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH"));
	ok(t.cudnnGetErrorString((cudnnStatus_t)4711) != NULL);
	GOOD(t.cudnnCreateTensorDescriptor(&d));
	is(t.cudnnSetTensorNdDescriptor(d, CUDNN_DATA_FLOAT, 2, bad, stride), CUDNN_STATUS_BAD_PARAM);
	is(t.cudnnSetTensorNdDescriptor(d, CUDNN_DATA_FLOAT, 0, xd, xd), CUDNN_STATUS_BAD_PARAM);
	REFUSED(t.cudnnSetTensorNdDescriptor(d, CUDNN_DATA_FLOAT, 9, xd, xd), CUDNN_STATUS_BAD_PARAM);
	REFUSED(t.cudnnSetTensorNdDescriptor(d, CUDNN_DATA_FP8_E8M0, 2, stride, stride),
		CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE);
	REFUSED(t.cudnnSetTensor4dDescriptor(d, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DATA_FLOAT, 1, 4, 2, 2),
		CUDNN_STATUS_NOT_SUPPORTED_LAYOUT);
	make(&x, CUDNN_DATA_FLOAT, false, 4, xd);
	make(&w, CUDNN_DATA_FLOAT, false, 4, wd);
	make(&y, CUDNN_DATA_FLOAT, false, 4, yd);
	GOOD(t.cudnnCreateConvolutionDescriptor(&c));
	GOOD(t.cudnnCreateConvolutionDescriptor(&unset));
	is(t.cudnnSetConvolutionNdDescriptor(c, 2, pad, bad, stride, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
	   CUDNN_STATUS_BAD_PARAM);
	is(t.cudnnSetConvolutionGroupCount(c, 0), CUDNN_STATUS_BAD_PARAM);
	GOOD(t.cudnnSetConvolutionNdDescriptor(c, 2, pad, stride, stride, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
#define FORWARD(handle, x, conv, y, to)                                                                                \
	t.cudnnConvolutionForward(handle, &one, x, at(x##_at), w.filter, at(w.memory), conv, 1, NULL, 0, &zero, y, to)
	{
		cudnnTensorDescriptor_t xx = x.descriptor;
		CUdeviceptr xx_at = x.memory;

		REFUSED(FORWARD(none, xx, c, y.descriptor, at(y.memory)), CUDNN_STATUS_NOT_INITIALIZED);
		is(FORWARD(handle, xx, unset, y.descriptor, at(y.memory)), CUDNN_STATUS_BAD_PARAM);
		is(FORWARD(handle, xx, c, NULL, at(y.memory)), CUDNN_STATUS_BAD_PARAM);
		is(FORWARD(handle, xx, c, y.descriptor, NULL), CUDNN_STATUS_BAD_PARAM);
		REFUSED(FORWARD(handle, xx, c, xx, at(y.memory)), CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
		/* NaN is computed with */
		x.value[5] = NAN;
		store(&x);
		GOOD(FORWARD(handle, xx, c, y.descriptor, at(y.memory)));
		load(&y, sum);
		for (int k = 0; k < 12; k++)
			wanted[k] = (float)sum[k];
		tap_ok(isnan(wanted[0]) && isnan(wanted[11]), "NaN goes through a convolution");
		/* An address that is nobody's ends the launch, as a kernel's would: the last test. */
		GOOD(FORWARD(handle, xx, c, y.descriptor, at(y.memory + (UINT64_C(1) << 45))));
		FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
		if (!getenv("METE_TEST_WAY"))
			REFUSED(FORWARD(handle, xx, c, y.descriptor, at(y.memory)),
				CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER);
	}
	GOOD(t.cudnnDestroyConvolutionDescriptor(c));
	GOOD(t.cudnnDestroyConvolutionDescriptor(unset));
	GOOD(t.cudnnDestroyTensorDescriptor(d));
	tap_ok(!t.cudnnDestroy(handle) || !is_ours, "the handle's end"); /* NVIDIA's own tells of the context */
	REFUSED(t.cudnnSetStream(none, NULL), CUDNN_STATUS_NOT_INITIALIZED);
}

int main(void)
{
	static const cudnnDataType_t types[] = { CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF };

	cudnn_begin();
	for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++)
		for (int type = 0; type < 3; type++)
			for (int last = 0; last < 2; last++)
				test_convolution(&shapes[s], types[type], last, s & 1 ? 1 : 0.5,
						 type == 1 || s == 2 ? 0.25 : 0);
	for (int a = CUDNN_SOFTMAX_FAST; a <= CUDNN_SOFTMAX_LOG; a++)
		test_softmax(a);
	for (int m = CUDNN_POOLING_MAX; m <= CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING; m++)
		test_pool(m);
	test_batch();
	test_tensors();
	test_captured();
	test_wrong();
	return soft_end();
}
