/*
 * shape_nodes.h: the device nodes that a container needs for a card of a vendor of model/shapes.h. None of their
 * libraries reports, in a way known here, which of several cards a node belongs to, so a container gets the nodes of
 * all cards.
 */
#pragma once

#include "client/fault.h"
#include "model/shapes.h"

#include <jansson.h>

/* Adds them to "deviceNodes" of the edits. Value: 0, or -ENOENT and a fault. METE_DEV_DIR replaces /dev. */
int shape_add_nodes(const struct shape_row *row, json_t *edits, struct fault *f);
