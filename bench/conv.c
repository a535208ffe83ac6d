/*
 * conv.c: convolutions of float by cuDNN on the software device against oneDNN called directly, by turns, each on one
 * thread: least processor time. oneDNN gets the same memory (images, channels, rows, columns), chooses its own layouts,
 * and reorders what lies otherwise, as its documentation has programs do it.
 *
 *   METE_SOFT_THREADS=1 conv [ROUNDS]    (default 5)
 */
#include "cudnn_table.h"
#include "libs/cudnn/onednn.h"

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle);
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *d);
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t d, cudnnTensorFormat_t format, cudnnDataType_t type,
					 int n, int c, int h, int w);
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *d);
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t type, cudnnTensorFormat_t format,
					 int k, int c, int h, int w);
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *d);
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t d, int pad_h, int pad_w, int u, int v,
					      int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
					      cudnnDataType_t type);
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t d, int groups);
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t xd,
				      const void *x, const cudnnFilterDescriptor_t wd, const void *w,
				      const cudnnConvolutionDescriptor_t c, cudnnConvolutionFwdAlgo_t algorithm,
				      void *space, size_t bytes, const void *beta, const cudnnTensorDescriptor_t yd,
				      void *y);
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t wd,
					   const void *w, const cudnnTensorDescriptor_t yd, const void *y,
					   const cudnnConvolutionDescriptor_t c,
					   cudnnConvolutionBwdDataAlgo_t algorithm, void *space, size_t bytes,
					   const void *beta, const cudnnTensorDescriptor_t xd, void *x);
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t xd,
					     const void *x, const cudnnTensorDescriptor_t yd, const void *y,
					     const cudnnConvolutionDescriptor_t c,
					     cudnnConvolutionBwdFilterAlgo_t algorithm, void *space, size_t bytes,
					     const void *beta, const cudnnFilterDescriptor_t wd, void *w);

static const struct {
	int images, channels, size, filters, window, stride, groups;
} shapes[] = {
	{ 16, 64, 56, 64, 3, 1, 1 },   { 16, 256, 14, 256, 3, 1, 1 }, { 8, 3, 224, 64, 7, 2, 1 },
	{ 16, 128, 28, 512, 1, 1, 1 }, { 1, 64, 56, 64, 3, 1, 1 },    { 8, 128, 56, 128, 3, 1, 128 },
};

static const char *const directions[] = { "forward", "data", "filter" };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void least(double *least, double begun)
{
	double took = now() - begun;

	*least = took < *least ? took : *least;
}

static void dense(int64_t *stride, int64_t c, int64_t h, int64_t w)
{
	stride[0] = c * h * w;
	stride[1] = h * w;
	stride[3] = w;
	stride[4] = 1;
}

struct memory {
	float *host;
	CUdeviceptr device;
};

static struct memory memory_make(size_t count)
{
	struct memory m = { .host = malloc(count * sizeof(float)) };

	if (!m.host || cuMemAlloc(&m.device, count * sizeof(float)))
		exit(1);
	for (size_t i = 0; i < count; i++)
		m.host[i] = (float)(i % 17) / 17;
	if (cuMemcpyHtoD(m.device, m.host, count * sizeof(float)))
		exit(1);
	return m;
}

static void *at(const struct memory *m)
{
	return (void *)(uintptr_t)m->device;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 5;
	float one = 1, zero = 0;
	CUcontext context;
	cudnnHandle_t handle;
	cudnnTensorDescriptor_t xd, yd;
	cudnnFilterDescriptor_t wd;
	cudnnConvolutionDescriptor_t cd;

	if (!onednn_open() || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
	    cudnnCreate(&handle)) {
		fprintf(stderr, "conv: no oneDNN, or no device\n");
		return 1;
	}
	cudnnCreateTensorDescriptor(&xd);
	cudnnCreateTensorDescriptor(&yd);
	cudnnCreateFilterDescriptor(&wd);
	cudnnCreateConvolutionDescriptor(&cd);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		int n = shapes[i].images, c = shapes[i].channels, s = shapes[i].size, k = shapes[i].filters,
		    w = shapes[i].window;
		int pad = w / 2, stride = shapes[i].stride, groups = shapes[i].groups,
		    out = (s + 2 * pad - w) / stride + 1;
		struct onednn_conv shape = { .spatial = 2,
					     .images = n,
					     .groups = groups,
					     .in_channels = c,
					     .out_channels = k,
					     .in = { 1, s, s },
					     .out = { 1, out, out },
					     .window = { 1, w, w },
					     .stride = { 1, stride, stride },
					     .dilation = { 1, 1, 1 },
					     .pad = { 0, pad, pad } };
		struct memory mx = memory_make((size_t)n * (size_t)c * (size_t)s * (size_t)s),
			      my = memory_make((size_t)n * (size_t)k * (size_t)out * (size_t)out),
			      mw = memory_make((size_t)k * (size_t)(c / groups) * (size_t)w * (size_t)w);

		dense(shape.x_stride, c, s, s);
		dense(shape.y_stride, k, out, out);
		dense(shape.w_stride, c / groups, w, w);
		cudnnSetTensor4dDescriptor(xd, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, c, s, s);
		cudnnSetTensor4dDescriptor(yd, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, k, out, out);
		cudnnSetFilter4dDescriptor(wd, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, k, c / groups, w, w);
		cudnnSetConvolution2dDescriptor(cd, pad, pad, stride, stride, 1, 1, CUDNN_CROSS_CORRELATION,
						CUDNN_DATA_FLOAT);
		cudnnSetConvolutionGroupCount(cd, groups);
		for (int d = 0; d < 3; d++) {
			double ours = 1e9, theirs = 1e9, begun;
			cudnnStatus_t e;

			shape.direction = d;
			for (int r = 0; r < rounds; r++) {
				begun = now();
				e = d == ONEDNN_FORWARD
					    ? cudnnConvolutionForward(handle, &one, xd, at(&mx), wd, at(&mw), cd, 1,
								      NULL, 0, &zero, yd, at(&my))
				    : d == ONEDNN_DATA
					    ? cudnnConvolutionBackwardData(handle, &one, wd, at(&mw), yd, at(&my), cd,
									   1, NULL, 0, &zero, xd, at(&mx))
					    : cudnnConvolutionBackwardFilter(handle, &one, xd, at(&mx), yd, at(&my), cd,
									     1, NULL, 0, &zero, wd, at(&mw));
				if (e || cuCtxSynchronize())
					return 1;
				least(&ours, begun);
				begun = now();
				if (!onednn_conv(&shape, mx.host, mw.host, my.host, false))
					return 1;
				least(&theirs, begun);
			}
			printf("%2d x %3d x %3d^2 to %3d by %d^2, stride %d, groups %3d, %-7s: cuDNN %7.2f ms, oneDNN "
			       "%7.2f ms, "
			       "ratio of speeds %.2f\n",
			       n, c, s, k, w, stride, groups, directions[d], ours * 1e3, theirs * 1e3, theirs / ours);
		}
		for (int m = 0; m < 3; m++) {
			struct memory *one_of = m == 0 ? &mx : m == 1 ? &my : &mw;

			cuMemFree(one_of->device);
			free(one_of->host);
		}
	}
	return 0;
}
