/*
 * start.h: attaches a process under a grant, and finds the Vulkan devices that belong to the grant.
 *
 * A physical device is found in the grant by its UUID, which is the same in all APIs of a vendor. The software device
 * runs on this machine's processors, and so does a Vulkan device of type CPU: it counts as the grant's first software
 * device.
 */
#pragma once

#include "vulkan/objects.h"

/*
 * Attaches to meted when the process is under a grant; each new instance calls it. False: the process is under a grant,
 * and meted is out of reach or lets no program begin; the log says why, and no instance may be made.
 */
bool start(void);
bool start_is_metered(void);

/* Finds the index in the grant of a physical device. False: not granted, and the program does not see it. */
bool start_device(const struct instance *instance, VkPhysicalDevice physical, unsigned int *ret_device);

/* In the child of fork(). */
void start_forget(void);
