/*
 * state.h: the software device for HIP: the calls of its driver, and the thread's device.
 *
 * HIP has no current context that a program must create: a thread is on a device. Each call enters the device's primary
 * context and leaves it again, so that a program which uses CUDA in the same thread finds its own context there.
 */
#pragma once

#include "cuda_table.h"
#include "hip_table.h"

#include <stdbool.h>

/* The driver beside this library: libcuda.so.1 of the software device. */
extern struct cuda_table soft_cu;

/* Opens and initialises it once. Value: hipSuccess, or the error. */
hipError_t state_ready(void);

/* The thread's device. */
hip_ordinal state_device(void);
hipError_t state_choose(hip_ordinal device);

/* Destroys the device's context with everything in it; the next call creates another. */
hipError_t state_reset(void);

/* Value: hipSuccess: the context is current until state_leave(). */
hipError_t state_enter(void);
void state_leave(const hipError_t *entered);

/* Converts a result; the codes are the same in both APIs. Remembers it for hipGetLastError(). */
hipError_t state_said(CUresult r);
hipError_t state_last(bool forget);

/* Enters the device for the rest of a function that returns hipError_t. */
#define ON_DEVICE                                                                                                      \
	__attribute__((cleanup(state_leave))) const hipError_t entered = state_enter();                                \
	if (entered != hipSuccess)                                                                                     \
	return entered
