/*
 * faults.h: reports errors that end a context for good (a fault of a kernel, an error of the device) to meted, once per
 * context, with the call that first returned the error.
 *
 * The calls by which programs usually learn of such errors are watched even if the shim does nothing else with them:
 * one comparison after the driver's call. If a program ends without such a call, meted knows of the error only from the
 * driver's own events.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>

/* The slow path: no lock is held, errno is preserved. */
void faults_tell(CUresult r);

/*
 * The errors after which a context returns only the error (CUDA driver API, "CUresult": "the context must be destroyed"
 * or "the process must be terminated"), and those of a lost device.
 */
static inline bool faults_is(CUresult r)
{
	return r >= CUDA_ERROR_ILLEGAL_ADDRESS
		       ? (r == CUDA_ERROR_ILLEGAL_ADDRESS || r == CUDA_ERROR_LAUNCH_TIMEOUT || r == CUDA_ERROR_ASSERT ||
			  (r >= CUDA_ERROR_HARDWARE_STACK_ERROR && r <= CUDA_ERROR_LAUNCH_FAILED))
		       : (r == CUDA_ERROR_DEVICE_UNAVAILABLE || r == CUDA_ERROR_ECC_UNCORRECTABLE ||
			  r == CUDA_ERROR_NVLINK_UNCORRECTABLE);
}

/* Called after the driver's call. Value: r. */
static inline CUresult faults_see(CUresult r)
{
	if (__builtin_expect(r != CUDA_SUCCESS && faults_is(r), 0))
		faults_tell(r);
	return r;
}

/* Puts the watched calls into the table, in the place of the driver's own functions. */
void faults_watch(void);
/* A context has ended: another one may get its handle. */
void faults_forget(const void *context);
/* In the child of fork(). */
void faults_reset(void);
