/* cluster.h: clusters of blocks: the limits of a launch. */
#pragma once

#include "softdev/launch.h"

/* Checks the cluster against the function and the grid of the launch. */
CUresult cluster_check(const struct launch *l, const struct function *f);
