/*
 * bundle.h: edits in the config.json of an OCI bundle, in the way that a runtime which knows CDI would make them, and
 * their undoing: what was put in is noted in an annotation of the bundle, and exactly that is taken out again.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>

/* Takes out what an earlier bundle_put() has put in; nothing where there is none. */
void bundle_take_out(json_t *config);

/* Puts CDI's containerEdits in. Value: 0, or a negative errno with a fault. */
int bundle_put(json_t *config, json_t *edits, struct fault *f);
