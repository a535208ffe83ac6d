/* pool_test.c: stream-ordered allocation from the default pool and from pools of one's own. */
#include "kit.h"
#include "basic_ptx.h"

#include <pthread.h>

static unsigned long long figure(CUmemoryPool pool, CUmemPool_attribute which)
{
	unsigned long long v = ~0ull;

	works(cuMemPoolGetAttribute(pool, which, &v));
	return v;
}

/* NVIDIA's driver 580 goes on counting a small piece for a while after it was freed in a stream. */
static bool uses(CUmemoryPool pool, size_t bytes)
{
	size_t used = (size_t)figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);

	return used == bytes || (!kit.soft && used > bytes && used - bytes <= 4096);
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
	is(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	/* Kept for the next allocation: not used, yet taken; but where it leaves meanwhile (--spill). */
	if (!getenv("METE_SPILL")) {
		ok(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 3 * MIB);
		ok(before - kit_free() >= 3 * MIB);
	}
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

#define PIECES 6

/* A step of a loop: its pieces at once, each written with its own number and read back, and freed. */
static unsigned int step(CUstream s, unsigned int number, unsigned int pieces, CUdeviceptr *p)
{
	unsigned int v[PIECES] = { 0 }, failed = 0;

	for (unsigned int i = 0; i < pieces; i++) {
		failed += cuMemAllocAsync(&p[i], (1 + i / 2) * MIB, s) != CUDA_SUCCESS;
		failed += cuMemsetD32Async(p[i], number * PIECES + i, 1024, s) != CUDA_SUCCESS;
	}
	for (unsigned int i = 0; i < pieces; i++)
		failed += cuMemcpyDtoHAsync(&v[i], p[i] + 4 * 1023, 4, s) != CUDA_SUCCESS;
	for (unsigned int i = 0; i < pieces; i++)
		failed += cuMemFreeAsync(p[i], s) != CUDA_SUCCESS;
	failed += cuStreamSynchronize(s) != CUDA_SUCCESS;
	for (unsigned int i = 0; i < pieces; i++)
		failed += v[i] != number * PIECES + i;
	return failed;
}

static void reset_marks(CUmemoryPool pool)
{
	unsigned long long none = 0;

	works(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &none));
	works(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &none));
}

/* Whatever keeps a loop's memory for it, nobody can tell: figures, pointers, errors. */
static void loop_figures(CUmemoryPool pool, size_t before, CUstream s)
{
	CUdeviceptr p[PIECES], q, base = 0;
	unsigned int failed = 0;
	size_t bytes;

	reset_marks(pool);
	for (unsigned int i = 0; i < 6; i++)
		failed += step(s, i, PIECES, p);
	is(failed, 0);
	if (kit.soft) {
		is(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 12 * MIB);
		is(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 12 * MIB);
		is(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
		is(kit_free(), before);
	}
	/* In the middle of a step: two pieces, one of them freed. */
	needs(cuMemAllocAsync(&p[0], 1 * MIB, s));
	needs(cuMemAllocAsync(&p[1], 1 * MIB, s));
	works(cuMemFreeAsync(p[1], s));
	ok(uses(pool, 1 * MIB));
	works(cuMemGetAddressRange(&base, &bytes, p[0] + 5));
	ok(base == p[0] && bytes == 1 * MIB);
	needs(cuMemAllocAsync(&p[1], 1 * MIB, s));
	works(cuMemFreeAsync(p[1], s));
	answers(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &bytes, p[1]));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(p[1], s));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemFree(p[1]));
	/* Memory that may leave the device (--spill) is packed: what is freed remains mapped, as on a GPU. */
	for (unsigned int i = 0; i < 3 && kit.soft && !getenv("METE_SPILL"); i++) {
		needs(cuMemAllocAsync(&q, 1 * MIB, s));
		works(cuMemFreeAsync(q, s));
		answers(CUDA_ERROR_INVALID_VALUE, i == 0   ? cuMemsetD32Async(q + 64, 1, 4, s)
						  : i == 1 ? cuMemcpyDtoHAsync(&bytes, q + 64, 4, s)
							   : cuMemcpyHtoDAsync(q + 64, &bytes, 4, s));
	}
	/* As much in a stream that waits for this one is other memory, or the same once it has come so far. */
	needs(cuMemAllocAsync(&q, 1 * MIB, NULL));
	ok(q != p[0]);
	works(cuMemFreeAsync(q, NULL));
	works(cuMemFreeAsync(p[0], s));
	works(cuCtxSynchronize());
	ok(uses(pool, 0));
	if (kit.soft) {
		is(figure(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 12 * MIB);
		is(kit_free(), before);
	}
}

