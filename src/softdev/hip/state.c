/* state.c: see state.h. */
#include "softdev/hip/state.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DEVICES 64

struct cuda_table soft_cu;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards context */
static CUcontext context[DEVICES];
static hipError_t failure = hipErrorNoDevice;
static int device_count;
static __thread hip_ordinal device;
static __thread hipError_t last;

static void open_driver(void)
{
	char path[PATH_MAX];
	const char *slash;
	void *library;
	Dl_info self;
	CUresult r;

	if (!dladdr((void *)open_driver, &self) || !(slash = strrchr(self.dli_fname, '/')))
		return;
	snprintf(path, sizeof path, "%.*s/../libcuda.so.1", (int)(slash - self.dli_fname), self.dli_fname);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return;
	for (unsigned int i = 0; i < CUDA_CALL_COUNT; i++)
		((void **)&soft_cu)[i] = dlsym(library, cuda_call_name[i]);
	if (!soft_cu.cuInit)
		return;
	r = soft_cu.cuInit(0);
	if (r == CUDA_SUCCESS)
		r = soft_cu.cuDeviceGetCount(&device_count);
	failure = (hipError_t)r;
}

hipError_t state_ready(void)
{
	pthread_once(&once, open_driver);
	return failure;
}

hip_ordinal state_device(void)
{
	return device;
}

hipError_t state_choose(hip_ordinal is)
{
	hipError_t r = state_ready();

	if (r != hipSuccess)
		return r;
	if (is < 0 || is >= device_count || is >= DEVICES)
		return state_said(CUDA_ERROR_INVALID_DEVICE);
	device = is;
	return hipSuccess;
}

hipError_t state_enter(void)
{
	hipError_t r = state_ready();
	CUresult made = CUDA_SUCCESS;

	if (r != hipSuccess)
		return r;
	pthread_mutex_lock(&lock);
	if (!context[device])
		made = soft_cu.cuDevicePrimaryCtxRetain(&context[device], device);
	pthread_mutex_unlock(&lock);
	if (made == CUDA_SUCCESS)
		made = soft_cu.cuCtxPushCurrent_v2(context[device]);
	return state_said(made);
}

hipError_t state_reset(void)
{
	hipError_t r = state_ready();

	if (r != hipSuccess)
		return r;
	pthread_mutex_lock(&lock);
	if (context[device])
		soft_cu.cuDevicePrimaryCtxRelease_v2(device);
	context[device] = NULL;
	pthread_mutex_unlock(&lock);
	return state_said(soft_cu.cuDevicePrimaryCtxReset_v2(device));
}

void state_leave(const hipError_t *entered)
{
	CUcontext popped;

	if (*entered == hipSuccess)
		soft_cu.cuCtxPopCurrent_v2(&popped);
}

hipError_t state_said(CUresult r)
{
	if (r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_READY)
		last = (hipError_t)r;
	return (hipError_t)r;
}

hipError_t state_last(bool forget)
{
	hipError_t is = last;

	if (forget)
		last = hipSuccess;
	return is;
}
