/*
 * face.h: Vulkan's side of what the core asks (core/face.h). A context is a struct device, a queue a struct queue, and
 * a marker a fence with a timestamp.
 */
#pragma once

#include "vulkan/objects.h"

/* The device is about to be destroyed, and nobody uses its markers: waits for them, and destroys what Vulkan has of
 * them. */
void face_end_markers(struct device *d);
/* The device is gone, and the core has forgotten its markers. */
void face_free_markers(struct device *d);
