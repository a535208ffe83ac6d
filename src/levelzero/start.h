/*
 * start.h: starts Level Zero's face and opens the driver behind it.
 *
 * Programs use Level Zero through its loader, which asks each driver for tables of calls. The face is such a driver:
 * ZE_ENABLE_ALT_DRIVERS names it to the loader, and in the folder levelzero/ it has the name that the loader searches
 * by default. It opens the real driver (core/behind.h) and returns that driver's tables with some calls replaced;
 * without METE_SOCKET it replaces none. Calls that are newer than api/levelzero.toml are left out.
 */
#pragma once

#include "levelzero_face.h"

#include <stdatomic.h>
#include <stdbool.h>

enum start_state {
	START_UNKNOWN,
	START_METERED, /* accounts and devices are known */
	START_OPEN,    /* METE_OPEN=1, and meted was out of reach: the program runs without a limit */
	START_REFUSED, /* calls are refused now; the log says why, and a later call tries again */
};

extern _Atomic int start_is;

/* Attaches to meted unless the process is attached. */
enum start_state start_now(void);

static inline enum start_state start_state(void)
{
	/* Acquire: pairs with the release in start_now(); the accounts are filled before. */
	enum start_state is = (enum start_state)atomic_load_explicit(&start_is, memory_order_acquire);

	return is == START_METERED || is == START_OPEN ? is : start_now();
}

static inline bool start_is_metered(void)
{
	return start_state() == START_METERED;
}

/* ZE_RESULT_SUCCESS, or the error of a call that is refused now. */
static inline ze_result_t start_refusal(void)
{
	return start_state() == START_REFUSED ? ZE_RESULT_ERROR_UNINITIALIZED : ZE_RESULT_SUCCESS;
}

/* In the child of fork(). */
void start_forget(void);
