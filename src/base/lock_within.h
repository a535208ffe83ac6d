/*
 * lock_within.h: a mutex that is waited for no longer than a while, whatever the wall clock is set to meanwhile. By
 * trying again: the thread sanitizers of today do not know pthread_mutex_clocklock(), and take it for no lock.
 */
#pragma once

#include "base/clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCK_WITHIN_NAP_NS 1000000

/* Value: whether the caller has the mutex; false when others had it for `ns` nanoseconds. */
static inline bool lock_within(pthread_mutex_t *mutex, uint64_t ns)
{
	uint64_t until = clock_now_ns() + ns;

	while (pthread_mutex_trylock(mutex)) {
		if (clock_now_ns() >= until)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_WITHIN_NAP_NS }, NULL);
	}
	return true;
}
