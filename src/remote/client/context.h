/*
 * context.h: contexts as the program sees them: handles, the stack of each thread, primary contexts and who retains
 * them. The driver's contexts are at the workers; the id of the current one goes with every request.
 */
#pragma once

#include "cuda_table.h"
#include "remote/client/call.h"
#include "remote/client/session.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Kept with a context's handle; never given back, because other threads may have it current. */
struct context {
	uint64_t handle, id;
	struct session *session;
	CUdevice device; /* as the program numbers it */
	bool primary;
	_Atomic bool active; /* a primary one: somebody retains it */
	uint32_t retains;
	_Atomic unsigned int flags;
	unsigned int api_version;
	unsigned long long number; /* cuCtxGetId */
	_Atomic int cache, shared_config;
	struct context *next_free;
};

/* The calling thread's current context. CUDA_SUCCESS, _INVALID_CONTEXT or _CONTEXT_IS_DESTROYED. */
CUresult context_current(struct thread *t, struct context **ret);
/* That of a handle, for a call that may be made here and now; NULL means the current one. The same values, and others.
 */
CUresult context_find(CUcontext handle, struct context **ret);
/* Of cuCtxCreate() and those that set them later. */
bool context_flags_good(unsigned int flags);
/*
 * The same for calls that are answered here. When a kernel has faulted the driver is asked: from then on each call of
 * its context gets the error.
 */
CUresult context_sound(void);
/* A handle's context, or NULL. */
struct context *context_of(CUcontext handle);
/* The primary contexts' handles: once the sessions are open. */
CUresult context_open(void);
void context_forget(void);
/* Whether there is a context on a device. */
bool context_any(CUdevice device);
/* The device that a range or stream of this context lies on; -1 without. */
CUdevice context_device(uint64_t handle);
