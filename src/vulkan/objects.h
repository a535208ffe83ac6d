/*
 * objects.h: what the layer keeps of an instance, a device and a queue.
 *
 * Instances and devices live from the call that makes them to the one that destroys them, which Vulkan lets no other
 * call run beside. A queue lives as long as its device.
 */
#pragma once

#include "vulkan/handles.h"
#include "vulkan/vulkan_types.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The next layer's functions, or the driver's. NULL: it has no such call, or the program has not asked for it. */
struct instance_calls {
#define NEEDED(name) PFN_##name name;
#define ALSO(name, other) PFN_##name name;
	VULKAN_INSTANCE_CALLS(NEEDED, ALSO)
#undef NEEDED
#undef ALSO
};

struct device_calls {
#define NEEDED(name) PFN_##name name;
#define ALSO(name, other) PFN_##name name;
	VULKAN_DEVICE_CALLS(NEEDED, ALSO)
#undef NEEDED
#undef ALSO
	PFN_vkGetSwapchainImagesKHR vkGetSwapchainImagesKHR;
};

struct instance {
	VkInstance handle;
	PFN_vkGetInstanceProcAddr get;
	struct instance_calls next;
};

#define OBJECTS_FAMILIES 16u

struct device {
	VkDevice handle;
	VkPhysicalDevice physical;
	struct instance *instance;
	PFN_vkGetDeviceProcAddr get;
	struct device_calls next;
	bool metered;
	unsigned int index;			 /* in the grant, if metered */
	uint16_t number;			 /* of all devices of the process, for records */
	VkPhysicalDeviceMemoryProperties memory; /* the driver's */
	double tick_ns;				 /* of its timestamps */
	uint32_t stamp_bits[OBJECTS_FAMILIES];	 /* by queue family; 0: it has no timestamps */
	bool transfers[OBJECTS_FAMILIES];	 /* a family that only copies */
	_Atomic bool timed;			 /* its clock was read before a batch could hold that up */
	pthread_mutex_t lock;			 /* guards what follows */
	struct queue *queues;
	struct marker *markers;
};

struct queue {
	VkQueue handle;
	struct device *device;
	uint32_t family;
	pthread_mutex_t lock; /* held for each call of the driver's on the queue: markers come from threads of ours */
	struct queue *next;
};

/* Of an instance or a physical device. */
static inline struct instance *instance_of(const void *handle)
{
	return handles_find(handles_key(handle));
}

/* Of a device, a queue or a command buffer. */
static inline struct device *device_of(const void *handle)
{
	return handles_find(handles_key(handle));
}

static inline struct queue *queue_of(VkQueue handle)
{
	return handles_find(handle);
}
