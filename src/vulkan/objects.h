/*
 * objects.h: the layer's records of instances, devices and queues.
 *
 * An instance or a device exists from the call that creates it to the call that destroys it; Vulkan forbids other calls
 * on it at the same time. A queue exists as long as its device.
 */
#pragma once

#include "vulkan/handles.h"
#include "vulkan/vulkan_types.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The functions of the next layer or the driver. NULL: it has no such call, or the program has not enabled it. */
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
	uint16_t number;			 /* number among the process's devices, for records */
	VkPhysicalDeviceMemoryProperties memory; /* the driver's */
	double tick_ns;				 /* length of a tick of its timestamps */
	uint32_t stamp_bits[OBJECTS_FAMILIES];	 /* by queue family; 0: it has no timestamps */
	bool transfers[OBJECTS_FAMILIES];	 /* a family that only copies */
	_Atomic bool timed;			 /* its clock was read, before a batch could delay that */
	pthread_mutex_t lock;			 /* guards the members below */
	struct queue *queues;
	struct marker *markers;
};

struct queue {
	VkQueue handle;
	struct device *device;
	uint32_t family;
	pthread_mutex_t lock; /* held for each driver's call on the queue, because mete's threads submit markers */
	struct queue *next;
};

/* Finds the instance of a handle of an instance or a physical device. */
static inline struct instance *instance_of(const void *handle)
{
	return handles_find(handles_key(handle));
}

/* Finds the device of a handle of a device, a queue or a command buffer. */
static inline struct device *device_of(const void *handle)
{
	return handles_find(handles_key(handle));
}

static inline struct queue *queue_of(VkQueue handle)
{
	return handles_find(handle);
}
