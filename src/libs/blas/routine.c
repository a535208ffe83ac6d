/* routine.c: from a call to a kernel, and from a kernel to the body that runs. */
#include "libs/blas/blas.h"

#include "libs/blas/checks.h"
#include "libs/blas/run.h"
#include "libs/blas/transform.h"
#include "libs/blas/typed_runs.h"
#include "libs/common/library.h"

static const blas_begin begins[BLAS_BODIES] = {
#define BEGIN(number, name) [number] = begin_##name,
	BLAS_EACH_BODY(BEGIN)
#undef BEGIN
};

/* A transformation is no routine, and blas_check() lets none through: cublaslt_more.c launches it. */
cublasStatus_t begin_transform(struct blas_handle *h, struct blas_work *w)
{
	return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t blas_call(cublasHandle_t handle, struct blas_work *w, const char *symbol)
{
	struct blas_handle *h = blas_handle_find(handle);
	cublasStatus_t status;

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	w->in_device = h->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
	status = blas_check(w);
	if (!status)
		status = begins[w->body](h, w);
	if (status == CUBLAS_STATUS_NOT_SUPPORTED)
		blas_refused(symbol);
	return status;
}

cublasStatus_t blas_status_of(CUresult result)
{
	switch (result) {
	case CUDA_SUCCESS:
		return CUBLAS_STATUS_SUCCESS;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return CUBLAS_STATUS_ALLOC_FAILED;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return CUBLAS_STATUS_NOT_INITIALIZED;
	case CUDA_ERROR_INVALID_VALUE:
		return CUBLAS_STATUS_INVALID_VALUE;
	default:
		return CUBLAS_STATUS_EXECUTION_FAILED;
	}
}

cublasStatus_t blas_launch(struct blas_handle *h, uint32_t body, uint32_t blocks, cudaStream_t stream, const void *work,
			   size_t bytes)
{
	return blas_status_of(library_launch(h->driver, h->context, body, blocks, stream, work, bytes));
}

/* The routines that know a triangle that is packed, or a band. */
static bool form_sound(const struct blas_work *w)
{
	switch (w->body) {
	case BLAS_SYMV:
	case BLAS_TRMV:
	case BLAS_TRSV:
		return w->form <= BLAS_BAND;
	case BLAS_SYR:
	case BLAS_SYR2:
		return w->form <= BLAS_PACKED;
	default:
		return w->form == BLAS_FULL;
	}
}

/* The parameters are those of a call that begin_... let through: anybody can launch the kernel with other bytes. */
static bool work_sound(const struct blas_work *w)
{
	const int64_t sizes[] = { w->m, w->n, w->k, w->kl, w->ku, w->nrhs, w->batchCount, w->batchSize };
	const int64_t steps[] = { w->lda, w->ldb, w->ldc, w->incx, w->incy, w->lda_inv };
	const uint8_t types[] = { w->xType, w->yType, w->alphaType, w->betaType, w->resultType, w->cType, w->sType };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (sizes[i] < 0 || sizes[i] > INT64_C(1) << 40)
			return false;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (steps[i] < -(INT64_C(1) << 40) || steps[i] > INT64_C(1) << 40)
			return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!type_bytes(types[i]) && types[i] != CUDA_R_64I)
			return false;
	/* the elements of a packed triangle are to be counted */
	if ((w->form == BLAS_PACKED || w->body == BLAS_TPTTR || w->body == BLAS_TRTTP) && w->n > INT64_C(1) << 31)
		return false;
	return (w->uplo == CUBLAS_FILL_MODE_LOWER || w->uplo == CUBLAS_FILL_MODE_UPPER) &&
	       (unsigned int)w->trans <= CUBLAS_OP_C && (unsigned int)w->transa <= CUBLAS_OP_C &&
	       (unsigned int)w->transb <= CUBLAS_OP_C && (unsigned int)w->side <= CUBLAS_SIDE_RIGHT &&
	       (unsigned int)w->diag <= CUBLAS_DIAG_UNIT && form_sound(w);
}

static const blas_run *runs_of(unsigned int type)
{
	switch (type) {
	case CUDA_R_32F:
		return blas_runs_s;
	case CUDA_R_64F:
		return blas_runs_d;
	case CUDA_C_32F:
		return blas_runs_c;
	case CUDA_C_64F:
		return blas_runs_z;
	default:
		return NULL;
	}
}

void run_native(struct soft_native *n)
{
	const struct blas_work *w = n->params;
	const blas_run *runs;

	if (n->bytes != DEVICE_PARAM_BYTES || w->body >= BLAS_BODIES || !n->blocks) {
		n->refuse(n);
		return;
	}
	if (w->body == BLAS_GEMM) {
		product_run(n, n->params);
		return;
	}
	if (w->body == BLAS_TRANSFORM) {
		transform_run(n, n->params);
		return;
	}
	runs = runs_of(w->type);
	if (runs && runs[w->body] && work_sound(w))
		runs[w->body](n, w);
	else
		n->refuse(n);
}
