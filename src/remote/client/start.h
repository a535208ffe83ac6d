/*
 * start.h: whether this process can be served. Nothing is done before the first cuInit, which opens the sessions unless
 * an NVML has (watch.h). In a child created by fork after that, every call returns CUDA_ERROR_NOT_INITIALIZED, as the
 * vendor documents; a child of a parent that had not called cuInit starts afresh.
 */
#pragma once

#include "cuda_table.h"

#include <stdatomic.h>

enum start_state { START_NEW, START_READY, START_FORKED };

extern _Atomic int start_state; /* written with release order when the sessions are open */

/* CUDA_SUCCESS, or CUDA_ERROR_NOT_INITIALIZED. */
static inline CUresult start_ready(void)
{
	/* Acquire: pairs with the release in start_open(). */
	return atomic_load_explicit(&start_state, memory_order_acquire) == START_READY ? CUDA_SUCCESS
										       : CUDA_ERROR_NOT_INITIALIZED;
}

/* Opens the sessions if that has not been done. */
CUresult start_open(void);
/* Opens only the sessions: the API stays uninitialised. */
CUresult start_watch(void);
/* cuDriverGetVersion of the open sessions: the oldest version. */
CUresult start_version(int *ret);
/* METE_REMOTE_WAIT=1: every call waits for its answer, so that it returns its own errors. */
extern _Bool start_waits;
