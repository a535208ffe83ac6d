/*
 * queues.c: what is submitted to queues, and waiting for its end.
 *
 * A batch of a submission waits for its turn like a launch of a kernel. What it waits for in the queue, semaphores,
 * goes before as a batch of its own, which changes nothing (the second scope of a semaphore's wait takes in all that
 * comes later in submission order), so that standing still is not timed as work.
 *
 * Vulkan lets the program use a queue from one thread at a time. Markers come from other threads, so the queue's lock
 * is held around each of the driver's calls on it, and never while a turn is waited for.
 */
#include "vulkan/chain.h"
#include "vulkan/objects.h"
#include "core/marks.h"
#include "core/pace.h"

#include <stdatomic.h>

#define SUBMIT_SEED 0x766b7375u

static uint64_t kind_of(uint64_t kind, const void *buffer)
{
	return estimate_mix(kind, (uint64_t)(uintptr_t)buffer);
}

static void begin(struct launch *l, struct queue *q, uint64_t kind, uint32_t buffers)
{
	struct work w = { .engine = q->family < OBJECTS_FAMILIES && q->device->transfers[q->family] ? WIRE_COPY
												    : WIRE_COMPUTE,
			  .key = kind | 1,
			  .family = estimate_mix(SUBMIT_SEED, q->family) | 1,
			  .size = buffers,
			  .stream = (face_queue)q,
			  .what = "vkQueueSubmit",
			  .threads = buffers };

	if (!pace_begin_fast(l, w.engine, w.key, w.stream))
		pace_begin_slow(l, &w);
}

static bool is_gated(const struct queue *q)
{
	return q->device->metered && (pace_gated(WIRE_COMPUTE) || pace_gated(WIRE_COPY));
}

/* ---- vkQueueSubmit and vkQueueSubmit2 ---- */

/* A batch in two: what it waits for, and its work. */
struct batch {
	union {
		VkSubmitInfo one;
		VkSubmitInfo2 two;
	} waits, works;
	VkTimelineSemaphoreSubmitInfo values[2];
	bool waiting; /* for semaphores */
	/* `waits` precedes `works`. False: it waits for nothing, or a structure in its chain belongs to the whole. */
	bool parted;
	uint32_t buffers; /* command buffers */
	uint64_t kind;	  /* of its work (estimate.h) */
};

/* The types that the two calls differ in. */
struct form {
	size_t info_bytes;
	VkResult (*call)(const struct queue *q, uint32_t count, const void *infos, VkFence fence);
	void (*read)(const void *info, struct batch *ret);
};

static VkResult call_one(const struct queue *q, uint32_t count, const void *infos, VkFence fence)
{
	return q->device->next.vkQueueSubmit(q->handle, count, infos, fence);
}

static VkResult call_two(const struct queue *q, uint32_t count, const void *infos, VkFence fence)
{
	return q->device->next.vkQueueSubmit2(q->handle, count, infos, fence);
}

/* The first half keeps the values of what it waits for, the second those of what it signals. */
static bool part_one(const VkSubmitInfo *info, struct batch *ret)
{
	const VkTimelineSemaphoreSubmitInfo *values = info->pNext;

	if (values && (values->sType != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO || values->pNext))
		return false;
	ret->waits.one = (VkSubmitInfo){ .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
					 .waitSemaphoreCount = info->waitSemaphoreCount,
					 .pWaitSemaphores = info->pWaitSemaphores,
					 .pWaitDstStageMask = info->pWaitDstStageMask };
	ret->works.one = *info;
	ret->works.one.waitSemaphoreCount = 0;
	if (values) {
		ret->values[0] = ret->values[1] = *values;
		ret->values[0].signalSemaphoreValueCount = 0;
		ret->values[1].waitSemaphoreValueCount = 0;
		ret->waits.one.pNext = &ret->values[0];
		ret->works.one.pNext = &ret->values[1];
	}
	return true;
}

static void read_one(const void *from, struct batch *ret)
{
	const VkSubmitInfo *info = from;

	ret->waiting = info->waitSemaphoreCount;
	ret->parted = ret->waiting && part_one(info, ret);
	ret->buffers = info->commandBufferCount;
	ret->kind = SUBMIT_SEED;
	for (uint32_t i = 0; i < ret->buffers; i++)
		ret->kind = kind_of(ret->kind, info->pCommandBuffers[i]);
}

static void read_two(const void *from, struct batch *ret)
{
	const VkSubmitInfo2 *info = from;

	ret->waiting = info->waitSemaphoreInfoCount;
	ret->parted = ret->waiting && !info->pNext;
	if (ret->parted) {
		ret->waits.two = (VkSubmitInfo2){ .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
						  .flags = info->flags,
						  .waitSemaphoreInfoCount = info->waitSemaphoreInfoCount,
						  .pWaitSemaphoreInfos = info->pWaitSemaphoreInfos };
		ret->works.two = *info;
		ret->works.two.waitSemaphoreInfoCount = 0;
	}
	ret->buffers = info->commandBufferInfoCount;
	ret->kind = SUBMIT_SEED;
	for (uint32_t i = 0; i < ret->buffers; i++)
		ret->kind = kind_of(ret->kind, info->pCommandBufferInfos[i].commandBuffer);
}

static const struct form form_one = { sizeof(VkSubmitInfo), call_one, read_one };
static const struct form form_two = { sizeof(VkSubmitInfo2), call_two, read_two };

