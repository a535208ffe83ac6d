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
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } },
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

/* Pinned memory of the host: the program reads it, kernels and copies too, and no device is charged. */
static void host(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location.type = CU_MEM_LOCATION_TYPE_HOST };
	CUmemLocation place = { .type = CU_MEM_LOCATION_TYPE_HOST };
	CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	CUmemoryPool p, of = NULL, standard = NULL, now = NULL;
	size_t all = soft_free(), bytes;
	CUmemLocationType where;
	CUdeviceptr a, b, base;
	unsigned int type = 0;
	int value = 0;

	CU(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, 0));
	is(value, 1);
	CU(cuMemPoolCreate(&p, &props));
	CU(cuMemAllocFromPoolAsync(&a, 5000, p, NULL));
	CU(cuStreamSynchronize(NULL));
	is(soft_free(), all);
	/* more than machines have */
	FAILS(cuMemAllocFromPoolAsync(&b, (size_t)1 << 45, p, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	CU(cuMemsetD8Async(a, 7, 5000, NULL));
	CU(cuStreamSynchronize(NULL));
	is(((unsigned char *)(uintptr_t)a)[4999], 7);
	CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
	is(type, CU_MEMORYTYPE_HOST);
	CU(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
	ok(of == p);
	CU(cuMemGetAddressRange(&base, &bytes, a + 10));
	ok(base == a && bytes == 5000);
	CU(cuMemPoolGetAccess(&access, p, &place));
	is(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	CU(cuMemPoolGetAttribute(p, CU_MEMPOOL_ATTR_LOCATION_TYPE, &where));
	is(where, CU_MEM_LOCATION_TYPE_HOST);
	is(attribute(p, USED), 8192);
	CU(cuMemFreeAsync(a, NULL));
	FAILS(cuMemFreeAsync(a, NULL), CUDA_ERROR_INVALID_VALUE);
	is(attribute(p, USED), 0);
	CU(cuMemAllocFromPoolAsync(&b, 8192, p, NULL));
	ok(a == b);
	FAILS(cuMemFreeHost((void *)(uintptr_t)b), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemPoolDestroy(p));
	((unsigned char *)(uintptr_t)b)[8191] = 1; /* lives until it is freed */
	CU(cuMemFree(b));
	FAILS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, b), CUDA_ERROR_INVALID_VALUE);

	CU(cuMemGetDefaultMemPool(&standard, &place, CU_MEM_ALLOCATION_TYPE_PINNED));
	CU(cuMemGetMemPool(&now, &place, CU_MEM_ALLOCATION_TYPE_PINNED));
	ok(standard && standard == now);
	FAILS(cuMemPoolDestroy(standard), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemPoolCreate(&p, &props));
	CU(cuMemSetMemPool(&place, CU_MEM_ALLOCATION_TYPE_PINNED, p));
	CU(cuMemGetMemPool(&now, &place, CU_MEM_ALLOCATION_TYPE_PINNED));
	ok(now == p);
	FAILS(cuDeviceSetMemPool(0, p), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemPoolDestroy(p));
	CU(cuMemGetMemPool(&now, &place, CU_MEM_ALLOCATION_TYPE_PINNED));
	ok(now == standard);
	props.location = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 0 };
	CU(cuMemPoolCreate(&p, &props));
	CU(cuMemPoolDestroy(p));
	props.location.id = 4000;
	FAILS(cuMemPoolCreate(&p, &props), CUDA_ERROR_INVALID_VALUE);
	props.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
	FAILS(cuMemPoolCreate(&p, &props), CUDA_ERROR_INVALID_VALUE);
	props.location.type = CU_MEM_LOCATION_TYPE_HOST;
	props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	FAILS(cuMemPoolCreate(&p, &props), CUDA_ERROR_INVALID_VALUE);
}

/* Managed memory of a pool is a device's, and the program reads it. */
static void managed(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_MANAGED,
				 .location.type = CU_MEM_LOCATION_TYPE_NONE };
	CUmemLocation none = { .type = CU_MEM_LOCATION_TYPE_NONE }, zero = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
	CUmemoryPool p, standard = NULL, on_device = NULL;
	size_t all = soft_free();
	CUdeviceptr a;
	int value = 0;

	CU(cuMemPoolCreate(&p, &props));
	CU(cuMemAllocFromPoolAsync(&a, 64 * KIB, p, NULL));
	is(all - soft_free(), 64 * KIB);
	CU(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_IS_MANAGED, a));
	is(value, 1);
	CU(cuMemsetD32Async(a, 9, 16 * KIB, NULL));
	CU(cuStreamSynchronize(NULL));
	is(((unsigned int *)(uintptr_t)a)[100], 9);
	CU(cuMemPrefetchAsync(a, 64 * KIB, zero, 0, NULL));
	CU(cuMemFreeAsync(a, NULL));
	CU(cuMemPoolDestroy(p));
	CU(cuStreamSynchronize(NULL));
	is(soft_free(), all);
	CU(cuMemGetDefaultMemPool(&standard, &none, CU_MEM_ALLOCATION_TYPE_MANAGED));
	CU(cuMemGetDefaultMemPool(&on_device, &zero, CU_MEM_ALLOCATION_TYPE_MANAGED));
	ok(standard && on_device && standard != on_device);
	CU(cuMemAllocFromPoolAsync(&a, KIB, on_device, NULL));
	CU(cuMemFree(a));
	CU(cuMemPoolTrimTo(on_device, 0));
	is(soft_free(), all);
	FAILS(cuMemGetDefaultMemPool(&p, &none, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_ERROR_INVALID_VALUE);
	props.maxSize = KIB;
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
	host();
	managed();
	edge();
	return soft_end();
}
