/* cluster.h: clusters of blocks: what a launch may ask for. */
#pragma once

#include "softdev/launch.h"

/* Against the function and the grid of the launch. */
CUresult cluster_check(const struct launch *l, const struct function *f);
