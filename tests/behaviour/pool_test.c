/* pool_test.c: stream-ordered allocation from the default pool and from pools of one's own. */
#include "kit.h"
#include "basic_ptx.h"

static unsigned long long figure(CUmemoryPool pool, CUmemPool_attribute which)
{
	unsigned long long v = ~0ull;

	works(cuMemPoolGetAttribute(pool, which, &v));
	return v;
}

static void default_pool(CUmodule module)
{
	size_t before = kit_free();
	CUmemoryPool pool, current;
	unsigned int v = 0;
	CUdeviceptr p;
	CUstream s;

	needs(cuDeviceGetDefaultMemPool(&pool, kit.dev));
	works(cuDeviceGetMemPool(&current, kit.dev));
	ok(current == pool);
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	needs(cuMemAllocAsync(&p, 1 * MIB, s));
	works(kit_launch(kit_kernel(module, "fill"), p, 1024, 17, s));
	works(cuMemcpyDtoHAsync(&v, p + 4 * 1023, 4, s));
	works(cuStreamSynchronize(s));
	is(v, 17);
	ok(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= 1 * MIB);
	ok(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
	ok(before - kit_free() >= 1 * MIB);
	works(cuMemFreeAsync(p, s));
	works(cuStreamSynchronize(s));
	works(cuMemPoolTrimTo(pool, 0));
	is(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	is(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
	if (kit.soft)
		is(kit_free(), before);

	/* Memory of a pool may be freed by the plain call, too. */
	needs(cuMemAllocAsync(&p, 4096, s));
	works(cuStreamSynchronize(s));
	works(cuMemFree(p));
	works(cuMemPoolTrimTo(pool, 0));
	if (kit.soft)
		is(kit_free(), before);
	works(cuStreamDestroy(s));
}

static void own_pool(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	unsigned long long keep = ~0ull, back = 0;
	size_t before = kit_free();
	CUmemoryPool pool;
	CUdeviceptr p, q;
	CUstream s;

	needs(cuMemPoolCreate(&pool, &props));
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	works(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	works(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &back));
	ok(back == keep);
	needs(cuMemAllocFromPoolAsync(&p, 3 * MIB, pool, s));
	works(cuMemsetD8Async(p, 1, 3 * MIB, s));
	works(cuMemFreeAsync(p, s));
	works(cuStreamSynchronize(s));
	/* Kept for the next allocation: not used, yet taken from the device. */
	is(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	ok(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 3 * MIB);
	ok(before - kit_free() >= 3 * MIB);
	needs(cuMemAllocFromPoolAsync(&q, 3 * MIB, pool, s));
	works(cuStreamSynchronize(s));
	works(cuMemFreeAsync(q, s));
	works(cuStreamSynchronize(s));
	ok(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= 3 * MIB);
	works(cuMemPoolTrimTo(pool, 0));
	is(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
	works(cuMemPoolDestroy(pool));
	works(cuStreamDestroy(s));
	if (kit.soft)
		is(kit_free(), before);
}

/* Freed in a stream and allocated in it again, over and over, the pool does not grow. */
static void reuse(void)
{
	size_t before = kit_free();
	unsigned long long most;
	CUmemoryPool pool;
	CUdeviceptr p;
	CUstream s;
	int failed = 0;

	needs(cuDeviceGetDefaultMemPool(&pool, kit.dev));
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 500; i++) {
		failed += cuMemAllocAsync(&p, 256 * KIB, s) != CUDA_SUCCESS;
		failed += cuMemsetD8Async(p, (unsigned char)i, 256 * KIB, s) != CUDA_SUCCESS;
		failed += cuMemFreeAsync(p, s) != CUDA_SUCCESS;
	}
	works(cuStreamSynchronize(s));
	is(failed, 0);
	most = figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
	tap_ok(most <= 64 * MIB, "500 turns of 256 KiB held %llu bytes at most", most);
	works(cuStreamDestroy(s));
	works(cuMemPoolTrimTo(pool, 0));
	if (kit.soft)
		is(kit_free(), before);
}

static void refused(void)
{
	CUmemoryPool pool;
	CUdeviceptr p = 0x77;

	answers(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&p, kit.total + 1, NULL));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(NULL, 4096, NULL));
	works(cuDeviceGetDefaultMemPool(&pool, kit.dev));
	ok(cuMemPoolDestroy(pool) != CUDA_SUCCESS);
	answers(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(0x12345600, NULL));
}

int main(void)
{
	CUmodule module;

	kit_begin();
	needs(cuModuleLoadData(&module, basic_ptx));
	default_pool(module);
	own_pool();
	reuse();
	refused();
	works(cuModuleUnload(module));
	return kit_end();
}
