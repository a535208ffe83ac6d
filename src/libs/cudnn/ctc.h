/* ctc.h: the kernel of the CTC loss (ctc_run.c). */
#pragma once

#include "libs/cudnn/run.h"

/* False: the launch has ended. */
bool ctc_run(struct soft_native *n, const struct dnn_work *w);
