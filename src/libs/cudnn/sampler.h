/* sampler.h: kernels of the spatial transformer (sampler_run.c). */
#pragma once

#include "libs/cudnn/run.h"

/* Operands; a grid and theta are packed. dim[]: images, channels, 1, rows, columns; more[]: rows and columns of x. */
enum { SAMPLE_X, SAMPLE_Y, SAMPLE_GRID, SAMPLE_DGRID, SAMPLE_THETA };

/* False: the launch has ended. */
bool sampler_run(struct soft_native *n, const struct dnn_work *w);
