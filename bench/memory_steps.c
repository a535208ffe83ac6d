/*
 * memory_steps.c: a program of bench/memory that allocates all the time: memory_steps KIND COUNT
 *
 * plain: for each line of standard input, COUNT steps as a program takes them that keeps nothing: each allocates blocks
 * of 512 bytes to 24 MiB, fills each, and frees them in another order. ordered: the same in the order of a stream.
 * Prints the seconds of these steps: of the clock, of the processor in all threads, and of the processor in this one.
 *
 * mixed, small, uneven, even: allocates COUNT bytes at most, in blocks of such sizes, of 512 bytes to 64 KiB, of sizes
 * that no driver's page divides, and of multiples of 2 MiB. Says what it has asked for, and holds it until standard
 * input ends.
 */
#include <cuda.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCKS 24u

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

static const size_t small[] = { 512, 65536, 12345, 4096, 640, 30000, 1024, 20000,
				700, 50000, 2048,  9000, 600, 16384, 8192, 40000 };
static const size_t uneven[] = { 2200000, 9 << 20,  700000,  10500000, 4300000, 17 << 20, 100000,  3 << 20,
				 6600000, 21000001, 1300000, 33 << 20, 5 << 20, 12345,	  8 << 20, 13000000 };
static const size_t even[] = { 2 << 20,	 20 << 20, 2 << 20, 10 << 20, 2 << 20, 20 << 20, 2 << 20, 2 << 20,
			       64 << 20, 20 << 20, 2 << 20, 20 << 20, 2 << 20, 12 << 20, 2 << 20, 2 << 20 };

static const struct {
	const char *kind;
	void (*step)(unsigned int step, CUstream stream); /* NULL: it is filled */
	const size_t *sizes;
} kinds[] = { { "plain", plain, NULL }, { "ordered", ordered, NULL }, { "mixed", NULL, sizes },
	      { "small", NULL, small }, { "uneven", NULL, uneven },   { "even", NULL, even } };

#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* Until neither the next size nor any other finds room in what it may ask for, or in what there is. */
static void fill(const size_t *of, uint64_t most)
{
	unsigned int step = 0, in_vain = 0;
	uint64_t asked = 0;
	CUdeviceptr at;

	for (; in_vain < 16; step++) {
		if (asked + of[step % 16] > most || cuMemAlloc(&at, of[step % 16])) {
			in_vain++;
			continue;
		}
		asked += of[step % 16];
		in_vain = 0;
	}
	printf("asked %llu\n", (unsigned long long)asked);
	fflush(stdout);
	while (getchar() != EOF)
		;
}

/*
 * As many steps come before: what is freed is kept for the next step, but not for long, and this program has waited
 * for its line.
 */
static void take_steps(void (*step)(unsigned int step, CUstream stream), uint64_t count, CUstream stream)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID };
	double began[3], took[3];
	unsigned int number = 0;

	for (int c; (c = getchar()) != EOF;) {
		if (c != '\n')
			continue;
		for (uint64_t i = 0; i < count; i++)
			step(number++, stream);
		for (unsigned int k = 0; k < 3; k++)
			began[k] = seconds(clocks[k]);
		for (uint64_t i = 0; i < count; i++)
			step(number++, stream);
		must(cuCtxSynchronize(), "cuCtxSynchronize");
		for (unsigned int k = 0; k < 3; k++)
			took[k] = seconds(clocks[k]) - began[k];
		printf("wall %.9f own %.9f thread %.9f\n", took[0], took[1], took[2]);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	uint64_t count = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	unsigned int kind = 0;
	CUcontext context;
	CUstream stream;

	while (argc == 3 && kind < KINDS && strcmp(argv[1], kinds[kind].kind))
		kind++;
	if (argc != 3 || kind == KINDS || !count) {
		fprintf(stderr, "memory_steps: memory_steps plain|ordered|mixed|small|uneven|even COUNT\n");
		return 2;
	}
	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	if (kinds[kind].step)
		take_steps(kinds[kind].step, count, stream);
	else
		fill(kinds[kind].sizes, count);
	return 0;
}
