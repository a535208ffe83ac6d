/* scores.h: the kernels of scores.c. */
#pragma once

#include "libs/cudnn/run.h"

/* Parameters that such a kernel can be executed with. */
bool scores_sound(const struct dnn_work *w);
/* Its memory may be used; what the program tells in its memory is checked when it is read. False: the launch has its
 * fault. */
bool scores_reach(struct soft_native *n, const struct dnn_work *w);

/* Each returns false when the launch has ended. */
bool band_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to);
bool scores_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to);
bool ragged_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to);
bool paged_run(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to);
