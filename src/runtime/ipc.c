/* ipc.c: memory and events of other processes. A handle is 64 bytes that mean something to the driver alone. */
#include "runtime/rt.h"

#include <string.h>

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle) &&
		       sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle),
	       "handles between processes are the driver's");

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
	return RT_CALL(cuIpcGetMemHandle, (CUipcMemHandle *)handle, (CUdeviceptr)(uintptr_t)devPtr);
}

cudaError_t cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
{
	CUipcMemHandle h;
	CUdeviceptr p = 0;
	cudaError_t e;

	memcpy(&h, &handle, sizeof(h));
	e = devPtr ? RT_TRY(cuIpcOpenMemHandle_v2, &p, h, flags) : cudaErrorInvalidValue;
	if (!e)
		*devPtr = (void *)(uintptr_t)p;
	return rt_done(e);
}

cudaError_t cudaIpcCloseMemHandle(void *devPtr)
{
	return RT_CALL(cuIpcCloseMemHandle, (CUdeviceptr)(uintptr_t)devPtr);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
	return RT_CALL(cuIpcGetEventHandle, (CUipcEventHandle *)handle, event);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
	CUipcEventHandle h;

	memcpy(&h, &handle, sizeof(h));
	return RT_CALL(cuIpcOpenEventHandle, event, h);
}
