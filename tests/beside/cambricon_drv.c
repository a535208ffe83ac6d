/*
 * cambricon_drv.c: a stand-in for Cambricon's libcndrv.so on the software device (soft.h): the lower of the two levels.
 * METE_STAND_IN_CARDS=1: a card that no other API knows, and that tells no UUID.
 */
#include "soft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VISIBLE "MLU_VISIBLE_DEVICES"
#define NOT_READY 1
#define INVALID_DEVICE 100005
#define INVALID 100006
#define UNSUPPORTED 100050
#define NO_MEMORY 100100
#define INVALID_CONTEXT 100201

static int said(int r)
{
	switch (r) {
	case 0:
		return 0;
	case 2:
		return NO_MEMORY;
	case 201:
		return INVALID_CONTEXT;
	case 600:
		return NOT_READY;
	default:
		return INVALID;
	}
}

static void *at(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

/* 1 and 2 are names: the thread's own default queue, and the context's. CUDA has them the other way round. */
static void *queue_of(void *queue)
{
	return queue == (void *)1 ? (void *)2 : queue == (void *)2 ? (void *)1 : queue;
}

CALL(cnInit, unsigned int flags)
{
	soft_trouble();
	return flags ? INVALID : said(soft_ready());
}

CALL(cnGetLibVersion, int *major, int *minor, int *patch)
{
	*major = 2;
	*minor = 15;
	*patch = 5;
	return 0;
}

CALL(cnDeviceGetCount, int *count)
{
	return said(soft_count(VISIBLE, count));
}

CALL(cnDeviceGet, int *device, int ordinal)
{
	*device = ordinal;
	return soft_chip(VISIBLE, ordinal) < 0 ? INVALID_DEVICE : 0;
}

CALL(cnDeviceGetName, char *name, int size, int device)
{
	snprintf(name, (size_t)size, "MLU stand-in");
	return soft_chip(VISIBLE, device) < 0 ? INVALID_DEVICE : 0;
}

CALL(cnDeviceTotalMem, uint64_t *bytes, int device)
{
	int chip = soft_chip(VISIBLE, device);

	return chip < 0 ? INVALID_DEVICE : said(soft_total(chip, (size_t *)bytes));
}

CALL(cnDeviceGetUuid, void *uuid, int device)
{
	int chip = soft_chip(VISIBLE, device);

	if (getenv("METE_STAND_IN_CARDS"))
		return UNSUPPORTED;
	return chip < 0 ? INVALID_DEVICE : said(soft_uuid(chip, uuid));
}

CALL(cnDeviceGetPCIBusId, char *text, int size, int device)
{
	snprintf(text, (size_t)size, "0000:%02x:00.0", 0x40 + soft_chip(VISIBLE, device));
	return 0;
}

CALL(cnSharedContextAcquire, void **context, int device)
{
	int chip = soft_chip(VISIBLE, device), r = chip < 0 ? INVALID_DEVICE : said(soft_enter(chip));

	*context = soft_context();
	return r;
}

CALL(cnSharedContextReset, int device)
{
	int chip = soft_chip(VISIBLE, device);

	return chip < 0 ? INVALID_DEVICE : said(soft_reset(chip));
}

CALL(cnCtxCreate, void **context, unsigned int flags, int device)
{
	int chip = soft_chip(VISIBLE, device);

	return flags || chip < 0 ? INVALID_DEVICE : said(soft_make_context(chip, context));
}

CALL(cnCtxDestroy, void *context)
{
	return said(soft_end_context(context));
}

CALL(cnCtxGetCurrent, void **context)
{
	*context = soft_context();
	return 0;
}

CALL(cnCtxSetCurrent, void *context)
{
	return said(soft_set_context(context));
}

CALL(cnCtxGetDevice, int *device)
{
	int chip = soft_context_chip();

	if (chip < 0)
		return INVALID_CONTEXT;
	for (*device = 0; soft_chip(VISIBLE, *device) != chip; ++*device)
		;
	return 0;
}

/* Memory -------------------------------------------------------------------------------------------------------------
 */

CALL(cnMalloc, uint64_t *address, uint64_t bytes)
{
	void *p = NULL;
	int r = bytes ? said(soft_alloc(&p, bytes)) : INVALID;

	*address = (uintptr_t)p;
	return r;
}

CALL(cnMallocNode, uint64_t *address, uint64_t bytes, int node)
{
	return node ? INVALID : cnMalloc(address, bytes);
}

CALL(cnZmalloc, uint64_t *address, uint64_t bytes)
{
	int r = cnMalloc(address, bytes);

	return r ? r : said(soft_set(at(*address), 0, bytes, NULL, true));
}

CALL(cnMallocConstant, uint64_t *address, uint64_t bytes)
{
	return cnMalloc(address, bytes);
}

CALL(cnMallocPeerAble, uint64_t *address, uint64_t bytes)
{
	return cnMalloc(address, bytes);
}

CALL(cnMallocFrameBuffer, uint64_t *address, uint64_t bytes, int node)
{
	return cnMallocNode(address, bytes, node);
}

CALL(cnFree, uint64_t address)
{
	return said(soft_free(at(address)));
}

CALL(cnMallocHost, void **address, uint64_t bytes)
{
	return (*address = malloc(bytes)) ? 0 : INVALID;
}

CALL(cnFreeHost, void *address)
{
	free(address);
	return 0;
}

CALL(cnMemGetInfo, uint64_t *free_bytes, uint64_t *total)
{
	return said(soft_info((size_t *)free_bytes, (size_t *)total));
}

CALL(cnMemAllocAsync, uint64_t *address, size_t bytes, void *queue)
{
	(void)queue;
	return cnMalloc(address, bytes);
}

struct prop {
	int type, handles, location_type, id;
	unsigned char flags[2];
};

CALL(cnMemCreate, uint64_t *handle, uint64_t size, const struct prop *prop, uint64_t flags)
{
	int chip = soft_chip(VISIBLE, prop->id);
	void *made = NULL;
	int r = flags || chip < 0 ? INVALID : said(soft_create(&made, size, chip));

	*handle = (uintptr_t)made;
	return r;
}

CALL(cnMemRelease, uint64_t handle)
{
	return said(soft_release(at(handle)));
}

CALL(cnMemAddressReserve, uint64_t *address, uint64_t size, uint64_t alignment, uint64_t start, uint64_t flags)
{
	void *p = NULL;
	int r = alignment || start || flags ? INVALID : said(soft_reserve(&p, size));

	*address = (uintptr_t)p;
	return r;
}

CALL(cnMemAddressFree, uint64_t address, uint64_t size)
{
	return said(soft_unreserve(at(address), size));
}

CALL(cnMemMap, uint64_t address, uint64_t size, uint64_t offset, uint64_t handle, uint64_t flags)
{
	return offset || flags ? INVALID : said(soft_map(at(address), size, at(handle)));
}

CALL(cnMemUnmap, uint64_t address, uint64_t size)
{
	return said(soft_unmap(at(address), size));
}

CALL(cnMemGetAllocationGranularity, uint64_t *granularity, const void *prop, int option)
{
	(void)prop;
	(void)option;
	*granularity = soft_granularity();
	return 0;
}

/* Work ---------------------------------------------------------------------------------------------------------------
 */

CALL(cnInvokeKernel, void *kernel, unsigned int x, unsigned int y, unsigned int z, int kind, unsigned int reserved,
     void *queue, void **params, void **extra)
{
	(void)kind;
	(void)reserved;
	(void)params;
	(void)extra;
	return kernel ? said(soft_spin(x * y * z, queue_of(queue))) : INVALID;
}

struct config {
	unsigned int x, y, z;
	int kind;
	unsigned int reserved;
	void *queue, *attrs;
	unsigned int count;
};

CALL(cnInvokeKernelEx, const struct config *c, void *kernel, void **params, void **extra)
{
	return cnInvokeKernel(kernel, c->x, c->y, c->z, c->kind, 0, c->queue, params, extra);
}

CALL(cnTaskTopoEntityInvoke, void *entity, void *queue)
{
	return entity ? said(soft_spin(1, queue_of(queue))) : INVALID;
}

CALL(cnMemcpyHtoD, uint64_t dst, const void *src, uint64_t bytes)
{
	return said(soft_copy(at(dst), src, bytes, NULL, true));
}

CALL(cnMemcpyDtoH, void *dst, uint64_t src, uint64_t bytes)
{
	return said(soft_copy(dst, at(src), bytes, NULL, true));
}

CALL(cnMemcpyAsync_V3, uint64_t dst, uint64_t src, uint64_t bytes, void *queue)
{
	return said(soft_copy(at(dst), at(src), bytes, queue_of(queue), false));
}

CALL(cnMemsetD8, uint64_t address, unsigned char value, uint64_t number)
{
	return said(soft_set(at(address), value, number, NULL, true));
}

CALL(cnCreateQueue, void **queue, unsigned int flags)
{
	(void)flags;
	return said(soft_stream(queue));
}

CALL(cnDestroyQueue, void *queue)
{
	return said(soft_stream_end(queue));
}

CALL(cnQueueSync, void *queue)
{
	return said(soft_stream_wait(queue_of(queue)));
}

CALL(cnQueryQueue, void *queue)
{
	return said(soft_stream_query(queue_of(queue)));
}

CALL(cnCtxSync, void)
{
	return said(soft_wait_all());
}

CALL(cnQueueWaitNotifier, void *notifier, void *queue, unsigned int flags)
{
	(void)flags;
	return said(soft_stream_after(queue_of(queue), notifier));
}

CALL(cnCreateNotifier, void **notifier, unsigned int flags)
{
	(void)flags;
	return said(soft_event(notifier));
}

CALL(cnDestroyNotifier, void *notifier)
{
	return said(soft_event_end(notifier));
}

CALL(cnPlaceNotifier, void *notifier, void *queue)
{
	return said(soft_event_put(notifier, queue_of(queue)));
}

CALL(cnQueryNotifier, void *notifier)
{
	return said(soft_event_query(notifier));
}

CALL(cnWaitNotifier, void *notifier)
{
	return said(soft_event_wait(notifier));
}

CALL(cnNotifierElapsedTime, float *ms, void *from, void *to)
{
	return said(soft_event_between(ms, from, to));
}
