/*
 * idle_test.c: the device comes to an event in an idle stream at once, also where no thread does. Here no thread can be
 * made: only who waits runs a stream.
 */
#include "soft.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define NAP_NS 50000000

/* Instead of the C library's. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
							  void *(*run)(void *), void *arg)
{
	(void)thread;
	(void)attr;
	(void)run;
	(void)arg;
	return EAGAIN;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void nap(void)
{
	struct timespec t = { .tv_nsec = NAP_NS };

	nanosleep(&t, NULL);
}

int main(void)
{
	CUevent first, second;
	float between = 0;
	double begun, submitted;
	CUcontext context;

	soft_begin("1", "64M");
	CU(cuInit(0));
	CU(cuDevicePrimaryCtxRetain(&context, 0));
	CU(cuCtxSetCurrent(context));
	CU(cuEventCreate(&first, CU_EVENT_DEFAULT));
	CU(cuEventCreate(&second, CU_EVENT_DEFAULT));
	begun = now_ms();
	CU(cuEventRecord(first, NULL));
	CU(cuEventSynchronize(first));
	nap();
	CU(cuEventRecord(second, NULL));
	submitted = now_ms();
	nap();
	CU(cuEventSynchronize(second));
	CU(cuEventElapsedTime(&between, first, second));
	tap_ok(between >= NAP_NS / 1e6 * 0.99 && between <= submitted - begun + 0.01,
	       "%.3f ms between two events, the second of which was submitted %.3f ms after the first", (double)between,
	       submitted - begun);
	CU(cuEventDestroy(first));
	CU(cuEventDestroy(second));
	CU(cuDevicePrimaryCtxRelease(0));
	return soft_end();
}
