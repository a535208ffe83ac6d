/*
 * handles.h: the layer's own objects, found by the loader's handles.
 *
 * Instances, physical devices and devices are found by their dispatch key: the first word of a dispatchable handle's
 * object. The loader makes it equal for an instance and its physical devices, and for a device, its queues and its
 * command buffers. Queues are found by the handle itself. A search takes no lock.
 */
#pragma once

#include <stdbool.h>

/* Returns the dispatch key of a dispatchable handle. */
static inline const void *handles_key(const void *handle)
{
	return *(void *const *)handle;
}

/* Adds an object. False: 4096 are known already. */
bool handles_add(const void *key, void *object);
/* Finds an object. NULL: not known. */
void *handles_find(const void *key);
void handles_remove(const void *key);
