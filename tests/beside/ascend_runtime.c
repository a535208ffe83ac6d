/* ascend_runtime.c: a stand-in for Ascend's libruntime.so on the software device (soft.h): the lower of the two levels.
 */
#include "soft.h"

#include <stdlib.h>
#include <string.h>

#define VISIBLE "ASCEND_RT_VISIBLE_DEVICES"
#define INVALID 107000
#define NO_CONTEXT 107002
#define NO_MEMORY 207001
#define UNSUPPORTED 207000

static int said(int r)
{
	switch (r) {
	case 0:
		return 0;
	case 2:
		return NO_MEMORY;
	case 201:
		return NO_CONTEXT;
	default:
		return INVALID;
	}
}

CALL(rtGetDeviceCount, int *count)
{
	return said(soft_count(VISIBLE, count));
}

CALL(rtSetDevice, int device)
{
	int chip = soft_chip(VISIBLE, device);

	return chip < 0 ? 107001 : said(soft_enter(chip));
}

CALL(rtGetDevice, int *device)
{
	int chip = soft_context_chip();

	if (chip < 0)
		return NO_CONTEXT;
	for (*device = 0; soft_chip(VISIBLE, *device) != chip; ++*device)
		;
	return 0;
}

CALL(rtDeviceReset, int device)
{
	int chip = soft_chip(VISIBLE, device);

	return chip < 0 ? 107001 : said(soft_reset(chip));
}

CALL(rtGetDevicePhyIdByIndex, uint32_t device, uint32_t *chip)
{
	*chip = (uint32_t)soft_chip(VISIBLE, (int)device);
	return 0;
}

CALL(rtCtxGetCurrent, void **context)
{
	*context = soft_context();
	return *context ? 0 : NO_CONTEXT;
}

CALL(rtCtxSetCurrent, void *context)
{
	return context ? said(soft_set_context(context)) : INVALID;
}

/* Memory -------------------------------------------------------------------------------------------------------------
 */

CALL(rtMalloc, void **devPtr, uint64_t size, uint32_t type, uint16_t moduleId)
{
	(void)moduleId;
	if ((type & 0x3ffu) == 0x81u) /* of the host */
		return (*devPtr = malloc(size)) ? 0 : NO_MEMORY;
	return size ? said(soft_alloc(devPtr, size)) : INVALID;
}

CALL(rtMallocCached, void **devPtr, uint64_t size, uint32_t type, uint16_t moduleId)
{
	return rtMalloc(devPtr, size, type, moduleId);
}

CALL(rtDvppMalloc, void **devPtr, uint64_t size, uint16_t moduleId)
{
	(void)moduleId;
	return said(soft_alloc(devPtr, size));
}

CALL(rtDvppMallocWithFlag, void **devPtr, uint64_t size, uint32_t flag, uint16_t moduleId)
{
	(void)flag;
	return rtDvppMalloc(devPtr, size, moduleId);
}

CALL(rtMemAllocManaged, void **devPtr, uint64_t size, uint32_t flag, uint16_t moduleId)
{
	(void)flag;
	(void)moduleId;
	return said(soft_managed(devPtr, size));
}

CALL(rtsMalloc, void **devPtr, uint64_t size, int policy, int advise, void *cfg)
{
	(void)policy;
	(void)advise;
	(void)cfg;
	return said(soft_alloc(devPtr, size));
}

CALL(rtFree, void *devPtr)
{
	return said(soft_free(devPtr));
}

CALL(rtDvppFree, void *devPtr)
{
	return said(soft_free(devPtr));
}

CALL(rtsFree, void *devPtr)
{
	return rtFree(devPtr);
}

CALL(rtFreeWithDevSync, void *devPtr)
{
	soft_wait_all();
	return rtFree(devPtr);
}

CALL(rtMemFreeManaged, void *devPtr)
{
	return rtFree(devPtr);
}

CALL(rtMemGetInfoEx, int type, size_t *free_bytes, size_t *total)
{
	(void)type;
	return said(soft_info(free_bytes, total));
}

struct prop {
	uint32_t side, devid, module_id, pg_type, mem_type;
	uint64_t reserve;
};

CALL(rtMallocPhysical, void **handle, size_t size, const struct prop *prop, uint64_t flags)
{
	int chip = soft_chip(VISIBLE, (int)prop->devid);

	if (flags || prop->side != 1 || chip < 0)
		return INVALID;
	return said(soft_create(handle, size, chip));
}

CALL(rtFreePhysical, void *handle)
{
	return said(soft_release(handle));
}

