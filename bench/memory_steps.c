/*
 * memory_steps.c: a program of bench/memory that allocates all the time: memory_steps KIND COUNT
 *
 * plain: COUNT steps as a program takes them that keeps nothing: each allocates blocks of 512 bytes to 24 MiB, fills
 * each, and frees them in another order. ordered: the same in the order of a stream. packs: allocates COUNT blocks of
 * such sizes, says what the program asked for and holds them until standard input ends.
 *
 * Prints the seconds of the clock and of the process's own processor time.
 */
#include <cuda.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCKS 24u
#define HELD_MOST 4096u

static const size_t sizes[] = { 512,	 4096,	  1 << 20, 3 << 20, 65536,  12345,   700000, 24 << 20,
				1 << 18, 2 << 20, 640,	   9 << 20, 100000, 5 << 20, 80000,  1 << 21 };

static void must(CUresult r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "memory_steps: %s: %d\n", what, (int)r);
	exit(1);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void plain(unsigned int step, CUstream stream)
{
	CUdeviceptr at[BLOCKS];

	(void)stream;
	for (unsigned int i = 0; i < BLOCKS; i++) {
		must(cuMemAlloc(&at[i], sizes[(i + step) % 16]), "cuMemAlloc");
		must(cuMemsetD8(at[i], (unsigned char)step, 512), "cuMemsetD8");
	}
	for (unsigned int i = 0; i < BLOCKS; i++)
		must(cuMemFree(at[i * 7 % BLOCKS]), "cuMemFree");
}

static void ordered(unsigned int step, CUstream stream)
{
	CUdeviceptr at[BLOCKS];

	for (unsigned int i = 0; i < BLOCKS; i++) {
		must(cuMemAllocAsync(&at[i], sizes[(i + step) % 16], stream), "cuMemAllocAsync");
		must(cuMemsetD8Async(at[i], (unsigned char)step, 512, stream), "cuMemsetD8Async");
	}
	for (unsigned int i = 0; i < BLOCKS; i++)
		must(cuMemFreeAsync(at[i * 7 % BLOCKS], stream), "cuMemFreeAsync");
	must(cuStreamSynchronize(stream), "cuStreamSynchronize");
}

static void pack(unsigned int step, CUstream stream)
{
	static uint64_t asked;
	CUdeviceptr at;

	(void)stream;
	must(cuMemAlloc(&at, sizes[step % 16]), "cuMemAlloc");
	asked += sizes[step % 16];
	printf("asked %llu\n", (unsigned long long)asked);
}

static const struct {
	const char *kind;
	void (*step)(unsigned int step, CUstream stream);
} kinds[] = { { "plain", plain }, { "ordered", ordered }, { "packs", pack } };

int main(int argc, char **argv)
{
	unsigned int count = argc == 3 ? (unsigned int)atoi(argv[2]) : 0, kind = 0;
	double wall, own;
	CUcontext context;
	CUstream stream;

	while (argc == 3 && kind < 3 && strcmp(argv[1], kinds[kind].kind))
		kind++;
	if (argc != 3 || kind == 3 || !count) {
		fprintf(stderr, "memory_steps: memory_steps plain|ordered|packs COUNT\n");
		return 2;
	}
	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	kinds[kind].step(0, stream); /* what is made once is no part of it */
	wall = seconds(CLOCK_MONOTONIC);
	own = seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned int i = 1; i < count; i++)
		kinds[kind].step(i, stream);
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	printf("wall %.9f own %.9f\n", seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - own);
	fflush(stdout);
	while (!strcmp(argv[1], "packs") && getchar() != EOF)
		;
	return 0;
}
