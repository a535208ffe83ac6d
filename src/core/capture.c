/* capture.c: see capture.h. */
#include "core/capture.h"
#include "core/marks.h"

#include <pthread.h>

_Atomic uint32_t capture_count;
/* Held while a capture ends. Recursive: one call may launch into several streams. */
static pthread_mutex_t ends = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void capture_begins(void)
{
	atomic_fetch_add(&capture_count, 1);
	marks_all();
}

void capture_failed(void)
{
	atomic_fetch_sub(&capture_count, 1);
}

void capture_ended(void)
{
	uint32_t n = atomic_load(&capture_count);

	while (n && !atomic_compare_exchange_weak(&capture_count, &n, n - 1))
		;
	if (n == 1)
		marks_all();
}

void capture_hold(void)
{
	pthread_mutex_lock(&ends);
}

void capture_release(void)
{
	pthread_mutex_unlock(&ends);
}

void capture_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	ends = unlocked;
	atomic_store(&capture_count, 0);
}
