/*
 * handles.h: the layer's own objects, found by the loader's handles.
 *
 * Instances, physical devices and devices are found by their dispatch key: the first word of what a dispatchable handle
 * points to, which the loader makes equal for an instance and its physical devices, and for a device and its queues and
 * command buffers. Queues are found by the handle itself. Finding takes no lock.
 */
#pragma once

#include <stdbool.h>

/* The dispatch key of a dispatchable handle. */
static inline const void *handles_key(const void *handle)
{
	return *(void *const *)handle;
}

/* False: 4096 are known already. */
bool handles_add(const void *key, void *object);
/* NULL: not known. */
void *handles_find(const void *key);
void handles_remove(const void *key);
