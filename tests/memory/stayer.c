/*
 * stayer.c: a program under a grant with --spill that takes memory which cannot leave the device:
 * stayer PLAIN_BYTES ARRAYS THREADS
 *
 * Takes one plain block of PLAIN_BYTES, and arrays of a MiB each until it has ARRAYS of them or is refused, from so
 * many threads at once. Says "plain RESULT" and "arrays COUNT"; after a line on standard input it tries for more arrays
 * once and says "arrays COUNT" again, and holds all until standard input ends.
 */
#include <cuda.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE 512 /* floats: a MiB */

static _Atomic int left, got;
static CUcontext context;

static void must(CUresult r, const char *what)
{
	if (r == CUDA_SUCCESS)
		return;
	printf("%s: %d\n", what, r);
	exit(1);
}

static void *take(void *unused)
{
	CUDA_ARRAY_DESCRIPTOR d = { .Width = SIDE, .Height = SIDE, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
	CUarray array;

	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	while (atomic_fetch_sub(&left, 1) > 0 && cuArrayCreate(&array, &d) == CUDA_SUCCESS)
		atomic_fetch_add(&got, 1);
	return unused;
}

static void take_all(int arrays, int threads)
{
	pthread_t thread[16];

	left = arrays - got;
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, take, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("arrays %d\n", got);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	int arrays = argc > 2 ? atoi(argv[2]) : 0, threads = argc > 3 ? atoi(argv[3]) : 1;
	CUdeviceptr plain = 0;
	int c;

	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	printf("plain %d\n", bytes ? (int)cuMemAlloc(&plain, bytes) : 0);
	take_all(arrays, threads > 16 ? 16 : threads);
	while ((c = getchar()) != EOF)
		if (c == '\n')
			take_all(arrays, threads > 16 ? 16 : threads);
	return 0;
}
