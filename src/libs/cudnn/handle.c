/*
 * handle.c: cuDNN's handles, versions and errors.
 *
 * Programs compare cuDNN's version with the one that they were built with, so the version is that of the headers from
 * which the specification comes.
 */
#include "libs/cudnn/conv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC UINT64_C(0x6d6574652d646e6e)
#define VERSION_MAJOR 9
#define VERSION_MINOR 28
#define VERSION_PATCH 1
#define CUDART_VERSION 13000

static const char *const kernels[DNN_KERNELS] = {
	[DNN_CONV_FORWARD] = "cudnn_convolution",
	[DNN_CONV_DATA] = "cudnn_convolution_data",
	[DNN_CONV_FILTER] = "cudnn_convolution_filter",
	[DNN_MATMUL] = "cudnn_matmul",
	[DNN_POINTWISE] = "cudnn_pointwise",
	[DNN_REDUCE] = "cudnn_reduce",
	[DNN_NORM] = "cudnn_norm",
	[DNN_NORM_DATA] = "cudnn_norm_data",
	[DNN_NORM_WEIGHTS] = "cudnn_norm_weights",
	[DNN_POOL] = "cudnn_pool",
	[DNN_POOL_BACK] = "cudnn_pool_data",
	[DNN_SOFTMAX] = "cudnn_softmax",
	[DNN_SOFTMAX_BACK] = "cudnn_softmax_data",
	[DNN_RANDOM] = "cudnn_random",
	[DNN_BAND] = "cudnn_mask",
	[DNN_SCORES] = "cudnn_attention_softmax",
	[DNN_RAGGED] = "cudnn_ragged",
	[DNN_PAGED] = "cudnn_paged",
	[DNN_RNN] = "cudnn_rnn",
	[DNN_RNN_BACK] = "cudnn_rnn_data",
	[DNN_RNN_TAKE] = "cudnn_rnn_input",
	[DNN_WORDS] = "cudnn_words",
	[DNN_GRID] = "cudnn_grid",
	[DNN_SAMPLE] = "cudnn_sample",
	[DNN_SAMPLE_DATA] = "cudnn_sample_data",
	[DNN_SAMPLE_GRID] = "cudnn_sample_grid",
	[DNN_CTC] = "cudnn_ctc_loss",
};

struct cudnnContext {
	uint64_t magic;
	const struct device_driver *driver;
	CUcontext context;
	cudaStream_t stream;
};

static _Thread_local char last_error[256];

cudnnStatus_t dnn_fail(cudnnStatus_t status, const char *text, ...)
{
	va_list list;

	va_start(list, text);
	vsnprintf(last_error, sizeof(last_error), text, list);
	va_end(list);
	return status;
}

void soft_unsupported(enum cudnn_call call)
{
	library_refused(DNN_TITLE, cudnn_call_name[call]);
	dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "%s: not supported by the software device's cuDNN", cudnn_call_name[call]);
}

void soft_cudnnGetLastErrorString(char *message, size_t max_size)
{
	if (message && max_size)
		snprintf(message, max_size, "%s", last_error);
	*last_error = 0;
}

static cudnnStatus_t status_of(CUresult e)
{
	switch (e) {
	case CUDA_SUCCESS:
		return CUDNN_STATUS_SUCCESS;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return dnn_fail(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, "the device's memory is full");
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return dnn_fail(CUDNN_STATUS_NOT_INITIALIZED, "no context (error %d)", (int)e);
	case CUDA_ERROR_NOT_SUPPORTED:
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "the server's cuDNN is not called for this");
	default:
		return dnn_fail(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER, "the driver's error %d", (int)e);
	}
}

bool dnn_handle_good(cudnnHandle_t h)
{
	return h && !((uintptr_t)h % _Alignof(struct cudnnContext)) && h->magic == MAGIC;
}

