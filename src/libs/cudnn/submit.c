/*
 * submit.c: how kernels of cuDNN come to the device: where the library works on the software device itself. A worker
 * gets them from its client (src/remote/libs/twin_dnn.c) and hands them on here.
 */
#include "libs/cudnn/dnn.h"

#include <string.h>

CUresult dnn_submit(const struct device_driver *driver, CUcontext context, cudaStream_t stream, struct dnn_work *work,
		    uint32_t blocks)
{
	return library_launch(driver, context, work->kernel, blocks, stream, work, sizeof(*work));
}

bool dnn_handle_known(const void *handle)
{
	return dnn_handle_good((cudnnHandle_t)(uintptr_t)handle);
}

__attribute__((visibility("default"))) cudnnStatus_t mete_library_work(cudnnHandle_t handle, const void *params,
								       size_t bytes);

/* A kernel's parameters as a client has sent them: dnn_run() believes nothing of them. */
cudnnStatus_t mete_library_work(cudnnHandle_t handle, const void *params, size_t bytes)
{
	_Alignas(struct dnn_work) char room[DEVICE_PARAM_BYTES];
	struct dnn_work *work = (struct dnn_work *)(void *)room;

	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (bytes != sizeof(room))
		return CUDNN_STATUS_BAD_PARAM;
	memcpy(room, params, sizeof(room));
	return work->kernel < DNN_KERNELS ? dnn_launch(handle, work) : CUDNN_STATUS_BAD_PARAM;
}
