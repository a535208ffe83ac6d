/* memory.h: charges the memory of the program's Vulkan devices to the grant. */
#pragma once

#include "vulkan/objects.h"

/* Call when a device was destroyed: refunds all its memory. */
void memory_device_gone(struct device *d);
