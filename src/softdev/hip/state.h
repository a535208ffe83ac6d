/*
 * state.h: the software device as HIP sees it: its driver's calls, and where a thread is.
 *
 * HIP has no current context that a program must make: a thread is on a device. Each call enters the device's primary
 * context and leaves it again, so that a program which uses CUDA in the same thread finds its own context there.
 */
#pragma once

#include "cuda_table.h"
#include "hip_table.h"

#include <stdbool.h>

/* The driver beside this library: libcuda.so.1 of the software device. */
extern struct cuda_table soft_cu;

/* Opens and initialises it once. hipSuccess, or what is wrong. */
hipError_t state_ready(void);

/* The thread's device. */
hip_ordinal state_device(void);
hipError_t state_choose(hip_ordinal device);

/* The device's context, and all that was made in it, goes; the next call makes another. */
hipError_t state_reset(void);

/* hipSuccess: the context is current, and state_leave() ends that. */
hipError_t state_enter(void);
void state_leave(const hipError_t *entered);

/* The codes are the same in both APIs. Remembered for hipGetLastError(). */
hipError_t state_said(CUresult r);
hipError_t state_last(bool forget);

/* For the rest of a function that answers hipError_t. */
#define ON_DEVICE                                                                                                      \
	__attribute__((cleanup(state_leave))) const hipError_t entered = state_enter();                                \
	if (entered != hipSuccess)                                                                                     \
	return entered
