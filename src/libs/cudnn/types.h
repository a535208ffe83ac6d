/* types.h: converts elements of tensors to floats and doubles, and back; types are cudnnDataType_t. */
#pragma once

#include "libs/cudnn/dnn.h"

/* `count` elements, `stride` elements apart. */
void dnn_read_f(float *to, unsigned int type, const void *at, int64_t stride, int64_t count);
void dnn_read_d(double *to, unsigned int type, const void *at, int64_t stride, int64_t count);
/* Integers are rounded to the nearest and clamped. */
void dnn_write_f(const float *from, unsigned int type, void *at, int64_t stride, int64_t count);
void dnn_write_d(const double *from, unsigned int type, void *at, int64_t stride, int64_t count);