cudnnStatus_t soft_cudnnCreate(cudnnHandle_t *handle)
{
	const struct device_driver *driver = device_open(DNN_TITLE, kernels, DNN_KERNELS, dnn_run);
	struct cudnnContext *h;
	CUresult e;

	if (!handle)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnCreate: handle is NULL");
	if (!driver)
		return dnn_fail(CUDNN_STATUS_NOT_INITIALIZED, "cudnnCreate: no software device");
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	h->driver = driver;
	e = device_context(&h->context);
	if (e) {
		free(h);
		return status_of(e);
	}
	h->magic = MAGIC;
	*handle = h;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnDestroy(cudnnHandle_t handle)
{
	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	handle->magic = 0;
	free(handle);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId)
{
	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	handle->stream = streamId;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetStream(cudnnHandle_t handle, cudaStream_t *streamId)
{
	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!streamId)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*streamId = handle->stream;
	return CUDNN_STATUS_SUCCESS;
}

static uint32_t work_blocks(const struct dnn_work *w)
{
	int64_t all = 1, parts = 1;

	if (!dims_good(w->dim))
		return 1; /* which refuses them */
	for (int i = 0; i < DNN_DIMS; i++)
		all *= w->dim[i];
	switch ((enum dnn_kernel)w->kernel) {
	case DNN_CONV_FORWARD:
	case DNN_CONV_DATA:
	case DNN_CONV_FILTER:
		return all ? device_threads() : 1;
	case DNN_MATMUL:
		parts = all / (w->dim[DNN_DIMS - 1] ? w->dim[DNN_DIMS - 1] : 1);
		return library_blocks(parts, w->dim[DNN_DIMS - 1] * (int64_t)(w->more[0] & 0xfffff));
	case DNN_POINTWISE:
	case DNN_RANDOM:
		return library_blocks(all, 1);
	case DNN_POOL:
	case DNN_POOL_BACK:
		parts = w->dim[0] * w->dim[1];
		break;
	default:
		for (int i = 0; i < DNN_DIMS; i++)
			parts *= w->axes & 1 << i ? 1 : w->dim[i];
	}
	return library_blocks(parts, parts ? all / parts : 0);
}

cudnnStatus_t dnn_launch(cudnnHandle_t h, struct dnn_work *work)
{
	return status_of(dnn_submit(h->driver, h->context, h->stream, work, work_blocks(work)));
}

/* ---- versions ---- */

size_t soft_cudnnGetVersion(void)
{
	return VERSION_MAJOR * 10000 + VERSION_MINOR * 100 + VERSION_PATCH;
}

size_t soft_cudnnGetMaxDeviceVersion(void)
{
	return 1210; /* compute capability 12.1 */
}

size_t soft_cudnnGetCudartVersion(void)
{
	return CUDART_VERSION;
}

cudnnStatus_t soft_cudnnGetProperty(libraryPropertyType type, int *value)
{
	int part = library_property(VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH, (int)type);

	if (!value)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (part < 0)
		return CUDNN_STATUS_BAD_PARAM;
	*value = part;
	return CUDNN_STATUS_SUCCESS;
}

#define CHECK(part)                                                                                                    \
	cudnnStatus_t soft_cudnn##part##VersionCheck(void)                                                             \
	{                                                                                                              \
		return CUDNN_STATUS_SUCCESS;                                                                           \
	}

CHECK(Graph)
CHECK(Ops)
CHECK(Cnn)
CHECK(Adv)
CHECK(SubquadraticOps)

#define STATUS(name)                                                                                                   \
	{                                                                                                              \
		CUDNN_STATUS_##name, "CUDNN_STATUS_" #name                                                             \
	}

static const struct {
	cudnnStatus_t status;
	const char *name;
} statuses[] = {
	STATUS(SUCCESS),
	STATUS(NOT_INITIALIZED),
	STATUS(SUBLIBRARY_VERSION_MISMATCH),
	STATUS(SERIALIZATION_VERSION_MISMATCH),
	STATUS(DEPRECATED),
	STATUS(LICENSE_ERROR),
	STATUS(RUNTIME_IN_PROGRESS),
	STATUS(RUNTIME_FP_OVERFLOW),
	STATUS(SUBLIBRARY_LOADING_FAILED),
	STATUS(BAD_PARAM),
	STATUS(INVALID_VALUE),
	STATUS(BAD_PARAM_NULL_POINTER),
	STATUS(BAD_PARAM_MISALIGNED_POINTER),
	STATUS(BAD_PARAM_NOT_FINALIZED),
	STATUS(BAD_PARAM_OUT_OF_BOUND),
	STATUS(BAD_PARAM_SIZE_INSUFFICIENT),
	STATUS(BAD_PARAM_STREAM_MISMATCH),
	STATUS(BAD_PARAM_SHAPE_MISMATCH),
	STATUS(BAD_PARAM_DUPLICATED_ENTRIES),
	STATUS(BAD_PARAM_ATTRIBUTE_TYPE),
	STATUS(BAD_PARAM_CUDA_GRAPH_MISMATCH),
	STATUS(BAD_PARAM_DESCRIPTOR_TYPE),
	STATUS(NOT_SUPPORTED),
	STATUS(NOT_SUPPORTED_GRAPH_PATTERN),
	STATUS(NOT_SUPPORTED_SHAPE),
	STATUS(NOT_SUPPORTED_DATA_TYPE),
	STATUS(NOT_SUPPORTED_LAYOUT),
	STATUS(NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER),
	STATUS(NOT_SUPPORTED_INCOMPATIBLE_CUDART),
	STATUS(NOT_SUPPORTED_ARCH_MISMATCH),
	STATUS(NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING),
	STATUS(NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE),
	STATUS(NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT),
	STATUS(NOT_SUPPORTED_PADDING),
	STATUS(NOT_SUPPORTED_BAD_LAUNCH_PARAM),
	STATUS(NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API),
	STATUS(INTERNAL_ERROR),
	STATUS(INTERNAL_ERROR_COMPILATION_FAILED),
	STATUS(INTERNAL_ERROR_UNEXPECTED_VALUE),
	STATUS(INTERNAL_ERROR_HOST_ALLOCATION_FAILED),
	STATUS(INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED),
	STATUS(INTERNAL_ERROR_BAD_LAUNCH_PARAM),
	STATUS(INTERNAL_ERROR_TEXTURE_CREATION_FAILED),
	STATUS(EXECUTION_FAILED),
	STATUS(EXECUTION_FAILED_CUDA_DRIVER),
	STATUS(EXECUTION_FAILED_CUBLAS),
	STATUS(EXECUTION_FAILED_CUDART),
	STATUS(EXECUTION_FAILED_CURAND),
};

const char *soft_cudnnGetErrorString(cudnnStatus_t status)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
		if (statuses[i].status == status)
			return statuses[i].name;
	return "CUDNN_UNKNOWN_STATUS";
}