static VkResult submit(const struct form *form, struct queue *q, uint32_t count, const void *infos, VkFence fence)
{
	VkResult r;

	pthread_mutex_lock(&q->lock);
	r = form->call(q, count, infos, fence);
	pthread_mutex_unlock(&q->lock);
	return r;
}

/*
 * A batch may hold the queue up from now on. The first marker of a device sets its clock: behind such a batch it would
 * be late by as long as that waits, and the wait would count as work. So it goes first, with a launch of nothing.
 */
static void hold_up(struct queue *q)
{
	struct launch l;

	if (!atomic_exchange(&q->device->timed, true)) {
		begin(&l, q, SUBMIT_SEED, 0);
		pace_end(&l, false);
	}
	marks_break((face_queue)q, false, MARKS_NONE);
}

/* One batch, whose turn is waited for. */
static VkResult submit_batch(const struct form *form, struct queue *q, const void *info, VkFence fence)
{
	struct launch l;
	struct batch b;
	VkResult r;

	form->read(info, &b);
	if (b.waiting)
		hold_up(q);
	if (!b.buffers)
		return submit(form, q, 1, info, fence);
	if (b.parted) {
		r = submit(form, q, 1, &b.waits, VK_NULL_HANDLE);
		if (r != VK_SUCCESS)
			return r;
		info = &b.works;
	}
	begin(&l, q, b.kind, b.buffers);
	r = submit(form, q, 1, info, fence);
	pace_end(&l, r == VK_SUCCESS);
	return r;
}

static VkResult submit_all(const struct form *form, struct queue *q, uint32_t count, const void *infos, VkFence fence)
{
	VkResult r = VK_SUCCESS;

	if (!count || !is_gated(q))
		return submit(form, q, count, infos, fence);
	for (uint32_t i = 0; r == VK_SUCCESS && i < count; i++)
		r = submit_batch(form, q, (const char *)infos + i * form->info_bytes,
				 i + 1 == count ? fence : VK_NULL_HANDLE);
	return r;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_vkQueueSubmit(VkQueue queue, uint32_t submitCount, const VkSubmitInfo *pSubmits,
						   VkFence fence)
{
	struct queue *q = queue_of(queue);

	return q ? submit_all(&form_one, q, submitCount, pSubmits, fence)
		 : device_of(queue)->next.vkQueueSubmit(queue, submitCount, pSubmits, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL layer_vkQueueSubmit2(VkQueue queue, uint32_t submitCount, const VkSubmitInfo2 *pSubmits,
						    VkFence fence)
{
	struct queue *q = queue_of(queue);

	return q ? submit_all(&form_two, q, submitCount, pSubmits, fence)
		 : device_of(queue)->next.vkQueueSubmit2(queue, submitCount, pSubmits, fence);
}

/* ---- the other calls on queues ---- */

VKAPI_ATTR VkResult VKAPI_CALL layer_vkQueueBindSparse(VkQueue queue, uint32_t bindInfoCount,
						       const VkBindSparseInfo *pBindInfo, VkFence fence)
{
	struct queue *q = queue_of(queue);
	VkResult r;

	if (!q)
		return device_of(queue)->next.vkQueueBindSparse(queue, bindInfoCount, pBindInfo, fence);
	marks_break((face_queue)q, false, MARKS_NONE);
	pthread_mutex_lock(&q->lock);
	r = q->device->next.vkQueueBindSparse(queue, bindInfoCount, pBindInfo, fence);
	pthread_mutex_unlock(&q->lock);
	return r;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_vkQueuePresentKHR(VkQueue queue, const VkPresentInfoKHR *pPresentInfo)
{
	struct queue *q = queue_of(queue);
	VkResult r;

	if (!q)
		return device_of(queue)->next.vkQueuePresentKHR(queue, pPresentInfo);
	marks_break((face_queue)q, false, MARKS_NONE);
	pthread_mutex_lock(&q->lock);
	r = q->device->next.vkQueuePresentKHR(queue, pPresentInfo);
	pthread_mutex_unlock(&q->lock);
	return r;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_vkQueueWaitIdle(VkQueue queue)
{
	struct queue *q = queue_of(queue);
	VkResult r;

	if (!q)
		return device_of(queue)->next.vkQueueWaitIdle(queue);
	pthread_mutex_lock(&q->lock);
	r = q->device->next.vkQueueWaitIdle(queue);
	pthread_mutex_unlock(&q->lock);
	if (r == VK_SUCCESS)
		marks_ended((face_queue)q, false);
	return r;
}

/* Queues are only ever added, at the front, so the list is walked twice alike from the same beginning. */
VKAPI_ATTR VkResult VKAPI_CALL layer_vkDeviceWaitIdle(VkDevice device)
{
	struct device *d = device_of(device);
	struct queue *first;
	VkResult r;

	pthread_mutex_lock(&d->lock);
	first = d->queues;
	pthread_mutex_unlock(&d->lock);
	for (struct queue *q = first; q; q = q->next)
		pthread_mutex_lock(&q->lock);
	r = d->next.vkDeviceWaitIdle(device);
	for (struct queue *q = first; q; q = q->next)
		pthread_mutex_unlock(&q->lock);
	if (r == VK_SUCCESS)
		marks_ended_all();
	return r;
}
