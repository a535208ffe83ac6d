/*
 * faults.h: what ends a context for good (a fault of a kernel, an error of the device) is told to meted, once for each
 * context, with the call that was the first to answer it.
 *
 * The calls by which programs usually learn of it are watched also where nothing else of them is our business: one
 * comparison behind the driver's call. A program that ends without asking is known to meted by the driver's own events
 * alone.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>

/* In the slow path: no lock is held, errno is kept. */
void faults_tell(CUresult r);

/* The errors after which a context answers nothing else (CUDA driver API, "CUresult": "the context must be destroyed"
 * or "the process must be terminated"), and those of a device that is gone. */
static inline bool faults_is(CUresult r)
{
	return r >= CUDA_ERROR_ILLEGAL_ADDRESS
		       ? (r == CUDA_ERROR_ILLEGAL_ADDRESS || r == CUDA_ERROR_LAUNCH_TIMEOUT || r == CUDA_ERROR_ASSERT ||
			  (r >= CUDA_ERROR_HARDWARE_STACK_ERROR && r <= CUDA_ERROR_LAUNCH_FAILED))
		       : (r == CUDA_ERROR_DEVICE_UNAVAILABLE || r == CUDA_ERROR_ECC_UNCORRECTABLE ||
			  r == CUDA_ERROR_NVLINK_UNCORRECTABLE);
}

/* Behind the driver's call. Value: r. */
static inline CUresult faults_see(CUresult r)
{
	if (__builtin_expect(r != CUDA_SUCCESS && faults_is(r), 0))
		faults_tell(r);
	return r;
}

/* Puts the watched calls into the table, where the driver's own function would stand. */
void faults_watch(void);
/* A context has gone: another one may come under its handle. */
void faults_forget(const void *context);
/* In the child of fork(). */
void faults_reset(void);
