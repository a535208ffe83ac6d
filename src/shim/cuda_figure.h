/*
 * cuda_figure.h: what CUDA's driver says this process occupies of a device (figure.h).
 *
 * The driver's per-process figure comes from NVML (METE_NVML, the driver's own library). Where NVML does not list this
 * process (a container that hides process ids) the device's figure stands in, and then others' allocations blur it.
 * NVML counts memory that was exported to its maker, and it goes when the last importer does, in another process too:
 * no gate holds that up. The software device says what a process has without it (wire/soft_usage.h).
 */
#pragma once

#include "core/figure.h"

struct soft_usage_table;

/* With the gate closed. */
void cuda_figure_read(unsigned int device, struct figure *ret);
/* The software device's own figures; NULL: a real driver, or a software device of another release. */
const struct soft_usage_table *cuda_figure_soft(unsigned int device);
/* In the child of fork(). */
void cuda_figure_reset(void);
