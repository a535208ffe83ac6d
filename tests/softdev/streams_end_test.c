/*
 * streams_end_test.c: streams and contexts end while other threads wait for the whole device, and while a worker minds
 * what is left of a stream that another one waits for. Nothing is touched that is gone (the sanitizers look), and at
 * the end all memory is back.
 */
#include "soft.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define SECONDS 2
#define STREAMS 2 /* threads */
#define CONTEXTS 2

/* So that it is on the timeline for a moment. */
static const char image[] = ".version 8.0 .target sm_50 .address_size 64\n"
			    ".visible .entry k() { .reg .u32 %i; .reg .pred %p; mov.u32 %i, 200;\n"
			    "l: sub.u32 %i, %i, 1; setp.ne.u32 %p, %i, 0; @%p bra l; ret; }\n";

static CUcontext shared;
static CUfunction kernel;
static atomic_bool over;
static atomic_ulong done[STREAMS + CONTEXTS + 1], wrong;

static CUresult noted(CUresult r)
{
	if (r)
		atomic_fetch_add(&wrong, 1);
	return r;
}

/* A stream that waits for another one's kernel; both end with the work in flight. */
static void pair(CUfunction f)
{
	CUstream first, second;
	CUevent event;

	if (noted(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING)) ||
	    noted(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING)) ||
	    noted(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING)))
		return;
	noted(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, first, NULL, NULL));
	noted(cuEventRecord(event, first));
	noted(cuStreamWaitEvent(second, event, 0));
	noted(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, second, NULL, NULL));
	noted(cuEventDestroy(event));
	noted(cuStreamDestroy(first));
	noted(cuStreamDestroy(second));
}

static void *streams(void *count)
{
	cuCtxSetCurrent(shared);
	for (; !over; atomic_fetch_add((atomic_ulong *)count, 1)) {
		pair(kernel);
		if (atomic_load((atomic_ulong *)count) % 4 == 3) /* those who wait have their turn */
			noted(cuCtxSynchronize());
	}
	return NULL;
}

static void *contexts(void *count)
{
	for (; !over; atomic_fetch_add((atomic_ulong *)count, 1)) {
		CUfunction own;
		CUmodule module;
		CUcontext c;

		if (noted(cuCtxCreate_v2(&c, 0, 0)))
			continue;
		if (!noted(cuModuleLoadData(&module, image)) && !noted(cuModuleGetFunction(&own, module, "k")))
			pair(own);
		noted(cuCtxDestroy(c));
	}
	return NULL;
}

/* To free memory waits for the device. */
static void *waiter(void *count)
{
	CUdeviceptr p;

	cuCtxSetCurrent(shared);
	for (; !over; atomic_fetch_add((atomic_ulong *)count, 1)) {
		if (!noted(cuMemAlloc(&p, 4096)))
			noted(cuMemFree(p));
		noted(cuCtxSynchronize());
	}
	return NULL;
}

int main(void)
{
	void *(*const bodies[STREAMS + CONTEXTS + 1])(void *) = { streams, streams, contexts, contexts, waiter };
	pthread_t threads[STREAMS + CONTEXTS + 1];
	CUmodule module;
	size_t before;

	soft_begin("1", "1G");
	if (CU(cuInit(0)) || CU(cuCtxCreate_v2(&shared, 0, 0)) || CU(cuModuleLoadData(&module, image)) ||
	    CU(cuModuleGetFunction(&kernel, module, "k")))
		return soft_end();
	before = soft_free();
	for (unsigned int i = 0; i < STREAMS + CONTEXTS + 1; i++)
		pthread_create(&threads[i], NULL, bodies[i], &done[i]);
	nanosleep(&(struct timespec){ .tv_sec = SECONDS }, NULL);
	over = true;
	for (unsigned int i = 0; i < STREAMS + CONTEXTS + 1; i++) {
		pthread_join(threads[i], NULL);
		tap_ok(done[i] > 0, "thread %u had %lu turns", i, done[i]);
	}
	is(wrong, 0);
	is(soft_free(), before);
	CU(cuCtxDestroy(shared));
	return soft_end();
}
