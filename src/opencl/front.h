/*
 * front.h: OpenCL's face in front of the ICD loader, under the loader's name and with its exports and their versions.
 *
 * It meters programs whose loader does not support layers. If the loader has loaded the layer, the front passes every
 * call: the face is one file with two names, so both use the same tables.
 */
#pragma once

#include "opencl/types.h"

#include <stdbool.h>
#include <stddef.h>

/* An export, in the order of shim_table. */
struct front_call {
	const char *symbol;
	size_t offset; /* in struct _cl_icd_dispatch */
	bool handle;   /* the call returns a pointer or nothing: it fails with NULL, not with an error code */
};

/* Generated. */
extern const struct front_call front_calls[];
extern const unsigned int front_count;
extern void *front_own[]; /* the loader's own exports, in the order of shim_table: filled by the start */
extern void *shim_table[];

/* Called by the exports until shim_table is filled. Returns the table with which the call continues. */
void **shim_start(void);
