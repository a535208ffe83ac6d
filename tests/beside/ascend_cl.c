/*
 * ascend_cl.c: a stand-in for libascendcl.so (soft.h): the upper level, which calls the lower one by way of the
 * linker's tables, as Ascend's does. METE_STAND_IN_CARDS=1: a card that no other API knows, and that tells no UUID.
 */
#include "soft.h"

#include <stdlib.h>
#include <string.h>

#define UNSUPPORTED 207000

/* libruntime.so */
int rtGetDeviceCount(int *count);
int rtSetDevice(int device);
int rtGetDevice(int *device);
int rtDeviceReset(int device);
int rtCtxGetCurrent(void **context);
int rtCtxSetCurrent(void *context);
int rtMalloc(void **devPtr, uint64_t size, uint32_t type, uint16_t moduleId);
int rtMallocCached(void **devPtr, uint64_t size, uint32_t type, uint16_t moduleId);
int rtDvppMalloc(void **devPtr, uint64_t size, uint16_t moduleId);
int rtMemAllocManaged(void **devPtr, uint64_t size, uint32_t flag, uint16_t moduleId);
int rtsMalloc(void **devPtr, uint64_t size, int policy, int advise, void *cfg);
int rtFree(void *devPtr);
int rtDvppFree(void *devPtr);
int rtFreeWithDevSync(void *devPtr);
int rtMemGetInfoEx(int type, size_t *free_bytes, size_t *total);
int rtMallocPhysical(void **handle, size_t size, const void *prop, uint64_t flags);
int rtFreePhysical(void *handle);
int rtReserveMemAddress(void **at, size_t size, size_t alignment, void *wanted, uint64_t flags);
int rtReleaseMemAddress(void *at);
int rtMapMem(void *at, size_t size, size_t offset, void *handle, uint64_t flags);
int rtUnmapMem(void *at);
int rtKernelLaunch(const void *stub, uint32_t blocks, void *args, uint32_t size, void *shared, void *stream);
int rtModelExecute(void *model, void *stream, uint32_t flag);
int rtMemcpy(void *dst, uint64_t most, const void *src, uint64_t count, int kind);
int rtMemcpyAsync(void *dst, uint64_t most, const void *src, uint64_t count, int kind, void *stream);
int rtMemset(void *dst, uint64_t most, uint32_t value, uint64_t count);
int rtMemsetAsync(void *dst, uint64_t most, uint32_t value, uint64_t count, void *stream);
int rtStreamCreate(void **stream, int priority);
int rtStreamDestroy(void *stream);
int rtStreamSynchronize(void *stream);
int rtDeviceSynchronize(void);
int rtStreamWaitEvent(void *stream, void *event);
int rtEventCreate(void **event);
int rtEventDestroy(void *event);
int rtEventRecord(void *event, void *stream);
int rtEventQueryStatus(void *event, int *status);
int rtEventSynchronize(void *event);
int rtEventElapsedTime(float *ms, void *from, void *to);

static bool is_own_card(void)
{
	return getenv("METE_STAND_IN_CARDS");
}

CALL(aclInit, const char *config)
{
	(void)config;
	soft_trouble();
	return 0;
}

CALL(aclFinalize, void)
{
	return 0;
}

EXPORT const char *aclrtGetSocName(void);
const char *aclrtGetSocName(void)
{
	return "Ascend stand-in";
}

CALL(aclrtGetVersion, int *major, int *minor, int *patch)
{
	*major = 1;
	*minor = 16;
	*patch = 0;
	return 0;
}

CALL(aclrtGetDeviceCount, uint32_t *count)
{
	int n = 0, r = rtGetDeviceCount(&n);

	*count = (uint32_t)n;
	return r;
}

CALL(aclrtSetDevice, int device)
{
	return rtSetDevice(device);
}

CALL(aclrtGetDevice, int *device)
{
	return rtGetDevice(device);
}

CALL(aclrtResetDevice, int device)
{
	return rtDeviceReset(device);
}

CALL(aclrtGetPrimaryCtxState, int device, uint32_t *flags, int *active)
{
	void *context;

	(void)device;
	*flags = 0;
	*active = !rtCtxGetCurrent(&context);
	return 0;
}

