/*
 * face.c: see face.h.
 *
 * A marker is a fence, and where the queue's family has timestamps a command buffer that writes one. Its command buffer
 * is recorded for the family of queues that it is put into first, and again when it is put into another one.
 */
#include "vulkan/face.h"
#include "core/face.h"
#include "core/figure.h"
#include "vulkan/start.h"

#include <stdlib.h>

struct marker {
	struct device *device;
	struct marker *next, *before; /* of the device's, under its lock */
	VkFence fence;
	VkQueryPool stamps; /* of one timestamp; NULL: none to be had */
	VkCommandPool pool; /* NULL: not recorded */
	VkCommandBuffer write;
	uint32_t family; /* that `write` is for */
	bool put;	 /* it has been, and was not seen to happen since */
	bool stamped;	 /* with a timestamp */
};

static enum face_place here(face_context *ret_context, unsigned int *ret_device)
{
	return FACE_NOWHERE; /* Vulkan has no current device */
}

static bool device_in_grant(face_context context, unsigned int *ret_device)
{
	const struct device *d = context;

	*ret_device = d->index;
	return d->metered;
}

static bool enter(face_context context)
{
	return context;
}

static void leave(void)
{
}

static face_context context_of(face_queue queue, bool per_thread)
{
	return ((struct queue *)queue)->device;
}

/* Recording into a command buffer is no call on a queue. */
static bool captured(face_queue queue, bool per_thread)
{
	return false;
}

/* ---- markers ---- */

static void link_in(struct marker *m)
{
	struct device *d = m->device;

	pthread_mutex_lock(&d->lock);
	m->next = d->markers;
	if (m->next)
		m->next->before = m;
	d->markers = m;
	pthread_mutex_unlock(&d->lock);
}

static void link_out(struct marker *m)
{
	struct device *d = m->device;

	pthread_mutex_lock(&d->lock);
	if (m->before)
		m->before->next = m->next;
	else
		d->markers = m->next;
	if (m->next)
		m->next->before = m->before;
	pthread_mutex_unlock(&d->lock);
}

static face_marker marker_new(face_context context)
{
	static const VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	static const VkQueryPoolCreateInfo stamps = { .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
						      .queryType = VK_QUERY_TYPE_TIMESTAMP,
						      .queryCount = 1 };
	struct device *d = context;
	struct marker *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->device = d;
	if (d->next.vkCreateFence(d->handle, &fence, NULL, &m->fence) != VK_SUCCESS) {
		free(m);
		return NULL;
	}
	if (d->next.vkCreateQueryPool(d->handle, &stamps, NULL, &m->stamps) != VK_SUCCESS)
		m->stamps = VK_NULL_HANDLE;
	link_in(m);
	return m;
}

/* Waits for a marker that is on its way: what it is made of is in use until then. */
static void settle(struct marker *m)
{
	struct device *d = m->device;

	if (m->put)
		d->next.vkWaitForFences(d->handle, 1, &m->fence, VK_TRUE, UINT64_MAX);
	m->put = false;
}

static void destroy(struct marker *m)
{
	struct device *d = m->device;

	settle(m);
	if (m->pool)
		d->next.vkDestroyCommandPool(d->handle, m->pool, NULL);
	if (m->stamps)
		d->next.vkDestroyQueryPool(d->handle, m->stamps, NULL);
	d->next.vkDestroyFence(d->handle, m->fence, NULL);
}

static void marker_free(face_marker marker)
{
	struct marker *m = marker;

	link_out(m);
	destroy(m);
	free(m);
}

/*
 * The loader's part in a command buffer that a layer allocates: its table of calls stands first in each object, the
 * same in all of a device. The loader's own function for it (vkSetDeviceLoaderData) looks for the device among all,
 * without a lock up to 1.3.239 at least: beside threads that make and destroy devices the program crashed there.
 */
static void take_table(VkDevice device, VkCommandBuffer commands)
{
	*(void **)commands = *(void **)device;
}

/* Records the command buffer for a family. False: there is none; the marker then tells no time. */
static bool record(struct marker *m, uint32_t family)
{
	const VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
					       .queueFamilyIndex = family };
	const VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
	VkCommandBufferAllocateInfo one = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
					    .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
					    .commandBufferCount = 1 };
	struct device *d = m->device;

	if (m->pool && m->family == family)
		return true;
	if (m->pool)
		d->next.vkDestroyCommandPool(d->handle, m->pool, NULL);
	if (d->next.vkCreateCommandPool(d->handle, &pool, NULL, &m->pool) != VK_SUCCESS) {
		m->pool = VK_NULL_HANDLE;
		return false;
	}
	m->family = family;
	one.commandPool = m->pool;
	if (d->next.vkAllocateCommandBuffers(d->handle, &one, &m->write) != VK_SUCCESS)
		goto failed;
	take_table(d->handle, m->write);
	if (d->next.vkBeginCommandBuffer(m->write, &begin) != VK_SUCCESS)
		goto failed;
	d->next.vkCmdResetQueryPool(m->write, m->stamps, 0, 1);
	d->next.vkCmdWriteTimestamp(m->write, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, m->stamps, 0);
	if (d->next.vkEndCommandBuffer(m->write) == VK_SUCCESS)
		return true;
