/*
 * cambricon_rt.c: a stand-in for Cambricon's libcnrt.so (soft.h): the upper level, which calls the lower one by way of
 * the linker's tables, as Cambricon's does.
 */
#include "soft.h"

/* libcndrv.so */
int cnInit(unsigned int flags);
int cnDeviceGetCount(int *count);
int cnSharedContextAcquire(void **context, int device);
int cnSharedContextReset(int device);
int cnCtxGetCurrent(void **context);
int cnCtxGetDevice(int *device);
int cnCtxSync(void);
int cnMalloc(uint64_t *address, uint64_t bytes);
int cnMallocConstant(uint64_t *address, uint64_t bytes);
int cnFree(uint64_t address);
int cnMemGetInfo(uint64_t *free_bytes, uint64_t *total);
int cnInvokeKernel(void *kernel, unsigned int x, unsigned int y, unsigned int z, int kind, unsigned int reserved,
		   void *queue, void **params, void **extra);
int cnMemcpyHtoD(uint64_t dst, const void *src, uint64_t bytes);
int cnMemcpyDtoH(void *dst, uint64_t src, uint64_t bytes);
int cnMemcpyAsync_V3(uint64_t dst, uint64_t src, uint64_t bytes, void *queue);
int cnMemsetD8(uint64_t address, unsigned char value, uint64_t number);
int cnCreateQueue(void **queue, unsigned int flags);
int cnDestroyQueue(void *queue);
int cnQueueSync(void *queue);
int cnQueueWaitNotifier(void *notifier, void *queue, unsigned int flags);
int cnCreateNotifier(void **notifier, unsigned int flags);
int cnDestroyNotifier(void *notifier);
int cnPlaceNotifier(void *notifier, void *queue);

static uint64_t number(const void *p)
{
	return (uintptr_t)p;
}

CALL(cnrtGetDeviceCount, unsigned int *count)
{
	int n = 0, r = cnInit(0);

	if (!r)
		r = cnDeviceGetCount(&n);
	*count = (unsigned int)n;
	return r;
}

CALL(cnrtSetDevice, int ordinal)
{
	void *context;
	int r = cnInit(0);

	return r ? r : cnSharedContextAcquire(&context, ordinal);
}

CALL(cnrtDeviceReset, void)
{
	int device, r = cnCtxGetDevice(&device);

	return r ? r : cnSharedContextReset(device);
}

CALL(cnrtSyncDevice, void)
{
	return cnCtxSync();
}

/* A thread that has named no device uses the first. */
static int place(void)
{
	void *context = NULL;

	cnCtxGetCurrent(&context);
	return context ? 0 : cnrtSetDevice(0);
}

CALL(cnrtMalloc, void **p, size_t bytes)
{
	uint64_t address = 0;
	int r = place();

	r = r ? r : cnMalloc(&address, bytes);
	*p = (void *)(uintptr_t)address;
	return r;
}

/* Past the level below, as a version may whose libraries are one. */
CALL(cnrtMallocFrameBuffer, void **p, size_t bytes)
{
	int r = place();

	*p = NULL;
	return r ? r : soft_alloc(p, bytes);
}

CALL(cnrtMallocConstant, void **p, size_t bytes)
{
	uint64_t address = 0;
	int r = place();

	r = r ? r : cnMallocConstant(&address, bytes);

	*p = (void *)(uintptr_t)address;
	return r;
}

CALL(cnrtFree, void *p)
{
	return cnFree(number(p));
}

CALL(cnrtMemGetInfo, size_t *free_bytes, size_t *total)
{
	return cnMemGetInfo((uint64_t *)free_bytes, (uint64_t *)total);
}

struct dim {
	unsigned int x, y, z;
};

CALL(cnrtInvokeKernel, const void *kernel, struct dim dim, int kind, void **args, size_t reserved, void *queue)
{
	(void)reserved;
	return cnInvokeKernel((void *)(uintptr_t)kernel, dim.x, dim.y, dim.z, kind, 0, queue, args, NULL);
}

CALL(cnrtMemcpy, void *dst, void *src, size_t bytes, int direction)
{
	return direction == 1 ? cnMemcpyHtoD(number(dst), src, bytes) : cnMemcpyDtoH(dst, number(src), bytes);
}

CALL(cnrtMemcpyAsync_V3, void *dst, void *src, size_t bytes, void *queue, int direction)
{
	(void)direction;
	return cnMemcpyAsync_V3(number(dst), number(src), bytes, queue);
}

CALL(cnrtMemset, void *p, int value, size_t bytes)
{
	return cnMemsetD8(number(p), (unsigned char)value, bytes);
}

CALL(cnrtQueueCreate, void **queue)
{
	return cnCreateQueue(queue, 0);
}

CALL(cnrtQueueDestroy, void *queue)
{
	return cnDestroyQueue(queue);
}

CALL(cnrtQueueSync, void *queue)
{
	return cnQueueSync(queue);
}

CALL(cnrtQueueWaitNotifier, void *notifier, void *queue, unsigned int flag)
{
	return cnQueueWaitNotifier(notifier, queue, flag);
}

CALL(cnrtNotifierCreate, void **notifier)
{
	return cnCreateNotifier(notifier, 0);
}

CALL(cnrtNotifierDestroy, void *notifier)
{
	return cnDestroyNotifier(notifier);
}

CALL(cnrtPlaceNotifier, void *notifier, void *queue)
{
	return cnPlaceNotifier(notifier, queue);
}
