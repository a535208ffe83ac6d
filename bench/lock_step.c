/*
 * lock_step.c: a program of bench/lock-step: a kernel on each of its devices in each step, and waits for all; or, with
 * "load", kernels on one device as fast as they go. Prints the steps of the given seconds.
 *
 *   lock_step DEVICES SECONDS [load]
 *
 * How long the kernel takes is said to the software device by METE_SOFT_DURATION=lock_step=5ms.
 */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEVICES_MOST 16
#define WINDOW 8

static const char kernel[] =
	".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry lock_step()\n{\n\tret;\n}\n";

static CUcontext context[DEVICES_MOST];
static CUfunction function[DEVICES_MOST];
static CUstream stream[DEVICES_MOST];

static void check(CUresult e, const char *what)
{
	if (!e)
		return;
	fprintf(stderr, "lock_step: %s: error %d\n", what, (int)e);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void step(int devices)
{
	for (int d = 0; d < devices; d++) {
		check(cuCtxSetCurrent(context[d]), "context");
		check(cuLaunchKernel(function[d], 1, 1, 1, 1, 1, 1, 0, stream[d], NULL, NULL), "launch");
	}
	for (int d = 0; d < devices; d++) {
		check(cuCtxSetCurrent(context[d]), "context");
		check(cuStreamSynchronize(stream[d]), "wait");
	}
}

static void load(void)
{
	static CUevent event[WINDOW];
	static unsigned int launched;
	CUevent *e = &event[launched++ % WINDOW];

	if (*e)
		check(cuEventSynchronize(*e), "wait");
	else
		check(cuEventCreate(e, CU_EVENT_DISABLE_TIMING), "event");
	check(cuLaunchKernel(function[0], 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, NULL), "launch");
	check(cuEventRecord(*e, stream[0]), "event");
}

int main(int argc, char **argv)
{
	int devices = argc > 1 ? atoi(argv[1]) : 1;
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 1, begin;
	unsigned long steps = 0;
	CUmodule module;

	check(cuInit(0), "cuInit");
	for (int d = 0; d < devices && d < DEVICES_MOST; d++) {
		check(cuDevicePrimaryCtxRetain(&context[d], d), "context");
		check(cuCtxSetCurrent(context[d]), "context");
		check(cuModuleLoadData(&module, kernel), "module");
		check(cuModuleGetFunction(&function[d], module, "lock_step"), "kernel");
		check(cuStreamCreate(&stream[d], CU_STREAM_NON_BLOCKING), "stream");
	}
	for (int i = 0; i < 20; i++)
		step(devices);
	begin = now();
	for (; now() < begin + seconds; steps++) {
		if (argc > 3)
			load();
		else
			step(devices);
	}
	printf("%.1f\n", (double)steps / (now() - begin));
	return 0;
}
