/*
 * events.c: events and fences. See soft.h. An event is a word of the host's memory that streams write and wait for, so
 * that the host can signal it too; where its pool has timestamps, the driver's events tell when what signals it began
 * and ended.
 */
#include "softdev/levelzero/soft.h"

#include <stdlib.h>
#include <time.h>

#define NAP_NS 20000
#define REBASE_MS 200.0f /* the driver tells times as floats, which are exact for a while only */

struct ze_fence {
	struct ze_event event;
};

static CUdeviceptr address_of(const struct ze_event *e)
{
	CUdeviceptr p = 0;

	soft_cu.cuMemHostGetDevicePointer_v2(&p, (void *)e->flag, 0);
	return p;
}

static ze_result_t event_make(struct ze_event *e, struct ze_device *d, bool timed)
{
	CUresult r;

	e->device = d;
	ON_DEVICE(d);
	r = soft_cu.cuMemHostAlloc((void **)(void *)&e->flag, sizeof *e->flag, CU_MEMHOSTALLOC_DEVICEMAP);
	if (r == CUDA_SUCCESS)
		atomic_store(e->flag, 0);
	if (r == CUDA_SUCCESS && timed)
		r = soft_cu.cuEventCreate(&e->begin, CU_EVENT_DEFAULT);
	if (r == CUDA_SUCCESS && timed)
		r = soft_cu.cuEventCreate(&e->end, CU_EVENT_DEFAULT);
	return soft_said(r);
}

static ze_result_t event_unmake(struct ze_event *e)
{
	ON_DEVICE(e->device);
	soft_cu.cuMemFreeHost((void *)e->flag);
	if (e->begin)
		soft_cu.cuEventDestroy_v2(e->begin);
	if (e->end)
		soft_cu.cuEventDestroy_v2(e->end);
	return ZE_RESULT_SUCCESS;
}

CUresult soft_event_begins(struct ze_event *e, CUstream stream)
{
	return e->begin ? soft_cu.cuEventRecord(e->begin, stream) : CUDA_SUCCESS;
}

CUresult soft_event_ends(struct ze_event *e, CUstream stream)
{
	CUresult r = e->end ? soft_cu.cuEventRecord(e->end, stream) : CUDA_SUCCESS;

	return r == CUDA_SUCCESS ? soft_cu.cuStreamWriteValue32_v2(stream, address_of(e), 1, 0) : r;
}

CUresult soft_event_awaited(struct ze_event *e, CUstream stream)
{
	return soft_cu.cuStreamWaitValue32_v2(stream, address_of(e), 1, CU_STREAM_WAIT_VALUE_GEQ);
}

CUresult soft_event_reset(struct ze_event *e, CUstream stream)
{
	return soft_cu.cuStreamWriteValue32_v2(stream, address_of(e), 0, 0);
}

