/*
 * twin_dnn.c: cuDNN's twin computes nothing: each kernel's parameters go to the worker, unanswered, in the sequence of
 * the handle's stream.
 */
#include "libs/cudnn/conv.h"
#include "libs/cudnn/onednn.h"
#include "remote/libs/recipe.h"

#include <string.h>

void dnn_told(const struct forward_library *library, const void *object);

/* What the call that this thread is in is about. */
static __thread struct {
	const struct forward_library *library;
	const void *object;
	bool rehearses; /* nothing goes to the worker */
} about;

void dnn_rehearse(bool rehearse)
{
	about.rehearses = rehearse;
}

void dnn_told(const struct forward_library *library, const void *object)
{
	about.library = library;
	about.object = object;
}

CUresult dnn_submit(const struct device_driver *driver, CUcontext context, cudaStream_t stream, struct dnn_work *work,
		    uint32_t blocks)
{
	char params[DEVICE_PARAM_BYTES] = { 0 };
	struct twin_call c;

	if (about.rehearses)
		return CUDA_SUCCESS;
	/* NVIDIA's library has no kernels of mete's: a call that does not go there whole goes nowhere. */
	if (dnn_far(about.object))
		return CUDA_ERROR_NOT_SUPPORTED;
	memcpy(params, work, sizeof(*work));
	twin_enter(&c, about.library);
	if (twin_begin(&c, 0, CUDNN_CALL_cudnnBackendExecute, about.object, TWIN_RUN, sizeof(params))) {
		forward_put(&c.f, params, sizeof(params));
		twin_send(&c);
	}
	return twin_end(&c) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

bool dnn_handle_known(const void *handle)
{
	return twin_of(handle, 1);
}

bool onednn_open(void)
{
	return false;
}

bool onednn_conv(const struct onednn_conv *shape, const float *x, const float *w, const float *y, bool same_filter)
{
	return false;
}

bool onednn_has_bfloat(void)
{
	return false;
}

bool onednn_product(const struct onednn_product *shape, uint64_t number, const void *a, const void *b, void *c)
{
	return false;
}

bool onednn_gemm(bool turned_a, bool turned_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
		 int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	return false;
}
