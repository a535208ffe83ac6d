/*
 * npu.h: the device nodes that a container needs for a card of Ascend or Cambricon: those that all cards share, and the
 * card's own. For Ascend also the driver's libraries of the host, which images do not contain.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>

/* Adds them to the edits. Value: 0, or -ENOENT and a fault. METE_DEV_DIR replaces /dev. */
int npu_add_nodes(const char *kind, unsigned int index, json_t *edits, struct fault *f);