failed:
	d->next.vkDestroyCommandPool(d->handle, m->pool, NULL);
	m->pool = VK_NULL_HANDLE;
	return false;
}

static bool marker_put(face_marker marker, face_queue queue, bool per_thread)
{
	struct marker *m = marker;
	struct queue *q = queue;
	struct device *d = q->device;
	VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
				.commandBufferCount = 1,
				.pCommandBuffers = &m->write };
	VkResult r;

	settle(m);
	if (d->next.vkResetFences(d->handle, 1, &m->fence) != VK_SUCCESS)
		return false;
	m->stamped = m->stamps && q->family < OBJECTS_FAMILIES && d->stamp_bits[q->family] && record(m, q->family);
	pthread_mutex_lock(&q->lock);
	r = d->next.vkQueueSubmit(q->handle, m->stamped ? 1 : 0, m->stamped ? &submit : NULL, m->fence);
	pthread_mutex_unlock(&q->lock);
	m->put = r == VK_SUCCESS;
	return m->put;
}

static enum face_state state_of(VkResult r)
{
	switch (r) {
	case VK_SUCCESS:
		return FACE_HAPPENED;
	case VK_NOT_READY:
	case VK_TIMEOUT:
		return FACE_PENDING;
	default:
		return FACE_FAILED;
	}
}

static enum face_state marker_look(face_marker marker)
{
	struct marker *m = marker;
	struct device *d = m->device;

	return state_of(d->next.vkGetFenceStatus(d->handle, m->fence));
}

static enum face_state marker_wait(face_marker marker)
{
	struct marker *m = marker;
	struct device *d = m->device;
	VkResult r;

	do
		r = d->next.vkWaitForFences(d->handle, 1, &m->fence, VK_TRUE, UINT64_MAX);
	while (r == VK_TIMEOUT);
	return state_of(r);
}

static bool stamp_of(const struct marker *m, uint64_t *ret)
{
	const struct device *d = m->device;

	return m->stamped && d->next.vkGetQueryPoolResults(d->handle, m->stamps, 0, 1, sizeof *ret, ret, sizeof *ret,
							   VK_QUERY_RESULT_64_BIT) == VK_SUCCESS;
}

/* The counter of a family with few bits starts again at 0: the difference is taken in the fewer of both. */
static bool marker_between(face_marker from, face_marker to, int64_t *ret_ns)
{
	const struct marker *a = from, *b = to;
	uint32_t bits, other;
	uint64_t first, last;
	int64_t ticks;

	if (!stamp_of(a, &first) || !stamp_of(b, &last))
		return false;
	bits = a->device->stamp_bits[a->family];
	other = b->device->stamp_bits[b->family];
	if (other < bits)
		bits = other;
	ticks = (int64_t)((last - first) << (64 - bits)) >> (64 - bits);
	*ret_ns = (int64_t)((double)ticks * a->device->tick_ns);
	return true;
}

void face_end_markers(struct device *d)
{
	for (struct marker *m = d->markers; m; m = m->next)
		destroy(m);
}

void face_free_markers(struct device *d)
{
	for (struct marker *m = d->markers, *next; m; m = next) {
		next = m->next;
		free(m);
	}
	d->markers = NULL;
}

/* ---- the rest ---- */

static const char *name_of(face_function function)
{
	return "vkQueueSubmit";
}

/* Every size is known beforehand. */
static void figure(unsigned int device, struct figure *ret)
{
	*ret = (struct figure){ 0 };
}

static uint64_t kept(unsigned int device)
{
	return 0;
}

static const struct face vulkan_face = {
	.version = FACE_VERSION,
	.here = here,
	.device = device_in_grant,
	.enter = enter,
	.leave = leave,
	.context = context_of,
	.captured = captured,
	.marker_new = marker_new,
	.marker_free = marker_free,
	.marker_put = marker_put,
	.marker_look = marker_look,
	.marker_wait = marker_wait,
	.marker_between = marker_between,
	.name = name_of,
	.figure = figure,
	.kept = kept,
	.forget = start_forget,
};

const struct face *const face = &vulkan_face;
