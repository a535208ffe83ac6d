/*
 * start.h: starts a face that is loaded beside its vendor's libraries.
 *
 * Such a face is preloaded. It exports only the calls that it meters, so a program finds all other calls in the
 * vendor's library, whatever its version. The vendor's function of a call is searched in the libraries that the process
 * has loaded: first in those after this one in the program's search order, then in the vendor's libraries that were
 * opened with dlopen(). A call that no loaded library has is searched again after more libraries were loaded.
 *
 * vendor.h is the vendor's part (src/ascend, src/cambricon): it queries devices, contexts and events, and maps the
 * vendor's queues to queues of the core (core/face.h).
 */
#pragma once

#include "vendor.h"

#include <stdatomic.h>
#include <stdbool.h>

enum start_state {
	START_UNKNOWN,
	START_METERED, /* accounts and devices are known */
	START_OPEN,    /* METE_OPEN=1, and meted was out of reach: the program runs without a limit */
	START_REFUSED, /* calls are refused now; the log says why, and a later call tries again */
};

extern _Atomic int start_is;

/* Attaches to meted unless the process is attached, and compares the library's devices with the grant. */
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

/* VENDOR_SUCCESS, or the error of a call that is refused now. */
static inline vendor_result start_refusal(void)
{
	return start_state() == START_REFUSED ? VENDOR_REFUSED : VENDOR_SUCCESS;
}

/* True if a loaded library has the call. */
static inline bool start_has(enum vendor_call call)
{
	return !shim_missing(call);
}

/* True if the path is the name of one of the vendor's libraries. */
bool start_vendors_library(const char *path);

/* In the child of fork(). */
void start_forget(void);
