/*
 * intel.h: the device nodes that a container needs for a card of Intel: the card's nodes in /dev/dri. The driver's UUID
 * contains the card's address on the PCI bus, unless the card has a number of its own; in that case the nodes are known
 * only if the machine has one such card.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>

/*
 * Adds them to "deviceNodes" of the edits. Value: 0, or -ENOENT and a fault. METE_DEV_DIR replaces /dev, METE_DRM_DIR
 * /sys/class/drm.
 */
int intel_add_nodes(const char *uuid, json_t *edits, struct fault *f);
