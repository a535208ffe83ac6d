/*
 * cuda_figure.h: what this process occupies of a device, according to CUDA's driver (figure.h).
 *
 * The figure comes from NVML (METE_NVML, the driver's own library). Where NVML does not list this process (a container
 * that hides process ids), the device's figure is used instead, which others' allocations distort. NVML counts exported
 * memory for its creator until the last importer, possibly in another process, releases it; the gate does not delay
 * that. The software device reports a process's use without NVML (wire/soft_usage.h).
 */
#pragma once

#include "core/figure.h"

struct soft_usage_table;

/* Must be called with the gate closed. */
void cuda_figure_read(unsigned int device, struct figure *ret);
/* The software device's own figures; NULL: a real driver, or a software device of another release. */
const struct soft_usage_table *cuda_figure_soft(unsigned int device);
/* In the child of fork(). */
void cuda_figure_reset(void);
