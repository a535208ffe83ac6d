/*
 * start.h: how HIP's face comes to life, and which library lies behind it.
 *
 * libmete-hip.so is preloaded, and stands in the folder hip/ under the names that programs ask for (libamdhip64.so.5
 * to .7): glibc loads one file once, whatever its names. The first call of the program opens the library behind it
 * (core/behind.h) and binds the tables; without METE_SOCKET everything then goes straight to it. HIP needs no
 * initialisation, so that any treated call may be the one with which the process attaches to meted.
 */
#pragma once

#include "hip_shim.h"

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

/* A thread that has chosen no device is on the library's device 0: the first call of ours puts it on the grant's first.
 */
extern hip_ordinal devices_first __attribute__((visibility("hidden"))); /* the library's number */
extern __thread bool devices_settled __attribute__((visibility("hidden"), tls_model("initial-exec")));
void devices_settle(void);

static inline enum start_state start_state(void)
{
	/* Acquire: pairs with the release in start_now(); accounts and devices are filled before. */
	enum start_state is = (enum start_state)atomic_load_explicit(&start_is, memory_order_acquire);

	if (is != START_METERED && is != START_OPEN)
		is = start_now();
	if (__builtin_expect(devices_first && !devices_settled, 0) && is == START_METERED)
		devices_settle();
	return is;
}

static inline bool start_is_metered(void)
{
	return start_state() == START_METERED;
}

/* hipSuccess, or what a call answers that may not be made now. */
static inline hipError_t start_refusal(void)
{
	return start_state() == START_REFUSED ? hipErrorNotInitialized : hipSuccess;
}

/* hipErrorOutOfMemory, which hipGetLastError() then tells as well. */
hipError_t start_no_memory(void);

/* The library behind has the call. */
static inline bool start_has(enum hip_call call)
{
	return !shim_missing(call);
}

/* In the child of fork(). */
void start_forget(void);
