/*
 * shape_nodes.h: the device nodes that a container needs for a card of a vendor's of model/shapes.h. Which of several
 * cards a node belongs to is told by none of their libraries in a way that is known here, so that a container gets
 * those of all.
 */
#pragma once

#include "client/fault.h"
#include "model/shapes.h"

#include <jansson.h>

/* Adds to "deviceNodes" of the edits. Value: 0, or -ENOENT and a fault. METE_DEV_DIR: in place of /dev. */
int shape_add_nodes(const struct shape_row *row, json_t *edits, struct fault *f);
