/* lock_within.h: a mutex that is waited for no longer than a while, whatever the wall clock is set to meanwhile. */
#pragma once

#include "base/clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Value: whether the caller has the mutex; false when others had it for `ns` nanoseconds. */
static inline bool lock_within(pthread_mutex_t *mutex, uint64_t ns)
{
	uint64_t until = clock_now_ns() + ns;
	struct timespec t = { .tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u) };

	return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &t) == 0;
}
