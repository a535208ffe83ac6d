/* pool_test.c: stream-ordered memory: what a pool reserves is what the device has lost. */
#include "softdev/soft.h"

#include <stdint.h>

#define KIB ((size_t)1 << 10)

static cuuint64_t attribute(CUmemoryPool p, CUmemPool_attribute which)
{
	cuuint64_t value = ~0ull;

	cuMemPoolGetAttribute(p, which, &value);
	return value;
}

#define RESERVED CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
#define USED CU_MEMPOOL_ATTR_USED_MEM_CURRENT

static void standard(void)
{
	size_t all = soft_free();
	CUdeviceptr a, b;
	CUmemoryPool p;

	CU(cuDeviceGetDefaultMemPool(&p, 0));
	CU(cuMemAllocAsync(&a, 1000, NULL));
	is(attribute(p, RESERVED), 1024);
	is(attribute(p, USED), 1024);
	is(all - soft_free(), 1024);
	CU(cuMemFreeAsync(a, NULL));
	FAILS(cuMemFreeAsync(a, NULL), CUDA_ERROR_INVALID_VALUE);
	is(attribute(p, RESERVED), 1024);
	is(attribute(p, USED), 0);
	CU(cuMemAllocAsync(&b, 1024, NULL));
	ok(a == b); /* the same stream has it back at once */
	is(all - soft_free(), 1024);
	CU(cuMemFreeAsync(b, NULL));
	CU(cuStreamSynchronize(NULL));
	is(attribute(p, RESERVED), 0);
	is(soft_free(), all);
	ok(attribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 1024);
}

static void threshold(void)
{
	cuuint64_t keep = 64 * KIB;
	size_t all = soft_free();
	CUmemoryPool p;
	CUdeviceptr a, b;

	CU(cuDeviceGetDefaultMemPool(&p, 0));
	CU(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	CU(cuMemAllocAsync(&a, 64 * KIB, NULL));
	CU(cuMemAllocAsync(&b, 32 * KIB, NULL));
	CU(cuMemFreeAsync(a, NULL));
	CU(cuMemFreeAsync(b, NULL));
	CU(cuCtxSynchronize());
	is(attribute(p, RESERVED), 64 * KIB);
	is(all - soft_free(), 64 * KIB);
	CU(cuMemPoolTrimTo(p, 0));
	is(soft_free(), all);
	keep = 0;
	CU(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
}

static void created(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
				 .maxSize = 8 * KIB };
	CUmemoryPool p, now, of;
	size_t all = soft_free();
	CUdeviceptr a, b;

	CU(cuMemPoolCreate(&p, &props));
	CU(cuMemAllocFromPoolAsync(&a, 8 * KIB, p, NULL));
	FAILS(cuMemAllocFromPoolAsync(&b, 1, p, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	CU(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
	ok(of == p);
	CU(cuDeviceSetMemPool(0, p));
	CU(cuDeviceGetMemPool(&now, 0));
	ok(now == p);
	CU(cuMemPoolDestroy(p));
	FAILS(cuMemPoolDestroy(p), CUDA_ERROR_INVALID_VALUE);
	CU(cuDeviceGetMemPool(&now, 0));
	ok(now != p);
	is(all - soft_free(), 8 * KIB); /* lives until its last allocation goes */
	CU(cuMemFree(a));
	is(soft_free(), all);
	props.location.id = 7;
	FAILS(cuMemPoolCreate(&p, &props), CUDA_ERROR_INVALID_VALUE);
}

/* Exactly what is left fits, a byte more does not, and nothing changes. */
static void edge(void)
{
	size_t all = soft_free();
	CUdeviceptr a, b;

	FAILS(cuMemAllocAsync(&a, all + 1, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	is(soft_free(), all);
	CU(cuMemAllocAsync(&a, all, NULL));
	is(soft_free(), 0);
	FAILS(cuMemAllocAsync(&b, 1, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	CU(cuMemFreeAsync(a, NULL));
	CU(cuStreamSynchronize(NULL));
	is(soft_free(), all);
}

/* A context takes what it is declared to take, a second one as well; a released primary one gives it back. */
static void context_memory(void)
{
	size_t all = soft_free();
	CUcontext c, primary;

	is(all, ((size_t)64 << 20) - ((size_t)1 << 20));
	CU(cuCtxGetCurrent(&primary));
	CU(cuCtxCreate(&c, NULL, 0, 0));
	is(all - soft_free(), 1 << 20);
	CU(cuCtxDestroy(c));
	CU(cuCtxSetCurrent(primary));
	is(soft_free(), all);
}

int main(void)
{
	soft_begin("1", "64M");
	setenv("METE_SOFT_CONTEXT_MEMORY", "1M", 1);
	soft_context();
	context_memory();
	standard();
	threshold();
	created();
	edge();
	return soft_end();
}
