/*
 * ring_kernels.c: a program whose kernels are said to last 1 ms, on whatever way to a device it is started.
 *
 *   ring_kernels BATCHES [ROW]
 *
 * Prints one JSON object per row, nanoseconds per kernel, least, median and most of all batches of 100 kernels, and
 * "cpu", the processor's time of this process as a part of the time that it ran:
 * "queued": all launched, then one cuCtxSynchronize; "waited": cuStreamSynchronize after each; "event": an event behind
 * each, which is waited for; "copied": a word copied back after each.
 */
#include "base/clock.h"
#include "ring_program.h"

#include <string.h>
#include <time.h>

#define KERNELS 100

enum row { QUEUED, WAITED, EVENT, COPIED, ROWS };

static const char *const names[] = { "queued", "waited", "event", "copied" };
static double result[ROWS][BATCHES_MOST], cpu_ns[ROWS], all_ns[ROWS];
static CUstream stream;
static CUevent event;
static CUdeviceptr device;

static void prepare(void)
{
	prepare_kernel();
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

static double process_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double batch(enum row row)
{
	double cpu = process_cpu_ns(), took;
	uint64_t begin = clock_now_ns();

	for (int i = 0; i < KERNELS; i++)
		one(row);
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	took = (double)(clock_now_ns() - begin);
	all_ns[row] += took;
	cpu_ns[row] += process_cpu_ns() - cpu;
	return took / KERNELS;
}

int main(int argc, char **argv)
{
	int batches = argc == 2 || argc == 3 ? atoi(argv[1]) : 0;
	const char *only = argc == 3 ? argv[2] : NULL;

	if (batches < 1 || batches > BATCHES_MOST) {
		fprintf(stderr, "usage: ring_kernels BATCHES [ROW]\n");
		return 2;
	}
	prepare();
	batch(QUEUED);
	for (int i = 0; i < batches; i++)
		for (enum row row = 0; row < ROWS; row++)
			if (!only || !strcmp(only, names[row]))
				result[row][i] = batch(row);
	for (enum row row = 0; row < ROWS; row++) {
		if (only && strcmp(only, names[row]))
			continue;
		qsort(result[row], (size_t)batches, sizeof(double), by_size);
		printf("{\"row\": \"%s\", \"min\": %.0f, \"median\": %.0f, \"max\": %.0f, \"cpu\": %.4f}\n",
		       names[row], result[row][0], result[row][batches / 2], result[row][batches - 1],
		       cpu_ns[row] / all_ns[row]);
	}
	return 0;
}
