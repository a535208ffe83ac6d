/*
 * start.h: starts HIP's face and opens the vendor's library that it replaces.
 *
 * libmete-hip.so is preloaded. The folder hip/ also has it under the names that programs load (libamdhip64.so.5 to .7);
 * glibc loads one file once, whatever its names. The program's first call opens the vendor's library (core/behind.h)
 * and binds the tables. Without METE_SOCKET all calls then go directly to that library. HIP needs no initialisation, so
 * any treated call can be the first, with which the process attaches to meted.
 */
#pragma once

#include "hip_shim.h"

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

/* A thread that has chosen no device uses the library's device 0. Its first call here moves it to the grant's first. */
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

/* hipSuccess, or the error of a call that is refused now. */
static inline hipError_t start_refusal(void)
{
	return start_state() == START_REFUSED ? hipErrorNotInitialized : hipSuccess;
}

/* Returns hipErrorOutOfMemory, which hipGetLastError() then returns as well. */
hipError_t start_no_memory(void);

/* True if the vendor's library has the call. */
static inline bool start_has(enum hip_call call)
{
	return !shim_missing(call);
}

/* In the child of fork(). */
void start_forget(void);
