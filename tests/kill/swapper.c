/*
 * swapper.c: a program one thread of which changes the device's current pool while the others allocate from whichever
 * is current: swapper BYTES SECONDS
 *
 * Says how many allocations were made.
 */
#include <cuda.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 3

static CUcontext context;
static CUmemoryPool pool[3];
static size_t bytes;
static time_t end;
static atomic_ulong made;
static _Atomic CUresult wrong;

static void note(CUresult r)
{
	if (r && r != CUDA_ERROR_OUT_OF_MEMORY)
		atomic_store(&wrong, r);
}

static void *swap(void *unused)
{
	cuCtxSetCurrent(context);
	for (unsigned int i = 0; time(NULL) < end; i++)
		note(cuDeviceSetMemPool(0, pool[i % 3]));
	return unused;
}

static void *allocate(void *unused)
{
	CUdeviceptr p;
	CUstream s;
	CUresult r;

	cuCtxSetCurrent(context);
	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	while (time(NULL) < end) {
		r = cuMemAllocAsync(&p, bytes, s);
		note(r);
		if (r)
			continue;
		atomic_fetch_add(&made, 1);
		note(cuMemFreeAsync(p, s));
	}
	return unused;
}

int main(int argc, char **argv)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	cuuint64_t keep = UINT64_MAX;
	pthread_t thread[THREADS + 1];
	CUresult r = argc == 3 ? cuInit(0) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		r = cuDevicePrimaryCtxRetain(&context, 0);
	if (!r)
		r = cuCtxSetCurrent(context);
	if (!r)
		r = cuDeviceGetDefaultMemPool(&pool[0], 0);
	for (int i = 1; !r && i < 3; i++)
		r = cuMemPoolCreate(&pool[i], &props);
	for (int i = 0; !r && i < 3; i++)
		r = cuMemPoolSetAttribute(pool[i], CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
	if (r)
		return 1;
	bytes = strtoull(argv[1], NULL, 10);
	end = time(NULL) + atoi(argv[2]);
	for (int i = 0; i <= THREADS; i++)
		if (pthread_create(&thread[i], NULL, i ? allocate : swap, NULL))
			return 1;
	for (int i = 0; i <= THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%lu %d\n", atomic_load(&made), (int)atomic_load(&wrong));
	fflush(stdout);
	getchar();
	return 0;
}
