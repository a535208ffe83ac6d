/*
 * amd.h: the device nodes that a container needs for a card of AMD: /dev/kfd, which all cards share, and the card's own
 * nodes in /dev/dri. A card whose UUID is its address on the PCI bus (base/hip_card.h) has links there by which they
 * are found.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>

/* Adds them to "deviceNodes" of the edits. Value: 0, or -ENOENT and a fault. METE_DEV_DIR replaces /dev. */
int amd_add_nodes(const char *uuid, json_t *edits, struct fault *f);
