/*
 * ring_calls.c: a program over the way to a worker: launches that nobody waits for, and copies beside plain memcpy.
 *
 *   ring_calls BATCHES
 *
 * Prints one JSON object per row: "launch": nanoseconds per cuLaunchKernel, the last one of a batch waited for with all
 * that went before; the others: gibibytes per second, least, median and most of all batches, by turns with memcpy of as
 * many bytes between two places of this process.
 */
#include "ring_program.h"

#include <string.h>
#include <time.h>

#define LAUNCHES 20000
#define BYTES ((size_t)64 << 20)

enum row { LAUNCH, MEMCPY, TO, FROM, TO_PINNED, FROM_PINNED, ROWS };

static const char *const names[] = { "launch",
				     "memcpy",
				     "to the device, pageable",
				     "from the device, pageable",
				     "to the device, pinned",
				     "from the device, pinned" };
static double result[ROWS][BATCHES_MOST];
static CUdeviceptr device;
static char *host, *other, *pinned;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void prepare(void)
{
	prepare_kernel();
	must(cuMemAlloc(&device, BYTES), "cuMemAlloc");
	must(cuMemHostAlloc((void **)&pinned, BYTES, 0), "cuMemHostAlloc");
	host = malloc(BYTES);
	other = malloc(BYTES);
	if (!host || !other)
		must(CUDA_ERROR_OUT_OF_MEMORY, "malloc");
	memset(host, 1, BYTES);
	memset(other, 2, BYTES);
	memset(pinned, 3, BYTES);
}

static double launch(void)
{
	unsigned long long at = device, pages = 1;
	unsigned int words = 1, seed = 7;
	void *args[] = { &at, &pages, &words, &seed };
	double begin = now();

	for (int i = 0; i < LAUNCHES; i++)
		must(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), "cuLaunchKernel");
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	return (now() - begin) / LAUNCHES;
}

static double copy(enum row row)
{
	double begin = now();

	switch (row) {
	case MEMCPY:
		memcpy(other, host, BYTES);
		/* the copy is not to be left out */
		__asm__ volatile("" ::"r"(other) : "memory");
		break;
	case TO:
		must(cuMemcpyHtoD(device, host, BYTES), "cuMemcpyHtoD");
		must(cuCtxSynchronize(), "cuCtxSynchronize");
		break;
	case FROM:
		must(cuMemcpyDtoH(host, device, BYTES), "cuMemcpyDtoH");
		break;
	case TO_PINNED:
		must(cuMemcpyHtoD(device, pinned, BYTES), "cuMemcpyHtoD");
		must(cuCtxSynchronize(), "cuCtxSynchronize");
		break;
	default:
		must(cuMemcpyDtoH(pinned, device, BYTES), "cuMemcpyDtoH");
	}
	return (double)BYTES / (double)(1 << 30) / ((now() - begin) / 1e9);
}

int main(int argc, char **argv)
{
	int batches = argc == 2 ? atoi(argv[1]) : 0;

	if (batches < 1 || batches > BATCHES_MOST) {
		fprintf(stderr, "usage: ring_calls BATCHES\n");
		return 2;
	}
	prepare();
	launch();
	for (int i = 0; i < batches; i++)
		for (enum row row = 0; row < ROWS; row++)
			result[row][i] = row == LAUNCH ? launch() : copy(row);
	for (enum row row = 0; row < ROWS; row++) {
		qsort(result[row], (size_t)batches, sizeof(double), by_size);
		printf("{\"row\": \"%s\", \"min\": %.4f, \"median\": %.4f, \"max\": %.4f}\n", names[row],
		       result[row][0], result[row][batches / 2], result[row][batches - 1]);
	}
	return 0;
}
