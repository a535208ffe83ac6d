/*
 * start.h: how the shim comes to life.
 *
 * The first call of the program opens the driver and binds the tables (shim_start, called by the generated entries);
 * cuInit attaches to meted and decides which calls are treated. Without METE_SOCKET nothing is treated at all.
 */
#pragma once

#include "cuda_shim.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The process is under a grant: accounts and devices are known. */
extern _Atomic bool start_metered;

/* For calls that may come before cuInit did its work here: true when the process is, or now became, metered. */
bool start_meter(void);

/*
 * Not metered although the process is under a grant, and the driver works: somebody initialised it without our cuInit,
 * and meted is out of reach. Memory is refused then.
 */
bool start_refuses(void);

static inline bool start_is_metered(void)
{
	/* Acquire: pairs with the release in shim_cuInit(); accounts and devices are filled before. */
	return atomic_load_explicit(&start_metered, memory_order_acquire) || start_meter();
}

/* The driver exports the call. */
static inline bool shim_has(enum cuda_call call)
{
	return !shim_missing(call);
}

/* From now on programs reach our body of the call, or the driver's own function. */
void start_treat(enum cuda_call call);
void start_pass(enum cuda_call call);
/* ... or this one, until one of the two above. */
void start_put(enum cuda_call call, void *function);
/* Our body where there is one, else NULL, whatever stands in the table just now. */
void *start_body(enum cuda_call call);

/* In the child of fork(). */
void start_forget(void);
