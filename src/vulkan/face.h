/*
 * face.h: Vulkan's face for the core (core/face.h). A context is a struct device, a queue a struct queue, and
 * a marker a fence with a timestamp.
 */
#pragma once

#include "vulkan/objects.h"

/*
 * Call before a device is destroyed, when no thread uses its markers: waits for them and destroys their Vulkan objects.
 */
void face_end_markers(struct device *d);
/* Call when the device is gone and the core has dropped its markers. */
void face_free_markers(struct device *d);
