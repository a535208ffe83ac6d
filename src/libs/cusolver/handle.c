/* handle.c: cuSOLVER's calls about handles and parameters. */
#include "libs/cusolver/handle.h"

#include <stdlib.h>

static const char *const kernels[] = {
#define SOLVER_NAME(name) [SOLVER_##name] = "cusolver_" #name,
	SOLVER_EACH(SOLVER_NAME)
#undef SOLVER_NAME
};

struct gesvdjInfo {
	double tolerance;
	int sweeps, sort;
};

struct syevjInfo {
	double tolerance;
	int sweeps, sort;
};

struct cusolverDnParams {
	int algorithm;
};

void soft_unsupported(enum cusolver_call call)
{
	library_refused(SOLVER_TITLE, cusolver_call_name[call]);
}

static cusolverStatus_t status_of(CUresult e)
{
	switch (e) {
	case CUDA_SUCCESS:
		return CUSOLVER_STATUS_SUCCESS;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return CUSOLVER_STATUS_ALLOC_FAILED;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	default:
		return CUSOLVER_STATUS_EXECUTION_FAILED;
	}
}

struct solver_handle *solver_handle_find(const void *handle)
{
	struct solver_handle *h = (struct solver_handle *)(uintptr_t)handle;

	return h && !((uintptr_t)h % _Alignof(struct solver_handle)) && h->magic == SOLVER_MAGIC ? h : NULL;
}

