/*
 * vendor.h: what NVIDIA's own CDI file says that a container needs for a GPU, merged into ours.
 *
 * All of it is kept: device nodes, libraries, hooks, environment. But where its libcuda.so and libnvidia-ml.so would
 * stand there is the shim, under every name and path, and they are at INSIDE_DRIVER, where the shim looks for them.
 * Those of 32 bits, for which there is no shim, are left out.
 */
#pragma once

#include "client/fault.h"
#include "client/place.h"
#include "connect/cdi/spec.h"

#include <jansson.h>

struct vendor_gpu {
	const char *uuid, *index;
	bool alone; /* the machine's only one: "all" is that one */
};

/*
 * The edits for a GPU, in the form of CDI's containerEdits; a new reference. NULL: there is none, or two, and the fault
 * says what to do. *ret_version: the CDI version that they need; borrowed from the list.
 */
json_t *vendor_edits(const struct spec_list *list, const struct place *place, const struct vendor_gpu *gpu,
		     const char **ret_version, struct fault *f);

/* Adds what `from` says to `to`: lists are joined, but for entries that are there already. */
void vendor_merge(json_t *to, json_t *from);
