/* soft.c: see soft.h. */
#include "soft.h"
#include "cuda_table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHIPS 64
#define MADE 64

static struct cuda_table cu;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static CUcontext contexts[CHIPS], made[MADE];
static int made_on[MADE];
static CUfunction spins[CHIPS];
static int failure = CUDA_ERROR_NO_DEVICE, chips;
static __thread CUcontext now;

static const char code[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry spin_a()\n{\n	"
			   "ret;\n}\n";

static void open_driver(void)
{
	void *library = dlopen(SOFT_CUDA, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;
	for (unsigned int i = 0; i < CUDA_CALL_COUNT; i++)
		((void **)&cu)[i] = dlsym(library, cuda_call_name[i]);
	failure = cu.cuInit ? (int)cu.cuInit(0) : failure;
	if (!failure)
		failure = (int)cu.cuDeviceGetCount(&chips);
}

int soft_ready(void)
{
	pthread_once(&once, open_driver);
	return failure;
}

int soft_chip(const char *visible, int device)
{
	const char *list = getenv(visible), *at = list;

	if (soft_ready() || device < 0)
		return -1;
	for (int i = 0; at && i < device; i++) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	if (list)
		device = at ? atoi(at) : -1;
	return device < chips ? device : -1;
}

int soft_count(const char *visible, int *ret)
{
	*ret = 0;
	while (soft_chip(visible, *ret) >= 0)
		++*ret;
	return soft_ready();
}

int soft_uuid(int chip, void *ret16)
{
	return (int)cu.cuDeviceGetUuid(ret16, chip);
}

int soft_name(int chip, char *ret, int size)
{
	return (int)cu.cuDeviceGetName(ret, size, chip);
}

int soft_total(int chip, size_t *ret)
{
	return (int)cu.cuDeviceTotalMem_v2(ret, chip);
}

/* Contexts: a program may use CUDA beside, whose own current context stays what it is. -------------------------------
 */

int soft_enter(int chip)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!contexts[chip])
		r = cu.cuDevicePrimaryCtxRetain(&contexts[chip], chip);
	if (r == CUDA_SUCCESS)
		now = contexts[chip];
	pthread_mutex_unlock(&lock);
	return (int)r;
}

void *soft_context(void)
{
	return now;
}

int soft_set_context(void *context)
{
	now = context;
	return 0;
}

int soft_context_chip(void)
{
	int found = -1;

	pthread_mutex_lock(&lock);
	for (int i = 0; now && found < 0 && i < chips; i++)
		if (contexts[i] == now)
			found = i;
	for (int i = 0; now && found < 0 && i < MADE; i++)
		if (made[i] == now)
			found = made_on[i];
	pthread_mutex_unlock(&lock);
	return found;
}

int soft_make_context(int chip, void **ret)
{
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
	CUcontext was;
	int i = 0;

	pthread_mutex_lock(&lock);
	while (i < MADE && made[i])
		i++;
	if (i < MADE)
		r = cu.cuCtxCreate_v2(&made[i], 0, chip);
	if (r == CUDA_SUCCESS) {
		cu.cuCtxPopCurrent_v2(&was);
		made_on[i] = chip;
		*ret = now = made[i];
	}
	pthread_mutex_unlock(&lock);
	return (int)r;
}

int soft_end_context(void *context)
{
	CUresult r = CUDA_ERROR_INVALID_CONTEXT;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < MADE; i++)
		if (context && made[i] == context) {
			r = cu.cuCtxDestroy_v2(context);
			made[i] = NULL;
		}
	if (now == context)
		now = NULL;
	pthread_mutex_unlock(&lock);
	return (int)r;
}

int soft_reset(int chip)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	if (contexts[chip])
		r = cu.cuDevicePrimaryCtxReset_v2(chip);
	if (now == contexts[chip])
		now = NULL;
	contexts[chip] = NULL;
	spins[chip] = NULL;
	pthread_mutex_unlock(&lock);
	return (int)r;
}

static int push(void)
{
	return soft_context_chip() < 0 ? (int)CUDA_ERROR_INVALID_CONTEXT : (int)cu.cuCtxPushCurrent_v2(now);
}

static void pop(const int *pushed)
{
	CUcontext was;

	if (!*pushed)
		cu.cuCtxPopCurrent_v2(&was);
}

#define IN_CONTEXT                                                                                                     \
	__attribute__((cleanup(pop))) const int pushed = push();                                                       \
	if (pushed)                                                                                                    \
	return pushed

/* Memory -------------------------------------------------------------------------------------------------------------
 */

int soft_alloc(void **ret, size_t size)
{
	IN_CONTEXT;
	return (int)cu.cuMemAlloc_v2((CUdeviceptr *)(void *)ret, size);
}

int soft_managed(void **ret, size_t size)
{
	IN_CONTEXT;
	return (int)cu.cuMemAllocManaged((CUdeviceptr *)(void *)ret, size, 1);
}

int soft_free(void *at)
{
	IN_CONTEXT;
	return (int)cu.cuMemFree_v2((CUdeviceptr)(uintptr_t)at);
}

int soft_info(size_t *ret_free, size_t *ret_total)
{
	IN_CONTEXT;
	return (int)cu.cuMemGetInfo_v2(ret_free, ret_total);
}

