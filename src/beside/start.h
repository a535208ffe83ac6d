/*
 * start.h: how a face that stands beside its vendor's libraries comes to life.
 *
 * Such a face is preloaded. It exports only the calls that it meters, so that a program finds these here and all others
 * in the vendor's library, whatever its version. What is behind a call is looked up in the libraries that the process
 * has loaded: first in those after this one in the program's order, then in the vendor's that were opened by hand. A
 * call that no loaded library has is looked up again when more libraries are there.
 *
 * vendor.h is the vendor's part (src/ascend, src/cambricon): how to ask for a device, a context, an event, and which
 * queue of the core's (core/face.h) a queue of the vendor's is.
 */
#pragma once

#include "vendor.h"

#include <stdatomic.h>
#include <stdbool.h>

enum start_state {
	START_UNKNOWN,
	START_METERED, /* accounts and devices are known */
	START_OPEN,    /* METE_OPEN=1, and meted was out of reach: the program runs without a limit */
	START_REFUSED, /* nothing may be made now; the log says why, and a later call tries again */
};

extern _Atomic int start_is;

/* Attaches to meted when it is not done yet, and compares the library's devices with the grant. */
enum start_state start_now(void);

static inline enum start_state start_state(void)
{
	/* Acquire: pairs with the release in start_now(); accounts and devices are filled before. */
	enum start_state is = (enum start_state)atomic_load_explicit(&start_is, memory_order_acquire);

	return is == START_METERED || is == START_OPEN ? is : start_now();
}

static inline bool start_is_metered(void)
{
	return start_state() == START_METERED;
}

/* VENDOR_SUCCESS, or what a call answers that may not be made now. */
static inline vendor_result start_refusal(void)
{
	return start_state() == START_REFUSED ? VENDOR_REFUSED : VENDOR_SUCCESS;
}

/* A library that is loaded has the call. */
static inline bool start_has(enum vendor_call call)
{
	return !shim_missing(call);
}

/* By its name. */
bool start_vendors_library(const char *path);

/* In the child of fork(). */
void start_forget(void);
