/* stack.c: see stack.h. */
#include "softdev/ptx/stack.h"

#include <stdint.h>

#define FRAME_BYTES (768u << 10) /* the largest frame of compiled code, and what it calls */
#define THREAD_BYTES (2u << 20)

struct bounds {
	uintptr_t low, high; /* both 0: not looked up yet */
};

static __thread struct bounds own;

static struct bounds bounds_find(void)
{
	struct bounds found = { 1, UINTPTR_MAX }; /* without /proc nothing is known of the first thread's */
	pthread_attr_t attr;
	size_t bytes;
	void *low;

	if (pthread_getattr_np(pthread_self(), &attr))
		return found;
	if (!pthread_attr_getstack(&attr, &low, &bytes))
		found = (struct bounds){ (uintptr_t)low, (uintptr_t)low + bytes };
	pthread_attr_destroy(&attr);
	return found;
}

bool stack_is_deep(void)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (!own.high)
		own = bounds_find();
	/* Elsewhere: a coroutine's, or a signal's, of which nobody knows the size. */
	return here > own.low && here < own.high && here - own.low >= FRAME_BYTES;
}

void stack_deepen(pthread_attr_t *attr)
{
	size_t bytes;

	if (!pthread_attr_getstacksize(attr, &bytes) && bytes < THREAD_BYTES)
		pthread_attr_setstacksize(attr, THREAD_BYTES);
}
