/*
 * amd.h: the device nodes that a container needs for a card of AMD's: /dev/kfd, which all cards share, and of the card
 * alone its nodes in /dev/dri. A card whose UUID is its place on the PCI bus (base/hip_card.h) has links there by which
 * they are found.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>

/* Adds to "deviceNodes" of the edits. Value: 0, or -ENOENT and a fault. METE_DEV_DIR: in place of /dev. */
int amd_add_nodes(const char *uuid, json_t *edits, struct fault *f);
