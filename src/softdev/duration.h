/*
 * duration.h: how long kernels and copies take on the modelled device: declared, or computed from the executed work at
 * a rate.
 *
 * METE_SOFT_DURATION, METE_SOFT_RATE, METE_SOFT_COPY_RATE; separate for each process. METE_SOFT_RATE=reference stands
 * for a reference device with 16 multiprocessors that issue 4 instructions per clock at 1.5 GHz, 500 GB/s, and 3 us for
 * an empty kernel. A number stands for the same device, faster or slower in proportion.
 */
#pragma once

#include "softdev/module.h"

#define DURATION_OPEN UINT64_MAX

/* Reads the environment. Value: CUDA_SUCCESS, or CUDA_ERROR_INVALID_VALUE after a line in the log. */
CUresult duration_read(void);
/* The declared duration of the kernel; DURATION_OPEN: none. */
uint64_t duration_declared(struct function *f);
/* The duration computed from the work of a launch that has run; DURATION_OPEN: no rate is set. */
uint64_t duration_executed(const struct ptx_launch *l);
/* The part of the device that a launch can use, in units of 1/TIMELINE_WHOLE. */
uint32_t duration_demand(const struct ptx_launch *l);
/* The duration of a copy between host and device; 0: as long as the CPU takes. */
uint64_t duration_copy(uint64_t bytes);
