/* launch.h: launching kernels. */
#pragma once

#include "softdev/module.h"
#include "softdev/pace.h"
#include "softdev/work.h"

/* One launch as a program describes it. */
struct launch {
	CUfunction function;
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;
	bool cooperative;
	void **params; /* one pointer per parameter, or NULL */
	void **extra;  /* a packed buffer, or NULL */
	uint32_t cluster[3]; /* blocks; 0: the kernel's own, or none */
};

/* Checks and copies it; the work owns its parameters. */
CUresult launch_describe(const struct launch *l, struct context *c, struct work *ret);
/* Reads the attributes of a launch that have an effect here; ret_event: an event to record afterwards. */
CUresult launch_attributes(const CUlaunchConfig *config, struct launch *l, CUevent *ret_event);
/*
 * Executes a kernel after `after` (or NULL); a fault goes to the context. Value: true if it has also ended on the
 * device's timeline; otherwise `k` must remain until it has.
 */
bool launch_run(struct work *w, struct pace_kernel *k, struct pace_kernel *after);
