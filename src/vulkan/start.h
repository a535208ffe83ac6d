/*
 * start.h: whether the process is under a grant, and which of Vulkan's devices belong to it.
 *
 * A physical device belongs to the grant by its UUID, which is that of the card in every API of a vendor. The software
 * device is this machine's processors, and so is a Vulkan device of type CPU: it is the grant's first software device.
 */
#pragma once

#include "vulkan/objects.h"

/*
 * Attaches to meted when the process is under a grant; each new instance calls it. False: the process is under a grant,
 * and meted is out of reach or lets no program begin; the log says why, and no instance may be made.
 */
bool start(void);
bool start_is_metered(void);

/* The grant's device that the physical device is. False: it is none, so the program does not see it. */
bool start_device(const struct instance *instance, VkPhysicalDevice physical, unsigned int *ret_device);

/* In the child of fork(). */
void start_forget(void);
