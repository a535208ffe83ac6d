/* worker.c: forwarded cuBLAS at the worker: its handles, and what is served; see libs/serve.h. */
#include "remote/blas/blas_worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *functions[CUBLAS_CALL_COUNT];
static void *own; /* a function that only mete's own library has */

void *forward_function(enum cublas_call call)
{
	return functions[call];
}

/* Handles. */

static int create(struct forward_work *w, unsigned int type)
{
	bool lt = type == BLAS_IS_LT_HANDLE;
	void *handle = NULL;
	int64_t version = 0;
	uint64_t id;
	int number = 0, r;

	forward_get(w, &id, sizeof(id));
	if (w->work->in.bad || w->work->in.used != w->work->in.size)
		return -EPROTO;
	if (!w->function) {
		w->status = CUBLAS_STATUS_NOT_INITIALIZED;
		forward_lacks(w);
		return 0;
	}
	worker_yield(w->work);
	w->status = (int)((cublasStatus_t(*)(void **))w->function)(&handle);
	if (w->status)
		return 0;
	r = forward_made(w, id, type, handle, lt ? CUBLAS_CALL_cublasLtDestroy : CUBLAS_CALL_cublasDestroy_v2);
	if (r || w->status)
		return r;
	if (!lt && functions[CUBLAS_CALL_cublasGetVersion_v2])
		((__typeof__(cublasGetVersion_v2) *)functions[CUBLAS_CALL_cublasGetVersion_v2])(handle, &number);
	version = number | (own ? FORWARD_OWN : 0);
	forward_put(w, &version, sizeof(version));
	return 0;
}

static int destroy(struct forward_work *w)
{
	if (w->work->in.bad || w->work->in.used != w->work->in.size)
		return -EPROTO;
	w->ends = true;
	if (w->function && !forward_ready(w))
		return forward_refuse(w);
	w->status =
		w->function ? (int)((cublasStatus_t(*)(void *))w->function)(w->handle) : CUBLAS_STATUS_NOT_SUPPORTED;
	forward_gone(w);
	return 0;
}

static int set_stream(struct forward_work *w)
{
	CUstream stream = forward_get_stream(w);

	if (!forward_ready(w))
		return forward_refuse(w);
	w->status = (int)((__typeof__(cublasSetStream_v2) *)w->function)(w->handle, (cudaStream_t)stream);
	return 0;
}

static int set_workspace(struct forward_work *w)
{
	uint64_t at, bytes;

	forward_get(w, &at, sizeof(at));
	forward_get(w, &bytes, sizeof(bytes));
	if (!w->work->in.bad && at && !worker_reaches(w->work, at, bytes))
		w->unsound = true;
	if (!forward_ready(w))
		return forward_refuse(w);
	w->status = (int)((__typeof__(cublasSetWorkspace_v2) *)w->function)(w->handle, (void *)(uintptr_t)at, bytes);
	return 0;
}

/* One word that the library remembers: all such functions have this shape. */
static int set_word(struct forward_work *w)
{
	int64_t value;

	forward_get(w, &value, sizeof(value));
	if (!forward_ready(w))
		return forward_refuse(w);
	w->status = (int)((cublasStatus_t(*)(void *, int))w->function)(w->handle, (int)value);
	return 0;
}

static int run(struct forward_work *w)
{
	switch ((int)w->call) {
	case CUBLAS_CALL_cublasCreate_v2:
		return create(w, BLAS_IS_HANDLE);
	case CUBLAS_CALL_cublasLtCreate:
		return create(w, BLAS_IS_LT_HANDLE);
	case CUBLAS_CALL_cublasDestroy_v2:
	case CUBLAS_CALL_cublasLtDestroy:
		return destroy(w);
	case CUBLAS_CALL_cublasSetStream_v2:
		return set_stream(w);
	case CUBLAS_CALL_cublasSetWorkspace_v2:
		return set_workspace(w);
	case CUBLAS_CALL_cublasSetMathMode:
	case CUBLAS_CALL_cublasSetAtomicsMode:
	case CUBLAS_CALL_cublasSetSmCountTarget:
		return set_word(w);
	case CUBLAS_CALL_cublasLtMatmul:
	case CUBLAS_CALL_cublasLtMatrixTransform:
	case CUBLAS_CALL_cublasLtMatmulAlgoGetHeuristic:
		return forward_lt(w);
	default:
		return -EPROTO;
	}
}

static unsigned int file_of(const char *name)
{
	return !strncmp(name, "cublasLt", 8);
}

/* What each call is about. */
static unsigned char about[CUBLAS_CALL_COUNT];

static void about_fill(void)
{
	for (unsigned int i = 0; i < CUBLAS_CALL_COUNT; i++)
		about[i] = file_of(cublas_call_name[i]) ? FORWARD_ANY : BLAS_IS_HANDLE;
	about[CUBLAS_CALL_cublasCreate_v2] = about[CUBLAS_CALL_cublasLtCreate] = 0;
	about[CUBLAS_CALL_cublasLtDestroy] = BLAS_IS_LT_HANDLE;
}

const struct forward_served blas_served = {
	.title = "cuBLAS",
	.names = cublas_call_name,
	.count = CUBLAS_CALL_COUNT,
	.functions = functions,
	.handlers = cublas_forward_handlers,
	.by_hand = run,
	.about = about,
	.begin = about_fill,
	.files = { { "METE_FORWARD_CUBLAS", "blas/libcublas.so.13", { "libcublas.so.13", "libcublas.so.12" } },
		   { "METE_FORWARD_CUBLASLT",
		     "blas/libcublasLt.so.13",
		     { "libcublasLt.so.13", "libcublasLt.so.12" } } },
	.file_of = file_of,
	.pointer_mode = CUBLAS_CALL_cublasSetPointerMode_v2,
	.prepare = "mete_blas_prepare",
	.more = "mete_blas_prepare",
	.more_function = &own,
	.status = { CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_INVALID_VALUE,
		    CUBLAS_STATUS_EXECUTION_FAILED, CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_SUPPORTED },
};
