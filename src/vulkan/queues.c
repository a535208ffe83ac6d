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

/* ---- vkQueueSubmit ---- */

static VkResult submit(struct queue *q, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
	VkResult r;

	pthread_mutex_lock(&q->lock);
	r = q->device->next.vkQueueSubmit(q->handle, count, infos, fence);
	pthread_mutex_unlock(&q->lock);
	return r;
}

/*
 * The batch in two: what waits, and what works. False: another structure in its chain belongs to the whole.
 * The first keeps the values of what it waits for, the second those of what it signals.
 */
static bool split(const VkSubmitInfo *info, VkSubmitInfo *ret_waits, VkSubmitInfo *ret_works,
		  VkTimelineSemaphoreSubmitInfo ret_values[2])
{
	const VkTimelineSemaphoreSubmitInfo *values = info->pNext;

	if (values && (values->sType != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO || values->pNext))
		return false;
	*ret_waits = (VkSubmitInfo){ .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
				     .waitSemaphoreCount = info->waitSemaphoreCount,
				     .pWaitSemaphores = info->pWaitSemaphores,
				     .pWaitDstStageMask = info->pWaitDstStageMask };
	*ret_works = *info;
	ret_works->waitSemaphoreCount = 0;
	if (values) {
		ret_values[0] = ret_values[1] = *values;
		ret_values[0].signalSemaphoreValueCount = 0;
		ret_values[1].waitSemaphoreValueCount = 0;
		ret_waits->pNext = &ret_values[0];
		ret_works->pNext = &ret_values[1];
	}
	return true;
}

/* One batch, whose turn is waited for. */
static VkResult submit_batch(struct queue *q, const VkSubmitInfo *info, VkFence fence)
{
	VkTimelineSemaphoreSubmitInfo values[2];
	uint64_t kind = SUBMIT_SEED;
	VkSubmitInfo waits, works;
	struct launch l;
	VkResult r;

	if (info->waitSemaphoreCount)
		marks_break((face_queue)q, false, MARKS_NONE);
	if (!info->commandBufferCount)
		return submit(q, 1, info, fence);
	if (info->waitSemaphoreCount && split(info, &waits, &works, values)) {
		r = submit(q, 1, &waits, VK_NULL_HANDLE);
		if (r != VK_SUCCESS)
			return r;
		info = &works;
	}
	for (uint32_t i = 0; i < info->commandBufferCount; i++)
		kind = kind_of(kind, info->pCommandBuffers[i]);
	begin(&l, q, kind, info->commandBufferCount);
	r = submit(q, 1, info, fence);
	pace_end(&l, r == VK_SUCCESS);
	return r;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_vkQueueSubmit(VkQueue queue, uint32_t submitCount, const VkSubmitInfo *pSubmits,
						   VkFence fence)
{
	struct queue *q = queue_of(queue);
	VkResult r = VK_SUCCESS;

	if (!q)
		return device_of(queue)->next.vkQueueSubmit(queue, submitCount, pSubmits, fence);
	if (!submitCount || !is_gated(q))
		return submit(q, submitCount, pSubmits, fence);
	for (uint32_t i = 0; r == VK_SUCCESS && i < submitCount; i++)
		r = submit_batch(q, &pSubmits[i], i + 1 == submitCount ? fence : VK_NULL_HANDLE);
	return r;
}

/* ---- vkQueueSubmit2 ---- */

static VkResult submit2(struct queue *q, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence)
{
	VkResult r;

	pthread_mutex_lock(&q->lock);
	r = q->device->next.vkQueueSubmit2(q->handle, count, infos, fence);
	pthread_mutex_unlock(&q->lock);
	return r;
}

static VkResult submit_batch2(struct queue *q, const VkSubmitInfo2 *info, VkFence fence)
{
	VkSubmitInfo2 waits = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2 }, works = *info;
	uint64_t kind = SUBMIT_SEED;
	struct launch l;
	VkResult r;

	if (info->waitSemaphoreInfoCount)
		marks_break((face_queue)q, false, MARKS_NONE);
	if (!info->commandBufferInfoCount)
		return submit2(q, 1, info, fence);
	if (info->waitSemaphoreInfoCount && !info->pNext) {
		waits.flags = info->flags;
		waits.waitSemaphoreInfoCount = info->waitSemaphoreInfoCount;
		waits.pWaitSemaphoreInfos = info->pWaitSemaphoreInfos;
		works.waitSemaphoreInfoCount = 0;
		r = submit2(q, 1, &waits, VK_NULL_HANDLE);
		if (r != VK_SUCCESS)
			return r;
	}
	for (uint32_t i = 0; i < works.commandBufferInfoCount; i++)
		kind = kind_of(kind, works.pCommandBufferInfos[i].commandBuffer);
	begin(&l, q, kind, works.commandBufferInfoCount);
	r = submit2(q, 1, &works, fence);
	pace_end(&l, r == VK_SUCCESS);
	return r;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_vkQueueSubmit2(VkQueue queue, uint32_t submitCount, const VkSubmitInfo2 *pSubmits,
						    VkFence fence)
{
	struct queue *q = queue_of(queue);
	VkResult r = VK_SUCCESS;

	if (!q)
		return device_of(queue)->next.vkQueueSubmit2(queue, submitCount, pSubmits, fence);
	if (!submitCount || !is_gated(q))
		return submit2(q, submitCount, pSubmits, fence);
	for (uint32_t i = 0; r == VK_SUCCESS && i < submitCount; i++)
		r = submit_batch2(q, &pSubmits[i], i + 1 == submitCount ? fence : VK_NULL_HANDLE);
	return r;
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
