/*
 * start.h: the start of the shim.
 *
 * The program's first call opens the driver and binds the tables (shim_start, called by the generated entries); cuInit
 * attaches to meted and decides which calls are handled. Without METE_SOCKET no call is handled.
 */
#pragma once

#include "cuda_shim.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The process is under a grant, and accounts and devices are known. */
extern _Atomic bool start_metered;

/* For calls that may precede cuInit: true if the process is, or has just become, metered. */
bool start_meter(void);

/*
 * True if the process is under a grant and the driver works, but it is not metered: the driver was initialised without
 * the shim's cuInit, and meted cannot be reached. Memory is refused then.
 */
bool start_refuses(void);

static inline bool start_is_metered(void)
{
	/* Acquire: pairs with the release in shim_cuInit(); accounts and devices are filled before. */
	return atomic_load_explicit(&start_metered, memory_order_acquire) || start_meter();
}

/* True if the driver exports the call. */
static inline bool shim_has(enum cuda_call call)
{
	return !shim_missing(call);
}

/* From now on programs reach the shim's body of the call, or the driver's own function. */
void start_treat(enum cuda_call call);
void start_pass(enum cuda_call call);
/* ... or this one, until one of the two above. */
void start_put(enum cuda_call call, void *function);
/* The shim's body of the call, or NULL, whatever the table contains at the moment. */
void *start_body(enum cuda_call call);

/* In the child of fork(). */
void start_forget(void);
