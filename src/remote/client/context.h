/*
 * context.h: contexts as the program sees them: handles, the stack of each thread, primary contexts and their retain
 * counts. The driver's contexts are in the workers; each request carries the id of the current one.
 */
#pragma once

#include "cuda_table.h"
#include "remote/client/call.h"
#include "remote/client/session.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Kept with a context's handle; never freed, because other threads may have it current. */
struct context {
	uint64_t handle, id;
	struct session *session;
	CUdevice device; /* the program's ordinal */
	bool primary;
	_Atomic bool active; /* a primary context that is retained */
	uint32_t retains;
	_Atomic unsigned int flags;
	unsigned int api_version;
	unsigned long long number; /* cuCtxGetId */
	_Atomic int cache, shared_config;
	struct context *next_free;
};

/* The calling thread's current context. Value: CUDA_SUCCESS, _INVALID_CONTEXT or _CONTEXT_IS_DESTROYED. */
CUresult context_current(struct thread *t, struct context **ret);
/*
 * The context of a handle, for a call that is permitted now; NULL is the current one. Value: as above, or another
 * error.
 */
CUresult context_find(CUcontext handle, struct context **ret);
/* For the flags of cuCtxCreate() and of calls that set them later. */
bool context_flags_good(unsigned int flags);
/*
 * The same for calls that are answered here. After a kernel has faulted the driver is asked: every later call of its
 * context returns the error.
 */
CUresult context_sound(void);
/* Value: NULL: not a context. */
struct context *context_of(CUcontext handle);
/* Creates the handles of the primary contexts, once the sessions are open. */
CUresult context_open(void);
void context_forget(void);
/* True if there is a context on the device. */
bool context_any(CUdevice device);
/* The device of a range or stream of this context; -1: none. */
CUdevice context_device(uint64_t handle);
