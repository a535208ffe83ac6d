/*
 * lock_within.h: waits for a mutex for a limited time, which does not depend on the wall clock. It tries repeatedly,
 * because present thread sanitizers do not recognise pthread_mutex_clocklock() as taking a lock.
 */
#pragma once

#include "base/clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCK_WITHIN_NAP_NS 1000000

/* Returns whether the caller has the mutex; false: other threads had it for `ns` nanoseconds. */
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