/* Loops of little by little more and less, beside memory of other kinds that needs what the loop has freed. */
static void loop_room(size_t before, CUstream s)
{
	size_t most = before / 8 * 5;
	unsigned int v[2] = { 0 };
	CUdeviceptr p, q;
	CUstream other;

	needs(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	for (unsigned int i = 0; i < 32; i++) {
		needs(cuMemAllocAsync(&p, most, s));
		works(cuMemsetD32Async(p + most - 4, i, 1, s));
		works(cuMemcpyDtoHAsync(&v[0], p + most - 4, 4, s));
		works(cuMemFreeAsync(p, s));
		if (i % 8 == 3)
			works(cuStreamSynchronize(s));
		if (i % 8 == 5) {
			works(cuStreamSynchronize(s));
			needs(cuMemAllocAsync(&q, most + MIB, s));
			works(cuMemFreeAsync(q, s));
		}
		if (i % 8 == 5 || i % 8 == 7) {
			works(cuStreamSynchronize(s));
			is(v[0], i);
			needs(cuMemAllocAsync(&q, most, other));
			works(cuMemFreeAsync(q, other));
			works(cuStreamSynchronize(other));
		}
		if (i % 8 == 7) {
			needs(cuMemAlloc(&q, most));
			works(cuMemFree(q));
		}
	}
	works(cuCtxSynchronize());
	works(cuStreamDestroy(other));
	if (kit.soft)
		is(kit_free(), before);
}

/* A step becomes a graph in between, and its stream ends with memory that was just freed in it. */
static void loop_captured(size_t before)
{
	CUdeviceptr p[PIECES], q;
	unsigned int failed = 0;
	CUgraphExec exec;
	CUgraph graph;
	CUstream s;

	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned int i = 0; i < 3; i++)
		failed += step(s, i, 3, p);
	needs(cuMemAllocAsync(&q, 1 * MIB, s));
	works(cuMemFreeAsync(q, s));
	works(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	needs(cuMemAllocAsync(&q, 1 * MIB, s));
	works(cuMemsetD32Async(q, 7, 1024, s));
	works(cuMemFreeAsync(q, s));
	needs(cuStreamEndCapture(s, &graph));
	needs(cuGraphInstantiate(&exec, graph, 0));
	for (unsigned int i = 0; i < 3; i++) {
		needs(cuMemAllocAsync(&p[0], 1 * MIB, s));
		works(cuGraphLaunch(exec, s));
		works(cuMemFreeAsync(p[0], s));
		failed += step(s, i, 3, p);
	}
	is(failed, 0);
	works(cuGraphExecDestroy(exec));
	works(cuGraphDestroy(graph));
	works(cuDeviceGraphMemTrim(kit.dev));
	needs(cuMemAllocAsync(&q, 1 * MIB, s));
	works(cuMemFreeAsync(q, s));
	works(cuStreamDestroy(s));
	works(cuCtxSynchronize());
	if (kit.soft)
		is(kit_free(), before);
}

static void *loop_thread(void *number)
{
	unsigned int first = (unsigned int)(uintptr_t)number * 1000, failed = 0;
	CUdeviceptr p[PIECES];
	CUstream s;

	failed += cuCtxSetCurrent(kit.context) != CUDA_SUCCESS;
	failed += cuStreamCreate(&s, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS;
	for (unsigned int i = 0; i < 20 && !failed; i++)
		failed += step(s, first + i, 2 + i % 5, p);
	failed += cuStreamDestroy(s) != CUDA_SUCCESS;
	return (void *)(uintptr_t)failed;
}

static void loop(void)
{
	size_t before = kit_free();
	pthread_t threads[3];
	CUmemoryPool pool;
	void *failed;
	CUstream s;

	needs(cuDeviceGetDefaultMemPool(&pool, kit.dev));
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	loop_figures(pool, before, s);
	loop_room(before, s);
	works(cuStreamDestroy(s));
	loop_captured(before);
	for (uintptr_t i = 0; i < 3; i++)
		ok(!pthread_create(&threads[i], NULL, loop_thread, (void *)i));
	for (unsigned int i = 0; i < 3; i++)
		ok(!pthread_join(threads[i], &failed) && !failed);
	works(cuCtxSynchronize());
	ok(uses(pool, 0));
	if (kit.soft)
		is(kit_free(), before);
}

/* Memory of a pool lies on the pool's device, whatever is current. */
static void elsewhere(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemoryPool pool[2];
	CUdevice other, on;
	CUdeviceptr p;
	CUstream s;

	if (cuDeviceGet(&other, 1) != CUDA_SUCCESS)
		return;
	props.location.id = other;
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	needs(cuMemPoolCreate(&pool[0], &props));
	needs(cuDeviceGetDefaultMemPool(&pool[1], other));
	for (int i = 0; i < 2; i++) {
		works(cuMemAllocFromPoolAsync(&p, 4096, pool[i], s));
		works(cuPointerGetAttribute(&on, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
		is(on, other);
		works(cuMemFreeAsync(p, s));
		works(cuStreamSynchronize(s));
	}
	works(cuMemPoolDestroy(pool[0]));
	works(cuMemPoolTrimTo(pool[1], 0));
	works(cuStreamDestroy(s));
}

/* Pools of host memory: what the device writes there the program reads. Behind a wall they are refused. */
static void of_host(CUmodule module)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_HOST } };
	size_t before = kit_free();
	CUmemoryPool pool;
	int there = 0;
	CUdeviceptr p;
	CUstream s;

	works(cuDeviceGetAttribute(&there, CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, kit.dev));
	if (!there) {
		answers(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&pool, &props));
		return;
	}
	needs(cuMemPoolCreate(&pool, &props));
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	needs(cuMemAllocFromPoolAsync(&p, 1 * MIB, pool, s));
	if (kit.soft)
		works(kit_launch(kit_kernel(module, "fill"), p, 1024, 23, s));
	works(cuStreamSynchronize(s));
	/* NVIDIA's pools of host memory are not a device's before they are told so: the host alone writes there. */
	if (!kit.soft)
		((unsigned int *)(uintptr_t)p)[1023] = 23;
	is(((unsigned int *)(uintptr_t)p)[1023], 23);
	if (kit.soft)
		is(kit_free(), before);
	works(cuMemFreeAsync(p, s));
	works(cuMemPoolDestroy(pool));
	works(cuStreamSynchronize(s));
	works(cuStreamDestroy(s));
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
	elsewhere();
	of_host(module);
	refused();
	loop();
	works(cuModuleUnload(module));
	return kit_end();
}
