/* launches.h: reading what a launch says; launches themselves and kernel nodes of graphs are made of it. */
#pragma once

#include "remote/worker/functions.h"

/* Points into the request. */
struct launch {
	struct code_launch head;
	const struct known *known;
	const uint8_t *packed;
	CUlaunchAttribute attribute[CODE_LAUNCH_ATTRIBUTES_MOST];
	/* As the driver takes them; one of the two is NULL, both when there are no parameters. */
	void **params, **extra;
	size_t extra_bytes;
	void *extra_list[5];
	void *param_list[CODE_PARAMS_MOST + 1];
};

/*
 * 0: l->known and what depends on it is filled in unless work->result says otherwise (l->known is NULL then); -EPROTO:
 * malformed.
 */
int launch_read(struct work *work, struct launch *l);
/* Where its parameters are; sets work->result when they are not those that the function has. */
void launch_params(struct work *work, struct launch *l);
/* Points into it. */
CUlaunchConfig launch_config(struct launch *l, CUstream stream);
/* Objects and addresses in an attribute's value: looked up, checked. */
void launch_attribute_check(struct work *work, CUlaunchAttribute *a);
