/*
 * bundle.h: applies edits to the config.json of an OCI bundle, as a runtime with CDI support does, and undoes them: an
 * annotation of the bundle records what was added, and exactly that is removed again.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>

/* Removes what an earlier bundle_put() has added, if anything. */
void bundle_take_out(json_t *config);

/* Applies CDI's containerEdits. Value: 0, or a negative errno with a fault. */
int bundle_put(json_t *config, json_t *edits, struct fault *f);