CALL(aclrtDeviceGetUuid, int device, void *uuid)
{
	return is_own_card() ? UNSUPPORTED : soft_uuid(soft_chip("ASCEND_RT_VISIBLE_DEVICES", device), uuid);
}

#define IS_VIRTUAL 501

/* METE_STAND_IN_VIRTUAL: the devices are parts of their chips, by a template. */
CALL(aclrtGetDeviceInfo, uint32_t device, int attr, int64_t *value)
{
	(void)device;
	*value = getenv("METE_STAND_IN_VIRTUAL") != NULL;
	return attr == IS_VIRTUAL ? 0 : UNSUPPORTED;
}

CALL(aclrtGetCurrentContext, void **context)
{
	return rtCtxGetCurrent(context);
}

CALL(aclrtSetCurrentContext, void *context)
{
	return rtCtxSetCurrent(context);
}

/* Rounded and padded as the documentation says of all but Align32. */
static size_t padded(size_t size)
{
	return (size + 31) / 32 * 32 + 32;
}

CALL(aclrtMalloc, void **devPtr, size_t size, int policy)
{
	(void)policy;
	return rtMalloc(devPtr, padded(size), 0, 33);
}

CALL(aclrtMallocAlign32, void **devPtr, size_t size, int policy)
{
	(void)policy;
	return rtMalloc(devPtr, (size + 31) / 32 * 32, 0, 33);
}

CALL(aclrtMallocCached, void **devPtr, size_t size, int policy)
{
	(void)policy;
	return rtMallocCached(devPtr, padded(size), 0, 33);
}

CALL(aclrtMallocWithCfg, void **devPtr, size_t size, int policy, void *cfg)
{
	return rtsMalloc(devPtr, size, policy, 0, cfg);
}

CALL(aclrtMallocForTaskScheduler, void **devPtr, size_t size, int policy, void *cfg)
{
	return rtsMalloc(devPtr, size, policy, 1, cfg);
}

CALL(aclrtMemAllocManaged, void **devPtr, uint64_t size, uint32_t flag)
{
	return rtMemAllocManaged(devPtr, size, flag, 33);
}

CALL(acldvppMalloc, void **devPtr, size_t size)
{
	return rtDvppMalloc(devPtr, size, 33);
}

CALL(acldvppFree, void *devPtr)
{
	return rtDvppFree(devPtr);
}

CALL(aclrtFree, void *devPtr)
{
	return rtFree(devPtr);
}

CALL(aclrtFreeWithDevSync, void *devPtr)
{
	return rtFreeWithDevSync(devPtr);
}

CALL(aclrtMallocHost, void **host, size_t size)
{
	return rtMalloc(host, size, 0x81u, 33);
}

CALL(aclrtFreeHost, void *host)
{
	free(host);
	return 0;
}

CALL(aclrtGetMemInfo, int attr, size_t *free_bytes, size_t *total)
{
	return rtMemGetInfoEx(attr, free_bytes, total);
}

CALL(aclrtMemPoolCreate, void *pool, const void *props)
{
	(void)props;
	*(void **)pool = pool;
	return 0;
}

struct physical {
	int handleType, allocationType, memAttr;
	uint32_t id;
	int type;
	uint64_t reserve;
};

struct prop {
	uint32_t side, devid, module_id, pg_type, mem_type;
	uint64_t reserve;
};

CALL(aclrtMallocPhysical, void **handle, size_t size, const struct physical *p, uint64_t flags)
{
	struct prop prop = { .side = (uint32_t)p->type, .devid = p->id };

	return rtMallocPhysical(handle, size, &prop, flags);
}

CALL(aclrtFreePhysical, void *handle)
{
	return rtFreePhysical(handle);
}

CALL(aclrtReserveMemAddress, void **at, size_t size, size_t alignment, void *wanted, uint64_t flags)
{
	return rtReserveMemAddress(at, size, alignment, wanted, flags);
}

CALL(aclrtReleaseMemAddress, void *at)
{
	return rtReleaseMemAddress(at);
}

CALL(aclrtMapMem, void *at, size_t size, size_t offset, void *handle, uint64_t flags)
{
	return rtMapMem(at, size, offset, handle, flags);
}

