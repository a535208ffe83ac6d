/* launch.h: launching kernels. */
#pragma once

#include "softdev/work.h"

/* Runs a kernel to its end; a fault goes to the context. */
void launch_run(struct work *w);
