/*
 * intel.h: the device nodes that a container needs for a card of Intel's: those of /dev/dri that are the card's. Its
 * driver's UUID names the card's place on the PCI bus, unless the card has a number of its own; then the nodes are
 * known where the machine has one such card.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>

/*
 * Adds to "deviceNodes" of the edits. Value: 0, or -ENOENT and a fault. METE_DEV_DIR: in place of /dev; METE_DRM_DIR:
 * of /sys/class/drm.
 */
int intel_add_nodes(const char *uuid, json_t *edits, struct fault *f);