CALL(aclrtUnmapMem, void *at)
{
	return rtUnmapMem(at);
}

CALL(aclrtMemGetAllocationGranularity, const void *prop, int option, size_t *granularity)
{
	(void)prop;
	(void)option;
	*granularity = soft_granularity();
	return 0;
}

/* Work ---------------------------------------------------------------------------------------------------------------
 */

CALL(aclrtLaunchKernel, void *func, uint32_t blocks, const void *args, size_t size, void *stream)
{
	return rtKernelLaunch(func, blocks, (void *)(uintptr_t)args, (uint32_t)size, NULL, stream);
}

CALL(aclrtLaunchKernelWithConfig, void *func, uint32_t blocks, void *stream, void *cfg, void *args, void *reserve)
{
	(void)cfg;
	(void)reserve;
	return rtKernelLaunch(func, blocks, args, 0, NULL, stream);
}

CALL(aclrtLaunchKernelV2, void *func, uint32_t blocks, const void *args, size_t size, void *cfg, void *stream)
{
	(void)cfg;
	return aclrtLaunchKernel(func, blocks, args, size, stream);
}

/* An operator takes a workspace, as Ascend's do, and leaves it to the next. */
static __thread void *workspace;

CALL(aclopExecuteV2, const char *type, int inputs, void *inputDesc, void *input, int outputs, void *outputDesc,
     void *output, void *attr, void *stream)
{
	int r = workspace ? 0 : rtMalloc(&workspace, 1 << 20, 0, 33);

	(void)inputs;
	(void)inputDesc;
	(void)input;
	(void)outputs;
	(void)outputDesc;
	(void)output;
	(void)attr;
	return r ? r : rtKernelLaunch(type, 1, NULL, 0, NULL, stream);
}

CALL(aclmdlExecuteAsync, uint32_t model, const void *input, void *output, void *stream)
{
	(void)input;
	(void)output;
	return rtModelExecute((void *)(uintptr_t)model, stream, 0);
}

CALL(aclmdlExecute, uint32_t model, const void *input, void *output)
{
	int r = aclmdlExecuteAsync(model, input, output, NULL);

	return r ? r : rtStreamSynchronize(NULL);
}

CALL(aclrtMemcpy, void *dst, size_t most, const void *src, size_t count, int kind)
{
	return rtMemcpy(dst, most, src, count, kind);
}

CALL(aclrtMemcpyAsync, void *dst, size_t most, const void *src, size_t count, int kind, void *stream)
{
	return rtMemcpyAsync(dst, most, src, count, kind, stream);
}

CALL(aclrtMemset, void *dst, size_t most, int value, size_t count)
{
	return rtMemset(dst, most, (uint32_t)value, count);
}

CALL(aclrtMemsetAsync, void *dst, size_t most, int value, size_t count, void *stream)
{
	return rtMemsetAsync(dst, most, (uint32_t)value, count, stream);
}

CALL(aclrtCreateStream, void **stream)
{
	return rtStreamCreate(stream, 0);
}

CALL(aclrtDestroyStream, void *stream)
{
	return rtStreamDestroy(stream);
}

CALL(aclrtSynchronizeStream, void *stream)
{
	return rtStreamSynchronize(stream);
}

CALL(aclrtSynchronizeDevice, void)
{
	return rtDeviceSynchronize();
}

CALL(aclrtStreamWaitEvent, void *stream, void *event)
{
	return rtStreamWaitEvent(stream, event);
}

CALL(aclrtCreateEventWithFlag, void **event, uint32_t flag)
{
	(void)flag;
	return rtEventCreate(event);
}

CALL(aclrtCreateEvent, void **event)
{
	return rtEventCreate(event);
}

CALL(aclrtDestroyEvent, void *event)
{
	return rtEventDestroy(event);
}

CALL(aclrtRecordEvent, void *event, void *stream)
{
	return rtEventRecord(event, stream);
}

CALL(aclrtQueryEventStatus, void *event, int *status)
{
	return rtEventQueryStatus(event, status);
}

CALL(aclrtSynchronizeEvent, void *event)
{
	return rtEventSynchronize(event);
}

CALL(aclrtEventElapsedTime, float *ms, void *from, void *to)
{
	return rtEventElapsedTime(ms, from, to);
}
