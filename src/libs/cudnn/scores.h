/* scores.h: the kernels of scores.c. */
#pragma once

#include "libs/cudnn/run.h"

/* True if a kernel can be executed with these parameters. */
bool scores_sound(const struct dnn_work *w);
/*
 * True if its memory is accessible; values in device memory are checked when they are read. False: the launch has
 * failed with a fault.
 */
bool scores_reach(struct soft_native *n, const struct dnn_work *w);

/* Each returns false when the launch has ended. */
bool band_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to);
bool scores_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to);
bool ragged_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to);
bool paged_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to);