CALL(rtsMemMallocPhysical, void **handle, size_t size, int policy, void *cfg)
{
	(void)policy;
	(void)cfg;
	return said(soft_create(handle, size, soft_context_chip()));
}

CALL(rtsMemFreePhysical, void **handle)
{
	return rtFreePhysical(*handle);
}

CALL(rtReserveMemAddress, void **at, size_t size, size_t alignment, void *wanted, uint64_t flags)
{
	return alignment || wanted || flags ? INVALID : said(soft_reserve(at, size));
}

/* The one size that the cases map; the real call needs none. */
#define MAPPED soft_granularity()

CALL(rtReleaseMemAddress, void *at)
{
	return said(soft_unreserve(at, MAPPED));
}

CALL(rtMapMem, void *at, size_t size, size_t offset, void *handle, uint64_t flags)
{
	return offset || flags ? INVALID : said(soft_map(at, size, handle));
}

CALL(rtUnmapMem, void *at)
{
	return said(soft_unmap(at, MAPPED));
}

/* Work ---------------------------------------------------------------------------------------------------------------
 */

CALL(rtKernelLaunch, const void *stub, uint32_t blocks, void *args, uint32_t size, void *shared, void *stream)
{
	(void)args;
	(void)size;
	(void)shared;
	return stub ? said(soft_spin(blocks, stream)) : INVALID;
}

CALL(rtKernelLaunchWithHandleV2, void *handle, uint64_t key, uint32_t blocks, void *args, void *shared, void *stream,
     const void *cfg)
{
	(void)key;
	(void)args;
	(void)shared;
	(void)cfg;
	return handle ? said(soft_spin(blocks, stream)) : INVALID;
}

CALL(rtFftsPlusTaskLaunchWithFlag, void *info, void *stream, uint32_t flag)
{
	(void)flag;
	return info ? said(soft_spin(1, stream)) : INVALID;
}

/* 2 is the call above, by its number. */
CALL(rtGeneralCtrl, uintptr_t *list, uint32_t count, uint32_t number)
{
	if (!list || number != 2 || count != 3)
		return INVALID;
	return rtFftsPlusTaskLaunchWithFlag((void *)list[0], (void *)list[1], (uint32_t)list[2]);
}

CALL(rtModelExecute, void *model, void *stream, uint32_t flag)
{
	(void)flag;
	return model ? said(soft_spin(1, stream)) : INVALID;
}

CALL(rtMemcpy, void *dst, uint64_t most, const void *src, uint64_t count, int kind)
{
	(void)kind;
	return count > most ? INVALID : said(soft_copy(dst, src, count, NULL, true));
}

CALL(rtMemcpyAsync, void *dst, uint64_t most, const void *src, uint64_t count, int kind, void *stream)
{
	(void)kind;
	return count > most ? INVALID : said(soft_copy(dst, src, count, stream, false));
}

CALL(rtMemset, void *dst, uint64_t most, uint32_t value, uint64_t count)
{
	return count > most ? INVALID : said(soft_set(dst, (int)value, count, NULL, true));
}

CALL(rtMemsetAsync, void *dst, uint64_t most, uint32_t value, uint64_t count, void *stream)
{
	return count > most ? INVALID : said(soft_set(dst, (int)value, count, stream, false));
}

CALL(rtStreamCreate, void **stream, int priority)
{
	(void)priority;
	return said(soft_stream(stream));
}

CALL(rtStreamDestroy, void *stream)
{
	return said(soft_stream_end(stream));
}

CALL(rtStreamSynchronize, void *stream)
{
	return said(soft_stream_wait(stream));
}

CALL(rtDeviceSynchronize, void)
{
	return said(soft_wait_all());
}

CALL(rtStreamWaitEvent, void *stream, void *event)
{
	return said(soft_stream_after(stream, event));
}

CALL(rtEventCreate, void **event)
{
	return said(soft_event(event));
}

CALL(rtEventDestroy, void *event)
{
	return said(soft_event_end(event));
}

CALL(rtEventRecord, void *event, void *stream)
{
	return said(soft_event_put(event, stream));
}

CALL(rtEventQueryStatus, void *event, int *status)
{
	int r = soft_event_query(event);

	*status = !r;
	return r == 600 ? 0 : said(r);
}

CALL(rtEventSynchronize, void *event)
{
	return said(soft_event_wait(event));
}

CALL(rtEventElapsedTime, float *ms, void *from, void *to)
{
	return said(soft_event_between(ms, from, to));
}
