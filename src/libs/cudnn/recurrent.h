/* recurrent.h: kernels of recurrent networks (recurrent.c). */
#pragma once

#include "libs/cudnn/run.h"

/* False: the launch has ended. */
bool recurrent_run(struct soft_native *n, const struct dnn_work *w);
