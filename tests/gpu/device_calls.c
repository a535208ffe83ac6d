/*
 * device_calls.c: what calls cost on this device: nanoseconds a call, least and median of batches, as JSON.
 *
 *   device_calls        on whatever driver the program finds: tests/gpu/whole runs it directly and under mete, by turns
 */
#include <cuda.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCHES 41

static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry nothing() { ret; }\n";

static CUfunction kernel;
static CUstream stream;
static CUevent event;
static CUdeviceptr place;
static char host[4096];

static void must(CUresult r, const char *what)
{
	const char *name = "an unknown error";

	if (!r)
		return;
	cuGetErrorName(r, &name);
	fprintf(stderr, "device_calls: %s: %s\n", what, name);
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void launch(void)
{
	must(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), "launch");
}

static void launch_and_wait(void)
{
	launch();
	must(cuStreamSynchronize(stream), "wait");
}

static void query(void)
{
	cuEventQuery(event);
}

static void take_and_give(void)
{
	CUdeviceptr p;

	must(cuMemAlloc(&p, 1 << 20), "allocate");
	must(cuMemFree(p), "release");
}

static void take_and_give_in_order(void)
{
	CUdeviceptr p;

	must(cuMemAllocAsync(&p, 1 << 20, stream), "allocate in order");
	must(cuMemFreeAsync(p, stream), "release in order");
}

static void copy(void)
{
	must(cuMemcpyHtoD(place, host, sizeof(host)), "copy");
}

static void info(void)
{
	size_t free_bytes, total;

	must(cuMemGetInfo(&free_bytes, &total), "memory");
}

static const struct row {
	const char *name;
	void (*call)(void);
	unsigned count;
} rows[] = {
	{"launch", launch, 500},
	{"launch and wait", launch_and_wait, 100},
	{"event query", query, 2000},
	{"allocate and release 1 MiB", take_and_give, 20},
	{"the same in stream order", take_and_give_in_order, 100},
	{"copy of 4 KiB", copy, 100},
	{"memory info", info, 20},
};

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const struct row *row)
{
	double ns[BATCHES];

	for (int i = -3; i < BATCHES; i++) {
		double begin = now_ns();

		for (unsigned n = 0; n < row->count; n++)
			row->call();
		if (i >= 0)
			ns[i] = (now_ns() - begin) / row->count;
		must(cuStreamSynchronize(stream), "wait");
	}
	qsort(ns, BATCHES, sizeof(ns[0]), by_size);
	printf("{\"row\": \"%s\", \"least\": %.1f, \"median\": %.1f}\n", row->name, ns[0], ns[BATCHES / 2]);
}

int main(void)
{
	double begin = now_ns();
	CUdevice device;
	CUcontext context;
	CUmodule module;

	must(cuInit(0), "cuInit");
	printf("{\"row\": \"cuInit\", \"least\": %.1f, \"median\": %.1f}\n", now_ns() - begin, now_ns() - begin);
	must(cuDeviceGet(&device, 0), "device");
	begin = now_ns();
	must(cuDevicePrimaryCtxRetain(&context, device), "context");
	must(cuCtxSetCurrent(context), "context");
	printf("{\"row\": \"context\", \"least\": %.1f, \"median\": %.1f}\n", now_ns() - begin, now_ns() - begin);
	must(cuModuleLoadData(&module, ptx), "module");
	must(cuModuleGetFunction(&kernel, module, "nothing"), "function");
	must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
	must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "event");
	must(cuMemAlloc(&place, sizeof(host)), "memory");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		measure(&rows[i]);
	return 0;
}
