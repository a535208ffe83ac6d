/*
 * npu.h: the device nodes that a container needs for a card of Ascend's or Cambricon's: those that all cards share, and
 * the card's own; and of Ascend's the driver's libraries on the host, which images do not bring.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>

/* Adds to the edits. Value: 0, or -ENOENT and a fault. METE_DEV_DIR: in place of /dev. */
int npu_add_nodes(const char *kind, unsigned int index, json_t *edits, struct fault *f);
