/*
 * vendor.h: merges NVIDIA's own CDI file for a GPU into mete's edits.
 *
 * All of it is kept: device nodes, libraries, hooks, environment. But the shim takes the place of libcuda.so and
 * libnvidia-ml.so, under every name and path, and NVIDIA's files are at INSIDE_DRIVER, where the shim looks for them.
 * 32-bit libraries, for which there is no shim, are omitted.
 */
#pragma once

#include "client/fault.h"
#include "client/place.h"
#include "connect/cdi/spec.h"

#include <jansson.h>

struct vendor_gpu {
	const char *uuid, *index;
	bool alone; /* the machine's only one: "all" means this one */
};

/*
 * The edits for a GPU, in the form of CDI's containerEdits; a new reference. NULL: there is none, or two, and the fault
 * gives the remedy. *ret_version: the CDI version that they need; borrowed from the list.
 */
json_t *vendor_edits(const struct spec_list *list, const struct place *place, const struct vendor_gpu *gpu,
		     const char **ret_version, struct fault *f);

/* Adds `from` to `to`: lists are joined, without entries that are there already. */
void vendor_merge(json_t *to, json_t *from);
