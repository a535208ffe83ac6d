/* memory.h: what the program's Vulkan devices hold, charged to the grant. */
#pragma once

#include "vulkan/objects.h"

/* The device is gone, and all that it held with it. */
void memory_device_gone(struct device *d);
