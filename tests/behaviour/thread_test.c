/* thread_test.c: eight threads in one context allocate, launch and free at once; the account is exact afterwards. */
#include "kit.h"
#include "basic_ptx.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8
#define ROUNDS 150

static CUfunction fill;
static atomic_int failed, wrong;

static void *work(void *number)
{
	unsigned int random = (unsigned int)(uintptr_t)number * 77 + 1, v;
	CUdeviceptr p, q, r = 0;
	CUstream s;

	if (cuCtxSetCurrent(kit.context) || cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)) {
		failed++;
		return NULL;
	}
	for (unsigned int i = 0; i < ROUNDS; i++) {
		random = random * 1664525u + 1013904223u;
		if (cuMemAlloc(&p, 4096 + (random >> 14)) || cuMemAllocAsync(&q, 4096 + (random >> 16), s) ||
		    (!kit.worker && cuMemAllocManaged(&r, 4096, CU_MEM_ATTACH_GLOBAL))) {
			failed++;
			return NULL;
		}
		failed += kit_launch(fill, p, 1024, random, s) != CUDA_SUCCESS;
		failed += cuMemcpyDtoDAsync(q, p, 4096, s) != CUDA_SUCCESS;
		failed += cuMemcpyDtoHAsync(&v, q + 4092, 4, s) != CUDA_SUCCESS;
		failed += cuMemFreeAsync(q, s) != CUDA_SUCCESS;
		failed += cuStreamSynchronize(s) != CUDA_SUCCESS;
		wrong += v != random;
		failed += cuMemFree(p) != CUDA_SUCCESS;
		failed += cuMemFree(r) != CUDA_SUCCESS;
	}
	failed += cuStreamDestroy(s) != CUDA_SUCCESS;
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];
	CUmemoryPool pool;
	CUmodule module;

	kit_begin();
	needs(cuModuleLoadData(&module, basic_ptx));
	fill = kit_kernel(module, "fill");
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			failed++;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	is(failed, 0);
	is(wrong, 0);
	works(cuDeviceGetDefaultMemPool(&pool, kit.dev));
	works(cuMemPoolTrimTo(pool, 0));
	works(cuModuleUnload(module));
	return kit_end();
}
