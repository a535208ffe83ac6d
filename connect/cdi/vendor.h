/*
 * vendor.h: what NVIDIA's own CDI file says that a container needs for a GPU, merged into ours.
 *
 * All of it is kept: device nodes, libraries, hooks, environment. But where its libcuda.so and libnvidia-ml.so would
 * stand there is the shim, under every name and path, and they are at INSIDE_DRIVER, where the shim looks for them.
 */
#pragma once

#include "cli/fault.h"
#include "cli/place.h"
#include "connect/cdi/spec.h"

#include <jansson.h>

/*
 * The edits for a GPU by its UUID or index, in the form of CDI's containerEdits; a new reference. NULL: there is none,
 * and the fault says how to make one. *ret_version: the CDI version that they need; borrowed from the list.
 */
json_t *vendor_edits(const struct spec_list *list, const struct place *place, const char *uuid, const char *index,
		     const char **ret_version, struct fault *f);

/* Adds what `from` says to `to`: lists are joined, but for entries that are there already. */
void vendor_merge(json_t *to, json_t *from);