static ze_result_t pool_create(ze_context_handle_t hContext, const ze_event_pool_desc_t *desc, uint32_t numDevices,
			       ze_device_handle_t *phDevices, ze_event_pool_handle_t *ret)
{
	struct ze_event_pool *p = calloc(1, sizeof *p);

	(void)hContext;
	if (!p)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	p->flags = desc->flags;
	p->device = numDevices ? phDevices[0] : soft_device_at(0);
	*ret = p;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_destroy(ze_event_pool_handle_t hEventPool)
{
	free(hEventPool);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *desc, ze_event_handle_t *ret)
{
	struct ze_event *e = calloc(1, sizeof *e);
	ze_result_t r;

	(void)desc;
	if (!e)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	r = event_make(e, pool->device, pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	if (r != ZE_RESULT_SUCCESS)
		free(e);
	else
		*ret = e;
	return r;
}

static ze_result_t event_destroy(ze_event_handle_t hEvent)
{
	event_unmake(hEvent);
	free(hEvent);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_signal(ze_event_handle_t hEvent)
{
	atomic_store(hEvent->flag, 1);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_clear(ze_event_handle_t hEvent)
{
	atomic_store(hEvent->flag, 0);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t event_status(ze_event_handle_t hEvent)
{
	return atomic_load(hEvent->flag) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static ze_result_t event_wait(ze_event_handle_t hEvent, uint64_t timeout)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t begin = now_ns();

	while (!atomic_load(hEvent->flag)) {
		if (now_ns() - begin >= timeout)
			return ZE_RESULT_NOT_READY;
		nanosleep(&nap, NULL);
	}
	return ZE_RESULT_SUCCESS;
}

/* A new event from which times are told, which happens now. */
static CUresult rebase_locked(struct ze_device *d)
{
	CUevent event = NULL;
	float ms = 0;
	CUresult r = d->clock_stream ? CUDA_SUCCESS : soft_cu.cuStreamCreate(&d->clock_stream, CU_STREAM_NON_BLOCKING);

	if (r == CUDA_SUCCESS)
		r = soft_cu.cuEventCreate(&event, CU_EVENT_DEFAULT);
	if (r == CUDA_SUCCESS)
		r = soft_cu.cuEventRecord(event, d->clock_stream);
	if (r == CUDA_SUCCESS)
		r = soft_cu.cuEventSynchronize(event);
	if (r == CUDA_SUCCESS && d->base)
		r = soft_cu.cuEventElapsedTime(&ms, d->base, event);
	if (r != CUDA_SUCCESS)
		return r;
	if (d->base)
		soft_cu.cuEventDestroy_v2(d->base);
	d->base = event;
	d->base_ns += (int64_t)((double)ms * 1e6);
	return CUDA_SUCCESS;
}

/* Since the clock began, which is in the middle of the counter. */
static CUresult tell_locked(struct ze_device *d, CUevent event, uint64_t *ret)
{
	float ms = 0;
	CUresult r = d->base ? CUDA_SUCCESS : rebase_locked(d);

	if (r == CUDA_SUCCESS)
		r = soft_cu.cuEventElapsedTime(&ms, d->base, event);
	*ret = (1ull << 62) + (uint64_t)(d->base_ns + (int64_t)((double)ms * 1e6));
	return r == CUDA_SUCCESS && ms > REBASE_MS ? rebase_locked(d) : r;
}

static ze_result_t event_stamps(ze_event_handle_t e, ze_kernel_timestamp_result_t *ret)
{
	CUresult r;

	if (!e->end || !atomic_load(e->flag))
		return ZE_RESULT_NOT_READY;
	ON_DEVICE(e->device);
	pthread_mutex_lock(&e->device->lock);
	r = tell_locked(e->device, e->begin, &ret->global.kernelStart);
	if (r == CUDA_SUCCESS)
		r = tell_locked(e->device, e->end, &ret->global.kernelEnd);
	pthread_mutex_unlock(&e->device->lock);
	ret->context = ret->global;
	return soft_said(r);
}

/* Fences ------------------------------------------------------------------------------------------------------------
 */

struct ze_event *soft_fence_event(ze_fence_handle_t fence)
{
	return &fence->event;
}

static ze_result_t fence_create(ze_command_queue_handle_t queue, const ze_fence_desc_t *desc, ze_fence_handle_t *ret)
{
	struct ze_fence *f = calloc(1, sizeof *f);
	ze_result_t r = f ? event_make(&f->event, soft_queue_device(queue), false) : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;

	(void)desc;
	if (r != ZE_RESULT_SUCCESS)
		free(f);
	else
		*ret = f;
	return r;
}

static ze_result_t fence_destroy(ze_fence_handle_t hFence)
{
	event_unmake(&hFence->event);
	free(hFence);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t fence_wait(ze_fence_handle_t hFence, uint64_t timeout)
{
	return event_wait(&hFence->event, timeout);
}

static ze_result_t fence_status(ze_fence_handle_t hFence)
{
	return event_status(&hFence->event);
}

static ze_result_t fence_reset(ze_fence_handle_t hFence)
{
	return event_clear(&hFence->event);
}

void soft_fill_events(struct levelzero_table *t)
{
	t->zeEventPoolCreate = pool_create;
	t->zeEventPoolDestroy = pool_destroy;
	t->zeEventCreate = event_create;
	t->zeEventDestroy = event_destroy;
	t->zeEventHostSignal = event_signal;
	t->zeEventHostReset = event_clear;
	t->zeEventQueryStatus = event_status;
	t->zeEventHostSynchronize = event_wait;
	t->zeEventQueryKernelTimestamp = event_stamps;
	t->zeFenceCreate = fence_create;
	t->zeFenceDestroy = fence_destroy;
	t->zeFenceHostSynchronize = fence_wait;
	t->zeFenceQueryStatus = fence_status;
	t->zeFenceReset = fence_reset;
}
