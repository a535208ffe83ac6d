/* handle.c: cuSPARSE's handles, what a status is called, and how kernels are started. */
#include "libs/cusparse/handle.h"

#include <stdlib.h>

#define MAGIC UINT64_C(0x6d6574652d737073)
#define VERSION_MAJOR 12
#define VERSION_MINOR 6
#define VERSION_PATCH 3

static const char *const kernels[] = { "cusparse_spmm",
				       "cusparse_sddmm",
				       "cusparse_spsv",
				       "cusparse_to_dense",
				       "cusparse_count",
				       "cusparse_from_dense",
				       "cusparse_csrilu02",
				       "cusparse_csric02",
				       "cusparse_pivots",
				       "cusparse_gtsv2",
				       "cusparse_gtsv2_nopivot",
				       "cusparse_spgemm_count",
				       "cusparse_spgemm",
				       "cusparse_csrgeam2_count",
				       "cusparse_csrgeam2",
				       "cusparse_gather",
				       "cusparse_scatter",
				       "cusparse_axpby",
				       "cusparse_spvv",
				       "cusparse_rot",
				       "cusparse_bsrmm",
				       "cusparse_bsrsv2",
				       "cusparse_bsrsv2_analysis",
				       "cusparse_coo2csr",
				       "cusparse_csr2coo",
				       "cusparse_identity",
				       "cusparse_sort",
				       "cusparse_csr2csc" };

void soft_unsupported(enum cusparse_call call)
{
	library_refused(SPARSE_TITLE, cusparse_call_name[call]);
}

cusparseStatus_t sparse_status(CUresult e)
{
	switch (e) {
	case CUDA_SUCCESS:
		return CUSPARSE_STATUS_SUCCESS;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return CUSPARSE_STATUS_ALLOC_FAILED;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	default:
		return CUSPARSE_STATUS_EXECUTION_FAILED;
	}
}

bool sparse_handle_good(cusparseHandle_t h)
{
	return h && !((uintptr_t)h % _Alignof(struct cusparseContext)) && h->magic == MAGIC;
}

/* ---- handles ---- */

cusparseStatus_t soft_cusparseCreate(cusparseHandle_t *handle)
{
	const struct device_driver *driver = device_open(SPARSE_TITLE, kernels, SPARSE_KERNELS, sparse_run);
	struct cusparseContext *h;
	CUresult e;

	if (!handle)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (!driver)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	h->driver = driver;
	e = device_context(&h->context);
	if (e) {
		free(h);
		return sparse_status(e);
	}
	h->magic = MAGIC;
	*handle = h;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseDestroy(cusparseHandle_t handle)
{
	if (!sparse_handle_good(handle))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	handle->magic = 0;
	free(handle);
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseGetVersion(cusparseHandle_t handle, int *version)
{
	if (!version)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*version = VERSION_MAJOR * 1000 + VERSION_MINOR * 100 + VERSION_PATCH;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseGetProperty(libraryPropertyType type, int *value)
{
	int part = library_property(VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH, (int)type);

	if (part < 0 || !value)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*value = part;
	return CUSPARSE_STATUS_SUCCESS;
}

static const struct {
	cusparseStatus_t status;
	const char *name, *text;
} statuses[] = {
	{ CUSPARSE_STATUS_SUCCESS, "CUSPARSE_STATUS_SUCCESS", "success" },
	{ CUSPARSE_STATUS_NOT_INITIALIZED, "CUSPARSE_STATUS_NOT_INITIALIZED", "no handle, or none of this library" },
	{ CUSPARSE_STATUS_ALLOC_FAILED, "CUSPARSE_STATUS_ALLOC_FAILED", "no memory" },
	{ CUSPARSE_STATUS_INVALID_VALUE, "CUSPARSE_STATUS_INVALID_VALUE", "invalid argument" },
	{ CUSPARSE_STATUS_ARCH_MISMATCH, "CUSPARSE_STATUS_ARCH_MISMATCH", "the device cannot do this" },
	{ CUSPARSE_STATUS_EXECUTION_FAILED, "CUSPARSE_STATUS_EXECUTION_FAILED", "the device's work failed" },
	{ CUSPARSE_STATUS_INTERNAL_ERROR, "CUSPARSE_STATUS_INTERNAL_ERROR", "internal error" },
	{ CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED, "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
	  "no such matrix type" },
	{ CUSPARSE_STATUS_ZERO_PIVOT, "CUSPARSE_STATUS_ZERO_PIVOT", "a pivot is 0" },
	{ CUSPARSE_STATUS_NOT_SUPPORTED, "CUSPARSE_STATUS_NOT_SUPPORTED", "not supported" },
	{ CUSPARSE_STATUS_INSUFFICIENT_RESOURCES, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "not enough resources" },
};

const char *soft_cusparseGetErrorName(cusparseStatus_t status)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
		if (statuses[i].status == status)
			return statuses[i].name;
	return "unrecognized error code";
}

const char *soft_cusparseGetErrorString(cusparseStatus_t status)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
		if (statuses[i].status == status)
			return statuses[i].text;
	return "unrecognized error code";
}

#define SETTING(field, type, name)                                                                                     \
	cusparseStatus_t soft_cusparseSet##name(cusparseHandle_t handle, type value)                                   \
	{                                                                                                              \
		if (!sparse_handle_good(handle))                                                                       \
			return CUSPARSE_STATUS_NOT_INITIALIZED;                                                        \
		handle->field = value;                                                                                 \
		return CUSPARSE_STATUS_SUCCESS;                                                                        \
	}                                                                                                              \
	cusparseStatus_t soft_cusparseGet##name(cusparseHandle_t handle, type *value)                                  \
	{                                                                                                              \
		if (!sparse_handle_good(handle))                                                                       \
			return CUSPARSE_STATUS_NOT_INITIALIZED;                                                        \
		if (!value)                                                                                            \
			return CUSPARSE_STATUS_INVALID_VALUE;                                                          \
		*value = handle->field;                                                                                \
		return CUSPARSE_STATUS_SUCCESS;                                                                        \
	}
SETTING(stream, cudaStream_t, Stream)
SETTING(pointer_mode, cusparsePointerMode_t, PointerMode)

cusparseStatus_t sparse_start(cusparseHandle_t h, uint32_t kernel, int64_t parts, int64_t each, const void *work,
			      size_t bytes)
{
	return sparse_status(library_launch(h->driver, h->context, kernel, library_blocks(parts, each),
					    (CUstream)h->stream, work, bytes));
}