static cusolverStatus_t create(void **ret)
{
	const struct device_driver *driver = device_open(SOLVER_TITLE, kernels, SOLVER_ROUTINES, solver_run);
	struct solver_handle *h;
	CUresult e;

	if (!ret)
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (!driver)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUSOLVER_STATUS_ALLOC_FAILED;
	h->driver = driver;
	h->deterministic = CUSOLVER_DETERMINISTIC_RESULTS;
	e = device_context(&h->context);
	if (e) {
		free(h);
		return status_of(e);
	}
	h->magic = SOLVER_MAGIC;
	*ret = h;
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t destroy(void *handle)
{
	struct solver_handle *h = solver_handle_find(handle);

	if (!h)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	h->magic = 0;
	free(h);
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t set_stream(void *handle, cudaStream_t stream)
{
	struct solver_handle *h = solver_handle_find(handle);

	if (!h)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	h->stream = stream;
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t get_stream(void *handle, cudaStream_t *ret)
{
	struct solver_handle *h = solver_handle_find(handle);

	if (!h)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!ret)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*ret = h->stream;
	return CUSOLVER_STATUS_SUCCESS;
}

/* Sparse handles exist, as programs create them at their start; there is nothing to do with them. */
#define HANDLES(kind)                                                                                                  \
	cusolverStatus_t soft_cusolver##kind##Create(cusolver##kind##Handle_t *handle)                                 \
	{                                                                                                              \
		return create((void **)handle);                                                                        \
	}                                                                                                              \
	cusolverStatus_t soft_cusolver##kind##Destroy(cusolver##kind##Handle_t handle)                                 \
	{                                                                                                              \
		return destroy(handle);                                                                                \
	}                                                                                                              \
	cusolverStatus_t soft_cusolver##kind##SetStream(cusolver##kind##Handle_t handle, cudaStream_t streamId)        \
	{                                                                                                              \
		return set_stream(handle, streamId);                                                                   \
	}                                                                                                              \
	cusolverStatus_t soft_cusolver##kind##GetStream(cusolver##kind##Handle_t handle, cudaStream_t *streamId)       \
	{                                                                                                              \
		return get_stream(handle, streamId);                                                                   \
	}
HANDLES(Dn)
HANDLES(Sp)

cusolverStatus_t soft_cusolverGetVersion(int *version)
{
	if (!version)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*version = solver_version;
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t soft_cusolverGetProperty(libraryPropertyType type, int *value)
{
	int part = library_property(solver_version / 1000, solver_version / 100 % 10, solver_version % 100, (int)type);

	if (part < 0 || !value)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*value = part;
	return CUSOLVER_STATUS_SUCCESS;
}

#define SETTING(field, type, name)                                                                                     \
	cusolverStatus_t soft_cusolverDnSet##name(cusolverDnHandle_t handle, type value)                               \
	{                                                                                                              \
		struct solver_handle *h = solver_handle_find(handle);                                                  \
		if (!h)                                                                                                \
			return CUSOLVER_STATUS_NOT_INITIALIZED;                                                        \
		h->field = value;                                                                                      \
		return CUSOLVER_STATUS_SUCCESS;                                                                        \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDnGet##name(cusolverDnHandle_t handle, type *value)                              \
	{                                                                                                              \
		struct solver_handle *h = solver_handle_find(handle);                                                  \
		if (!h)                                                                                                \
			return CUSOLVER_STATUS_NOT_INITIALIZED;                                                        \
		if (!value)                                                                                            \
			return CUSOLVER_STATUS_INVALID_VALUE;                                                          \
		*value = h->field;                                                                                     \
		return CUSOLVER_STATUS_SUCCESS;                                                                        \
	}
SETTING(deterministic, cusolverDeterministicMode_t, DeterministicMode)
SETTING(math_mode, cusolverMathMode_t, MathMode)
SETTING(emulation, cudaEmulationStrategy_t, EmulationStrategy)

/* Parameters of Jacobi's methods: kept, though the values are found another way, whose residual is 0 sweeps away. */
#define PARAMETERS(word, kind)                                                                                         \
	cusolverStatus_t soft_cusolverDnCreate##word##Info(kind##Info_t *info)                                         \
	{                                                                                                              \
		if (!info)                                                                                             \
			return CUSOLVER_STATUS_INVALID_VALUE;                                                          \
		*info = calloc(1, sizeof(**info));                                                                     \
		return *info ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;                                 \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDnDestroy##word##Info(kind##Info_t info)                                         \
	{                                                                                                              \
		free(info);                                                                                            \
		return CUSOLVER_STATUS_SUCCESS;                                                                        \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDnX##kind##SetTolerance(kind##Info_t info, double tolerance)                     \
	{                                                                                                              \
		if (!info)                                                                                             \
			return CUSOLVER_STATUS_INVALID_VALUE;                                                          \
		info->tolerance = tolerance;                                                                           \
		return CUSOLVER_STATUS_SUCCESS;                                                                        \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDnX##kind##SetMaxSweeps(kind##Info_t info, int max_sweeps)                       \
	{                                                                                                              \
		if (!info)                                                                                             \
			return CUSOLVER_STATUS_INVALID_VALUE;                                                          \
		info->sweeps = max_sweeps;                                                                             \
		return CUSOLVER_STATUS_SUCCESS;                                                                        \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDnX##kind##SetSortEig(kind##Info_t info, int sort)                               \
	{                                                                                                              \
		if (!info)                                                                                             \
			return CUSOLVER_STATUS_INVALID_VALUE;                                                          \
		info->sort = sort;                                                                                     \
		return CUSOLVER_STATUS_SUCCESS;                                                                        \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDnX##kind##GetResidual(cusolverDnHandle_t handle, kind##Info_t info,             \
							     double *residual)                                         \
	{                                                                                                              \
		if (!info || !residual)                                                                                \
			return CUSOLVER_STATUS_INVALID_VALUE;                                                          \
		*residual = 0;                                                                                         \
		return CUSOLVER_STATUS_SUCCESS;                                                                        \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDnX##kind##GetSweeps(cusolverDnHandle_t handle, kind##Info_t info, int *sweeps)  \
	{                                                                                                              \
		if (!info || !sweeps)                                                                                  \
			return CUSOLVER_STATUS_INVALID_VALUE;                                                          \
		*sweeps = 0;                                                                                           \
		return CUSOLVER_STATUS_SUCCESS;                                                                        \
	}
PARAMETERS(Gesvdj, gesvdj)
PARAMETERS(Syevj, syevj)

cusolverStatus_t soft_cusolverDnCreateParams(cusolverDnParams_t *params)
{
	if (!params)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*params = calloc(1, sizeof(**params));
	return *params ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

cusolverStatus_t soft_cusolverDnDestroyParams(cusolverDnParams_t params)
{
	free(params);
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t soft_cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t function,
					      cusolverAlgMode_t algo)
{
	if (!params)
		return CUSOLVER_STATUS_INVALID_VALUE;
	params->algorithm = (int)algo;
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t solver_launch(const void *handle, struct solver_work *w)
{
	struct solver_handle *h = solver_handle_find(handle);
	uint32_t blocks;

	if (!h)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!lapack_open())
		return CUSOLVER_STATUS_INTERNAL_ERROR;
	w->batch = w->batch ? w->batch : 1;
	w->uplo = w->uplo ? w->uplo : 'L';
	w->side = w->side ? w->side : 'L';
	w->trans = w->trans ? w->trans : 'N';
	w->diag = w->diag ? w->diag : 'N';
	w->job = w->job ? w->job : 'N';
	w->job_more = w->job_more ? w->job_more : 'N';
	w->itype = w->itype ? w->itype : 1;
	blocks = library_blocks(w->batch, w->n * w->n * 8);
	return status_of(library_launch(h->driver, h->context, w->routine, blocks, (CUstream)h->stream, w, sizeof(*w)));
}
