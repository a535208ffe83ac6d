/* launches.h: reads the description of a launch; used for launches and for kernel nodes of graphs. */
#pragma once

#include "remote/worker/functions.h"

/* Points into the request. */
struct launch {
	struct code_launch head;
	const struct known *known;
	const uint8_t *packed;
	CUlaunchAttribute attribute[CODE_LAUNCH_ATTRIBUTES_MOST];
	/* In the form for the driver; one of the two is NULL, both if there are no parameters. */
	void **params, **extra;
	size_t extra_bytes;
	void *extra_list[5];
	void *param_list[CODE_PARAMS_MOST + 1];
};

/*
 * Value: 0: l->known and what depends on it are set unless work->result is an error (l->known is NULL then); -EPROTO:
 * malformed.
 */
int launch_read(struct work *work, struct launch *l);
/* Locates its parameters; sets work->result if they do not match the function. */
void launch_params(struct work *work, struct launch *l);
/* The result points into `l`. */
CUlaunchConfig launch_config(struct launch *l, CUstream stream);
/* Looks up and checks objects and addresses in an attribute's value. */
void launch_attribute_check(struct work *work, CUlaunchAttribute *a);
