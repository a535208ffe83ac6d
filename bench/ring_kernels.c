/*
 * ring_kernels.c: a program whose kernels are said to last 1 ms, on whatever way to a device it is started.
 *
 *   ring_kernels BATCHES
 *
 * Prints one JSON object per row, nanoseconds per kernel, least, median and most of all batches of 100 kernels:
 * "queued": all launched, then one cuCtxSynchronize; "waited": cuStreamSynchronize after each; "event": an event behind
 * each, which is waited for; "copied": a word copied back after each.
 */
#include "base/clock.h"
#include "stamp_ptx.h"

#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>

#define BATCHES_MOST 1001
#define KERNELS 100

enum row { QUEUED, WAITED, EVENT, COPIED, ROWS };

static const char *const names[] = { "queued", "waited", "event", "copied" };
static double result[ROWS][BATCHES_MOST];
static CUfunction kernel;
static CUstream stream;
static CUevent event;
static CUdeviceptr device;

static void must(CUresult r, const char *what)
{
	if (r == CUDA_SUCCESS)
		return;
	fprintf(stderr, "ring_kernels: %s: error %d\n", what, (int)r);
	exit(1);
}

static void prepare(void)
{
	CUcontext context;
	CUmodule module;

	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, stamp_ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&kernel, module, "stamp"), "cuModuleGetFunction");
	must(cuMemAlloc(&device, 4096), "cuMemAlloc");
	must(cuStreamCreate(&stream, 0), "cuStreamCreate");
	must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
}

static void one(enum row row)
{
	unsigned long long at = device, pages = 1;
	unsigned int words = 1, seed = 7, word;
	void *args[] = { &at, &pages, &words, &seed };

	must(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL), "cuLaunchKernel");
	if (row == WAITED)
		must(cuStreamSynchronize(stream), "cuStreamSynchronize");
	if (row == EVENT) {
		must(cuEventRecord(event, stream), "cuEventRecord");
		must(cuEventSynchronize(event), "cuEventSynchronize");
	}
	if (row == COPIED) {
		must(cuMemcpyDtoHAsync(&word, device, sizeof(word), stream), "cuMemcpyDtoHAsync");
		must(cuStreamSynchronize(stream), "cuStreamSynchronize");
	}
}

static double batch(enum row row)
{
	uint64_t begin = clock_now_ns();

	for (int i = 0; i < KERNELS; i++)
		one(row);
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	return (double)(clock_now_ns() - begin) / KERNELS;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int batches = argc == 2 ? atoi(argv[1]) : 0;

	if (batches < 1 || batches > BATCHES_MOST) {
		fprintf(stderr, "usage: ring_kernels BATCHES\n");
		return 2;
	}
	prepare();
	batch(QUEUED);
	for (int i = 0; i < batches; i++)
		for (enum row row = 0; row < ROWS; row++)
			result[row][i] = batch(row);
	for (enum row row = 0; row < ROWS; row++) {
		qsort(result[row], (size_t)batches, sizeof(double), by_size);
		printf("{\"row\": \"%s\", \"min\": %.0f, \"median\": %.0f, \"max\": %.0f}\n", names[row],
		       result[row][0], result[row][batches / 2], result[row][batches - 1]);
	}
	return 0;
}
