/* devices.c: devices and their queues. */
#include "vulkan/chain.h"
#include "vulkan/face.h"
#include "vulkan/memory.h"
#include "vulkan/start.h"
#include "core/marks.h"

#include <stdatomic.h>
#include <stdlib.h>

static VkLayerDeviceCreateInfo *link_of(const VkDeviceCreateInfo *info, VkLayerFunction function)
{
	for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext) {
		VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)(uintptr_t)s;

		if (s->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO && link->function == function)
			return link;
	}
	return NULL;
}

static void resolve(struct device *d)
{
#define NEEDED(name) d->next.name = (PFN_##name)d->get(d->handle, #name);
#define ALSO(name, other)                                                                                              \
	NEEDED(name)                                                                                                   \
	if (!d->next.name)                                                                                             \
		d->next.name = (PFN_##name)d->get(d->handle, other);
	VULKAN_DEVICE_CALLS(NEEDED, ALSO)
#undef NEEDED
#undef ALSO
	d->next.vkGetSwapchainImagesKHR = (PFN_vkGetSwapchainImagesKHR)d->get(d->handle, "vkGetSwapchainImagesKHR");
}

/* What the driver says of its heaps, its timestamps and its families of queues. */
static void describe(struct device *d)
{
	const struct instance_calls *next = &d->instance->next;
	VkQueueFamilyProperties family[OBJECTS_FAMILIES];
	VkPhysicalDeviceProperties properties;
	uint32_t count = OBJECTS_FAMILIES;

	next->vkGetPhysicalDeviceMemoryProperties(d->physical, &d->memory);
	next->vkGetPhysicalDeviceProperties(d->physical, &properties);
	d->tick_ns = (double)properties.limits.timestampPeriod;
	next->vkGetPhysicalDeviceQueueFamilyProperties(d->physical, &count, family);
	for (uint32_t i = 0; i < count; i++) {
		d->stamp_bits[i] = family[i].timestampValidBits;
		d->transfers[i] = !(family[i].queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT));
	}
}

/* Before the driver's call: from then on a handle may be that of another thread's new device, or of its queue. */
static void forget_handles(const struct device *d, const void *key)
{
	for (const struct queue *q = d->queues; q; q = q->next)
		handles_remove(q->handle);
	handles_remove(key);
}

static void end(struct device *d)
{
	for (struct queue *q = d->queues, *next; q; q = next) {
		next = q->next;
		free(q);
	}
	free(d);
}

/* Of several physical devices: the program was shown no such group. Its memory would be charged on the first alone. */
static bool is_of_several(const VkDeviceCreateInfo *info)
{
	const VkDeviceGroupDeviceCreateInfo *group =
		chain_find(info->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO);

	return group && group->physicalDeviceCount > 1;
}

VKAPI_ATTR VkResult VKAPI_CALL layer_vkCreateDevice(VkPhysicalDevice physicalDevice,
						    const VkDeviceCreateInfo *pCreateInfo,
						    const VkAllocationCallbacks *pAllocator, VkDevice *pDevice)
{
	static _Atomic uint32_t numbers;
	VkLayerDeviceCreateInfo *link = link_of(pCreateInfo, VK_LAYER_LINK_INFO);
	struct instance *i = instance_of(physicalDevice);
	PFN_vkCreateDevice create;
	struct device *d;
	VkResult r;

	if (!i || !link || !link->u.pLayerInfo)
		return VK_ERROR_INITIALIZATION_FAILED;
	d = calloc(1, sizeof *d);
	if (!d)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	d->metered = start_is_metered();
	/* A program may have kept the handle of a device that it was never shown. */
	if (d->metered && (!start_device(i, physicalDevice, &d->index) || is_of_several(pCreateInfo))) {
		free(d);
		return VK_ERROR_INITIALIZATION_FAILED;
	}
	create = (PFN_vkCreateDevice)link->u.pLayerInfo->pfnNextGetInstanceProcAddr(i->handle, "vkCreateDevice");
	d->get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	r = create(physicalDevice, pCreateInfo, pAllocator, pDevice);
	if (r != VK_SUCCESS) {
		free(d);
		return r;
	}
	d->handle = *pDevice;
	d->physical = physicalDevice;
	d->instance = i;
	d->number = (uint16_t)atomic_fetch_add(&numbers, 1);
	pthread_mutex_init(&d->lock, NULL);
	resolve(d);
	describe(d);
	if (!handles_add(handles_key(d->handle), d)) {
		d->next.vkDestroyDevice(d->handle, pAllocator);
		free(d);
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	}
	return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL layer_vkDestroyDevice(VkDevice device, const VkAllocationCallbacks *pAllocator)
{
	const void *key = device ? handles_key(device) : NULL;
	struct device *d = key ? handles_find(key) : NULL;

	if (!d)
		return;
	marks_context_leaves(d);
	face_end_markers(d);
	forget_handles(d, key);
	d->next.vkDestroyDevice(device, pAllocator);
	marks_context_left(d, true);
	memory_device_gone(d);
	face_free_markers(d);
	end(d);
}

/* The queue's record; made when the program first asks for it. NULL: no memory, so the queue is not metered. */
static void know(struct device *d, VkQueue handle, uint32_t family)
{
	struct queue *q;

	if (!handle || queue_of(handle))
		return;
	pthread_mutex_lock(&d->lock);
	q = queue_of(handle) ? NULL : calloc(1, sizeof *q);
	if (q) {
		q->handle = handle;
		q->device = d;
		q->family = family;
		pthread_mutex_init(&q->lock, NULL);
		if (handles_add(handle, q)) {
			q->next = d->queues;
			d->queues = q;
		} else {
			free(q);
		}
	}
	pthread_mutex_unlock(&d->lock);
}

VKAPI_ATTR void VKAPI_CALL layer_vkGetDeviceQueue(VkDevice device, uint32_t queueFamilyIndex, uint32_t queueIndex,
						  VkQueue *pQueue)
{
	struct device *d = device_of(device);

	d->next.vkGetDeviceQueue(device, queueFamilyIndex, queueIndex, pQueue);
	know(d, *pQueue, queueFamilyIndex);
}

VKAPI_ATTR void VKAPI_CALL layer_vkGetDeviceQueue2(VkDevice device, const VkDeviceQueueInfo2 *pQueueInfo,
						   VkQueue *pQueue)
{
	struct device *d = device_of(device);

	d->next.vkGetDeviceQueue2(device, pQueueInfo, pQueue);
	know(d, *pQueue, pQueueInfo->queueFamilyIndex);
}