int soft_range(void *at, void **ret_base, size_t *ret_size)
{
	IN_CONTEXT;
	return (int)cu.cuMemGetAddressRange_v2((CUdeviceptr *)(void *)ret_base, ret_size, (CUdeviceptr)(uintptr_t)at);
}

static CUmemAllocationProp on_chip(int chip)
{
	return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = chip } };
}

int soft_create(void **ret_handle, size_t size, int chip)
{
	CUmemAllocationProp prop = on_chip(chip);

	IN_CONTEXT;
	return (int)cu.cuMemCreate((CUmemGenericAllocationHandle *)(void *)ret_handle, size, &prop, 0);
}

int soft_release(void *handle)
{
	IN_CONTEXT;
	return (int)cu.cuMemRelease((CUmemGenericAllocationHandle)(uintptr_t)handle);
}

int soft_reserve(void **ret, size_t size)
{
	IN_CONTEXT;
	return (int)cu.cuMemAddressReserve((CUdeviceptr *)(void *)ret, size, 0, 0, 0);
}

int soft_unreserve(void *at, size_t size)
{
	IN_CONTEXT;
	return (int)cu.cuMemAddressFree((CUdeviceptr)(uintptr_t)at, size);
}

int soft_map(void *at, size_t size, void *handle)
{
	IN_CONTEXT;
	return (int)cu.cuMemMap((CUdeviceptr)(uintptr_t)at, size, 0, (CUmemGenericAllocationHandle)(uintptr_t)handle,
				0);
}

int soft_unmap(void *at, size_t size)
{
	IN_CONTEXT;
	return (int)cu.cuMemUnmap((CUdeviceptr)(uintptr_t)at, size);
}

size_t soft_granularity(void)
{
	CUmemAllocationProp prop = on_chip(0);
	size_t size = 0;

	cu.cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	return size;
}

/* Work ---------------------------------------------------------------------------------------------------------------
 */

int soft_copy(void *to, const void *from, size_t size, void *stream, bool waits)
{
	CUdeviceptr dst = (CUdeviceptr)(uintptr_t)to, src = (CUdeviceptr)(uintptr_t)from;

	IN_CONTEXT;
	return waits ? (int)cu.cuMemcpy(dst, src, size) : (int)cu.cuMemcpyAsync(dst, src, size, stream);
}

int soft_set(void *to, int value, size_t size, void *stream, bool waits)
{
	CUdeviceptr dst = (CUdeviceptr)(uintptr_t)to;

	CUresult r;

	IN_CONTEXT;
	r = cu.cuMemsetD8Async(dst, (unsigned char)value, size, stream);
	return r || !waits ? (int)r : (int)cu.cuStreamSynchronize(stream);
}

int soft_spin(unsigned int blocks, void *stream)
{
	int chip = soft_context_chip();
	CUresult r = CUDA_SUCCESS;
	CUmodule module;

	IN_CONTEXT;
	pthread_mutex_lock(&lock);
	if (!spins[chip])
		r = cu.cuModuleLoadData(&module, code);
	if (r == CUDA_SUCCESS && !spins[chip])
		r = cu.cuModuleGetFunction(&spins[chip], module, "spin_a");
	pthread_mutex_unlock(&lock);
	return r ? (int)r
		 : (int)cu.cuLaunchKernel(spins[chip], blocks ? blocks : 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
}

int soft_stream(void **ret)
{
	IN_CONTEXT;
	return (int)cu.cuStreamCreate((CUstream *)(void *)ret, CU_STREAM_NON_BLOCKING);
}

int soft_stream_end(void *stream)
{
	IN_CONTEXT;
	return (int)cu.cuStreamDestroy_v2(stream);
}

int soft_stream_wait(void *stream)
{
	IN_CONTEXT;
	return (int)cu.cuStreamSynchronize(stream);
}

int soft_stream_query(void *stream)
{
	IN_CONTEXT;
	return (int)cu.cuStreamQuery(stream);
}

int soft_wait_all(void)
{
	IN_CONTEXT;
	return (int)cu.cuCtxSynchronize();
}

int soft_event(void **ret)
{
	IN_CONTEXT;
	return (int)cu.cuEventCreate((CUevent *)(void *)ret, CU_EVENT_BLOCKING_SYNC);
}

int soft_event_end(void *event)
{
	IN_CONTEXT;
	return (int)cu.cuEventDestroy_v2(event);
}

int soft_event_put(void *event, void *stream)
{
	IN_CONTEXT;
	return (int)cu.cuEventRecord(event, stream);
}

int soft_event_query(void *event)
{
	IN_CONTEXT;
	return (int)cu.cuEventQuery(event);
}

int soft_event_wait(void *event)
{
	IN_CONTEXT;
	return (int)cu.cuEventSynchronize(event);
}

int soft_event_between(float *ret_ms, void *from, void *to)
{
	IN_CONTEXT;
	return (int)cu.cuEventElapsedTime(ret_ms, from, to);
}

int soft_stream_after(void *stream, void *event)
{
	IN_CONTEXT;
	return (int)cu.cuStreamWaitEvent(stream, event, 0);
}

void soft_trouble(void)
{
	const char *how = getenv("METE_STAND_IN");

	if (how && !strcmp(how, "crash"))
		raise(SIGABRT);
	if (how && !strcmp(how, "print")) {
		puts("a word of the vendor's");
		fflush(stdout);
	}
	while (how && !strcmp(how, "hang"))
		pause();
}
