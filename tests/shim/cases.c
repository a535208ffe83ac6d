/*
 * cases.c: every path that takes device memory, over the test driver with its blocks of 2 MiB: exact at the quota, one
 * block more is refused and changes nothing, a driver's failure is refunded. cases NAME; run.py sets the stage.
 */
#include "kit.h"
#include "wire/soft_usage.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define BLOCK (2 * M)

/* Quota 64 MiB. */
static void case_plain(void)
{
	CUdeviceptr p[40], q;
	CUcontext c = begin(0);

	agree(0);
	is(cu.cuMemAlloc_v2(&p[0], 512), CUDA_SUCCESS);
	agree(BLOCK);
	/* small ones share the block */
	for (int i = 1; i < 5; i++)
		is(cu.cuMemAlloc_v2(&p[i], 100 * K), CUDA_SUCCESS);
	agree(BLOCK);
	for (int i = 0; i < 4; i++)
		is(cu.cuMemFree_v2(p[i]), CUDA_SUCCESS);
	agree(BLOCK);
	is(cu.cuMemFree_v2(p[4]), CUDA_SUCCESS);
	agree(0);
	is(cu.cuMemAlloc_v2(&p[0], 64 * M), CUDA_SUCCESS);
	agree(64 * M);
	q = 42;
	is(cu.cuMemAlloc_v2(&q, 1), CUDA_ERROR_OUT_OF_MEMORY);
	is(q, 42);
	agree(64 * M);
	is(cu.cuMemFree_v2(p[0]), CUDA_SUCCESS);
	agree(0);
	is(cu.cuMemAlloc_v2(&q, 64 * M + 1), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuMemAlloc_v2(&q, UINT64_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuMemAlloc_v2(&q, 2 * 1024 * G), CUDA_ERROR_OUT_OF_MEMORY);
	agree(0);
	/* 31 blocks and a bit make 32 */
	is(cu.cuMemAlloc_v2(&p[0], 62 * M + 1), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFree_v2(p[0]), CUDA_SUCCESS);
	is(cu.cuMemFree_v2(p[0]), CUDA_ERROR_INVALID_VALUE);
	is(cu.cuMemFree_v2(12345), CUDA_ERROR_INVALID_VALUE);
	is(cu.cuMemFree_v2(0), CUDA_SUCCESS);
	agree(0);
	/* managed, and a context that takes its memory along */
	is(cu.cuMemAllocManaged(&p[0], 10 * M, 1), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p[1], 3 * K), CUDA_SUCCESS);
	agree(12 * M);
	is(cu.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	is(truth->used[0], 0);
	is(cu.cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
	agree(0);
	is(truth->peak[0], 64 * M);
}

/* The driver gives small ones a block that a larger one had to itself, which was not quite full. Quota 64 MiB. */
static void case_blocks(void)
{
	CUdeviceptr p, q;

	begin(0);
	for (uint64_t less = 1; less < 512; less += 100) {
		is(cu.cuMemAlloc_v2(&p, BLOCK - less), CUDA_SUCCESS);
		agree(BLOCK);
		is(cu.cuMemFree_v2(p), CUDA_SUCCESS);
		agree(0);
		is(cu.cuMemAlloc_v2(&q, 1 * K), CUDA_SUCCESS);
		ok(q == p);
		agree(BLOCK);
		is(cu.cuMemFree_v2(q), CUDA_SUCCESS);
		agree(0);
	}
}

/* Plain memory that is freed in the order of a stream which does not get on is there until it does. Quota 64 MiB. */
static void case_later(void)
{
	CUdeviceptr p, q, base;
	CUcontext c;

	begin(0);
	for (int round = 0; round < 3; round++) {
		is(cu.cuMemAlloc_v2(&p, 40 * M), CUDA_SUCCESS);
		truth->hold = 1;
		is(cu.cuMemFreeAsync(p, NULL), CUDA_SUCCESS);
		is(cu.cuMemAlloc_v2(&q, 40 * M), CUDA_ERROR_OUT_OF_MEMORY);
		agree(40 * M);
		truth->hold = 0;
		if (round == 1)
			is(cu.cuStreamSynchronize(NULL), CUDA_SUCCESS);
		is(cu.cuMemAlloc_v2(&q, 40 * M), CUDA_SUCCESS);
		agree(40 * M);
		is(cu.cuMemFreeAsync(q, NULL), CUDA_SUCCESS);
		is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
		agree(0);
	}
	/* a module that is measured meanwhile; the process is in NVML's list as long as it has something */
	is(cu.cuMemAlloc_v2(&base, BLOCK), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p, 40 * M), CUDA_SUCCESS);
	truth->hold = 1;
	is(cu.cuMemFreeAsync(p, NULL), CUDA_SUCCESS);
	truth->hold = 0;
	is(cu.cuModuleLoadData((CUmodule *)&q, "bytes 6291456"), CUDA_SUCCESS);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	agree(6 * M + BLOCK);
	is(cu.cuModuleUnload((CUmodule)(uintptr_t)q), CUDA_SUCCESS);
	is(cu.cuMemFree_v2(base), CUDA_SUCCESS);
	agree(0);
	/* and one that the context takes along */
	is(cu.cuCtxCreate_v2(&c, 0, 0), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p, 40 * M), CUDA_SUCCESS);
	truth->hold = 1;
	is(cu.cuMemFreeAsync(p, NULL), CUDA_SUCCESS);
	is(cu.cuCtxDestroy_v2(c), CUDA_SUCCESS);
	truth->hold = 0;
	agree(0);
	ok(truth->peak[0] <= 64 * M);
}

/* Every allocation fails in the driver: nothing stays charged. */
static void case_failing(void)
{
	CUdeviceptr p;
	size_t pitch;

	begin(0);
	is(cu.cuMemAlloc_v2(&p, 4 * M), CUDA_ERROR_UNKNOWN);
	is(cu.cuMemAllocManaged(&p, 4 * M, 1), CUDA_ERROR_UNKNOWN);
	is(cu.cuMemAllocPitch_v2(&p, &pitch, 1000, 1000, 4), CUDA_ERROR_UNKNOWN);
	agree(0);
}

/* Rows are aligned to 4096 by this driver, further than the shim expects. Quota 16 MiB. */
static void case_pitch(void)
{
	CUdeviceptr p;
	size_t pitch;

	begin(0);
	is(cu.cuMemAllocPitch_v2(&p, &pitch, 513, 1024, 4), CUDA_SUCCESS);
	is(pitch, 4096);
	agree(4 * M);
	is(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	agree(0);
	/* 5000 rows: 5 MB as expected, 20 MB in truth */
	is(cu.cuMemAllocPitch_v2(&p, &pitch, 513, 5000, 4), CUDA_ERROR_OUT_OF_MEMORY);
	agree(0);
}

/* Quota 128 MiB, pools in pieces of 32 MiB. */
static void case_pools(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemoryPool pool;
	CUdeviceptr p[8];

	begin(0);
	is(cu.cuMemAllocAsync(&p[0], 1 * M, NULL), CUDA_SUCCESS);
	agree(32 * M);
	is(cu.cuMemAllocAsync(&p[1], 31 * M, NULL), CUDA_SUCCESS);
	agree(32 * M);
	is(cu.cuMemAllocAsync(&p[2], 64 * M, NULL), CUDA_SUCCESS);
	agree(96 * M);
	is(cu.cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
	is(cu.cuMemAllocFromPoolAsync(&p[3], 30 * M, pool, NULL), CUDA_SUCCESS);
	agree(128 * M);
	is(cu.cuMemAllocFromPoolAsync(&p[4], 30 * M, pool, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuMemAlloc_v2(&p[4], 1), CUDA_ERROR_OUT_OF_MEMORY);
	agree(128 * M);
	/* what is free within the pool can be had although the quota is full */
	is(cu.cuMemAllocFromPoolAsync(&p[4], 2 * M, pool, NULL), CUDA_SUCCESS);
	agree(128 * M);
	/* freed, the pool keeps it, and gives it back when somebody else needs it */
	is(cu.cuMemFreeAsync(p[2], NULL), CUDA_SUCCESS);
	agree(128 * M);
	is(cu.cuMemAlloc_v2(&p[2], 64 * M), CUDA_SUCCESS);
	agree(128 * M);
	is(cu.cuMemFree_v2(p[2]), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFree_v2(p[3]), CUDA_SUCCESS);
	is(cu.cuMemFreeAsync(p[4], NULL), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
	agree(32 * M);
	is(cu.cuMemAllocFromPoolAsync(&p[3], 1 * M, pool, NULL), CUDA_SUCCESS);
	/* a pool lives as long as its allocations */
	is(cu.cuMemPoolDestroy(pool), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFreeAsync(p[3], NULL), CUDA_SUCCESS);
	agree(32 * M);
	is(cu.cuMemFreeAsync(p[0], NULL), CUDA_SUCCESS);
	is(cu.cuMemFreeAsync(p[1], NULL), CUDA_SUCCESS);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	agree(32 * M);
	ok(truth->peak[0] <= 128 * M);
}

/* Plain memory that may leave its device is handles to the driver, and behaves as plain memory all the same. */
static void case_bound(void)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	const CUmemAccessDesc access = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } },
					 .flags = CU_MEM_ACCESS_FLAGS_PROT_READ };
	const CUdeviceptr at = 0x10000000000u;
	CUmemGenericAllocationHandle h;
	CUdeviceptr whole, packed;

	begin(0);
	is(cu.cuMemAlloc_v2(&whole, 16 * M), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&packed, M), CUDA_SUCCESS);
	is(cu.cuMulticastBindAddr(1, 0, whole, 16 * M, 0), CUDA_ERROR_NOT_SUPPORTED);
	is(cu.cuMulticastBindAddr_v2(1, 0, 0, packed, M, 0), CUDA_ERROR_NOT_SUPPORTED);
	is(cu.cuMulticastBindAddr(1, 0, whole - 2 * M, 4 * M, 0), CUDA_ERROR_NOT_SUPPORTED);
	is(cu.cuMemSetAccess(whole, 16 * M, &access, 1), CUDA_ERROR_INVALID_VALUE);
	/* the program's own may be bound */
	is(cu.cuMemCreate(&h, 2 * M, &prop, 0), CUDA_SUCCESS);
	is(cu.cuMemMap(at, 2 * M, 0, h, 0), CUDA_SUCCESS);
	is(cu.cuMemSetAccess(at, 2 * M, &access, 1), CUDA_SUCCESS);
	is(cu.cuMulticastBindAddr(1, 0, at, 2 * M, 0), CUDA_SUCCESS);
	is(cu.cuMulticastBindMem(1, 0, h, 0, 2 * M, 0), CUDA_SUCCESS);
	is(cu.cuMemUnmap(at, 2 * M), CUDA_SUCCESS);
	is(cu.cuMemRelease(h), CUDA_SUCCESS);
	is(cu.cuMulticastBindMem(1, 0, h, 0, 2 * M, 0), CUDA_ERROR_INVALID_VALUE);
	is(cu.cuMemFree_v2(whole), CUDA_SUCCESS);
	is(cu.cuMemFree_v2(packed), CUDA_SUCCESS);
}

/* Quota 16 MiB on device 0, 8 MiB on device 1. */
static void case_vmm(void)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemGenericAllocationHandle h[4], again;
	const CUdeviceptr at = 0x10000000000u;

	begin(0);
	is(cu.cuMemCreate(&h[0], 8 * M, &prop, 0), CUDA_SUCCESS);
	is(cu.cuMemCreate(&h[1], 8 * M, &prop, 0), CUDA_SUCCESS);
	agree(16 * M);
	is(cu.cuMemCreate(&h[2], 2 * M, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	agree(16 * M);
	is(cu.cuMemCreate(&h[2], 3 * M + 1, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	/* the device in the properties, not the current one */
	prop.location.id = 1;
	is(cu.cuMemCreate(&h[2], 8 * M, &prop, 0), CUDA_SUCCESS);
	is(truth->used[1], 8 * M);
	is(cu.cuMemCreate(&h[3], 2 * M, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuMemRelease(h[2]), CUDA_SUCCESS);
	is(truth->used[1], 0);
	is(cu.cuMemCreate(&h[2], 8 * M, &prop, 0), CUDA_SUCCESS);
	agree(16 * M);
	/* released but mapped: still charged */
	is(cu.cuMemMap(at, 8 * M, 0, h[0], 0), CUDA_SUCCESS);
	is(cu.cuMemMap(at + 8 * M, 8 * M, 0, h[1], 0), CUDA_SUCCESS);
	is(cu.cuMemMap(at + 16 * M, 8 * M, 0, h[1], 0), CUDA_SUCCESS);
	is(cu.cuMemRelease(h[0]), CUDA_SUCCESS);
	is(cu.cuMemRelease(h[1]), CUDA_SUCCESS);
	agree(16 * M);
	is(cu.cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(at + 9 * M)), CUDA_SUCCESS);
	/* two neighbours at once; the second allocation has one more mapping and a reference */
	is(cu.cuMemUnmap(at, 16 * M), CUDA_SUCCESS);
	agree(8 * M);
	is(cu.cuMemUnmap(at + 16 * M, 8 * M), CUDA_SUCCESS);
	agree(8 * M);
	is(cu.cuMemUnmap(at + 16 * M, 8 * M), CUDA_ERROR_INVALID_VALUE);
	is(cu.cuMemRelease(again), CUDA_SUCCESS);
	agree(0);
	is(truth->used[1], 8 * M);
	is(cu.cuMemRelease(h[2]), CUDA_SUCCESS);
	is(truth->used[1], 0);
}

/* ---- what another thread does in the middle of a call ---- */

static CUmemGenericAllocationHandle beside_handle;
static CUcontext beside_context;
static _Atomic int beside_done;

/* Starts a thread; it may have to wait for the call that it runs beside, so it is waited for a while only. */
static void beside(void *(*run)(void *))
{
	pthread_t thread;

	beside_done = 0;
	pthread_create(&thread, NULL, run, NULL);
	pthread_detach(thread);
	for (int n = 0; n < 200 && !beside_done; n++)
		usleep(1000);
}

/* Until the thread beside has done its work. */
static void beside_end(void)
{
	for (int n = 0; n < 10000 && !beside_done; n++)
		usleep(1000);
	ok(beside_done);
}

static void *release_beside(void *unused)
{
	cu.cuMemRelease(beside_handle);
	beside_done = 1;
	return NULL;
}

static void release_during(void)
{
	beside(release_beside);
}

static CUarray beside_array;
static CUDA_ARRAY_DESCRIPTOR beside_shape = { 256, 256, CU_AD_FORMAT_UNSIGNED_INT8, 1 };

static CUarrayMapInfo array_map(CUarray array, CUmemGenericAllocationHandle handle)
{
	return (CUarrayMapInfo){ .resourceType = CU_RESOURCE_TYPE_ARRAY,
				 .resource = { .array = array },
				 .memOperationType = CU_MEM_OPERATION_TYPE_MAP,
				 .memHandleType = CU_MEM_HANDLE_TYPE_GENERIC,
				 .memHandle = { .memHandle = handle } };
}

/* What is mapped into an array is counted before the driver does it: the handle may go meanwhile. Quota 16 MiB. */
static void case_sparse(void)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemGenericAllocationHandle h;
	CUarrayMapInfo map;
	CUdeviceptr p;
	CUcontext c;

	begin(0);
	is(cu.cuArrayCreate_v2(&beside_array, &beside_shape), CUDA_SUCCESS);
	is(cu.cuMemCreate(&beside_handle, 8 * M, &prop, 0), CUDA_SUCCESS);
	map = array_map(beside_array, beside_handle);
	truth->during = release_during;
	is(cu.cuMemMapArrayAsync(&map, 1, NULL), CUDA_SUCCESS);
	beside_end();
	agree(8 * M + 64 * K);
	is(cu.cuMemAlloc_v2(&p, 10 * M), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuArrayDestroy(beside_array), CUDA_SUCCESS);
	agree(0);
	/* the driver refuses: nothing is mapped, and the handle's release gives it back */
	is(cu.cuArrayCreate_v2(&beside_array, &beside_shape), CUDA_SUCCESS);
	is(cu.cuMemCreate(&beside_handle, 8 * M, &prop, 0), CUDA_SUCCESS);
	map = array_map(beside_array, beside_handle);
	truth->refuse = 1;
	is(cu.cuMemMapArrayAsync(&map, 1, NULL), CUDA_ERROR_UNKNOWN);
	is(cu.cuMemRelease(beside_handle), CUDA_SUCCESS);
	agree(64 * K);
	is(cu.cuArrayDestroy(beside_array), CUDA_SUCCESS);
	agree(0);
	/* the context takes its arrays along, and what was mapped into them */
	is(cu.cuCtxCreate_v2(&c, 0, 0), CUDA_SUCCESS);
	is(cu.cuArrayCreate_v2(&beside_array, &beside_shape), CUDA_SUCCESS);
	is(cu.cuMemCreate(&h, 8 * M, &prop, 0), CUDA_SUCCESS);
	map = array_map(beside_array, h);
	is(cu.cuMemMapArrayAsync(&map, 1, NULL), CUDA_SUCCESS);
	is(cu.cuMemRelease(h), CUDA_SUCCESS);
	agree(8 * M + 64 * K);
	is(cu.cuCtxDestroy_v2(c), CUDA_SUCCESS);
	agree(0);
}

static void *map_beside(void *unused)
{
	CUarrayMapInfo map = array_map(beside_array, beside_handle);

	cu.cuCtxSetCurrent(beside_context);
	cu.cuMemMapArrayAsync(&map, 1, NULL);
	cu.cuMemRelease(beside_handle);
	beside_done = 1;
	return NULL;
}

static void map_during(void)
{
	beside(map_beside);
}

/* An array's handle is another's as soon as the driver has destroyed the first. Quota 16 MiB. */
static void case_handles(void)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUarray array;

	beside_context = begin(0);
	is(cu.cuArrayCreate_v2(&array, &beside_shape), CUDA_SUCCESS);
	is(cu.cuMemCreate(&beside_handle, 8 * M, &prop, 0), CUDA_SUCCESS);
	beside_array = array;
	truth->during = map_during;
	is(cu.cuArrayDestroy(array), CUDA_SUCCESS);
	beside_end();
	is(truth->used[0], 8 * M);
	is(held(), 8 * M);
}

/* What the program does not call through the shim. */
static void *driver_call(const char *name)
{
	void *driver = dlopen(getenv("METE_DRIVER"), RTLD_NOW), *call = dlsym(driver, name);

	dlclose(driver); /* the shim has it open */
	return call;
}

static void *leave_beside(void *unused)
{
	cu.cuDevicePrimaryCtxRelease_v2(0);
	beside_done = 1;
	return NULL;
}

static void leave_during(void)
{
	beside(leave_beside);
}

/* A primary context that nobody was charged for ends beside a call that is measured. Contexts of 10 MiB. */
static void case_primary(void)
{
	CUresult (*retain)(CUcontext *, CUdevice);
	CUcontext c, behind;
	CUmodule m;

	is(cu.cuInit(0), CUDA_SUCCESS);
	retain = (CUresult(*)(CUcontext *, CUdevice))driver_call("cuDevicePrimaryCtxRetain");
	is(retain(&behind, 0), CUDA_SUCCESS);
	is(cu.cuCtxCreate_v2(&c, 0, 0), CUDA_SUCCESS);
	agree(20 * M);
	truth->during = leave_during;
	is(cu.cuModuleLoadData(&m, "bytes 6291456"), CUDA_SUCCESS);
	beside_end();
	agree(16 * M);
	is(cu.cuModuleUnload(m), CUDA_SUCCESS);
	agree(10 * M);
}

/* No memory for the shim's own tables from here on; what the driver needs of the heap is there. */
static void starve(struct rlimit *ret)
{
	void *heap[256];

	for (int i = 0; i < 256; i++)
		heap[i] = malloc(512);
	for (int i = 0; i < 256; i++)
		free(heap[i]);
	getrlimit(RLIMIT_AS, ret);
	setrlimit(RLIMIT_AS, &(struct rlimit){ 1, ret->rlim_max });
}

/* What cannot be recorded is not had: nobody would be charged, or get it back. Quota 64 MiB. */
static void case_starved(void)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemGenericAllocationHandle h = 0;
	CUcontext c, made = NULL;
	struct rlimit before;
	CUmodule m = NULL;
	CUarray a = NULL;
	CUdeviceptr p;

	c = begin(0);
	starve(&before);
	is(cu.cuMemAlloc_v2(&p, 4 * M), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuMemCreate(&h, 4 * M, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuArrayCreate_v2(&a, &beside_shape), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuModuleLoadData(&m, "bytes 2097152"), CUDA_ERROR_OUT_OF_MEMORY);
	agree(10 * M);
	setrlimit(RLIMIT_AS, &before);
	is(cu.cuMemCreate(&h, 4 * M, &prop, 0), CUDA_SUCCESS);
	starve(&before);
	/* a range that is not known would end without its refund */
	is(cu.cuMemMap(0x10000000000u, 4 * M, 0, h, 0), CUDA_ERROR_OUT_OF_MEMORY);
	setrlimit(RLIMIT_AS, &before);
	is(cu.cuMemRelease(h), CUDA_SUCCESS);
	agree(10 * M);
	/* a context of which there are so many that the table has to grow */
	starve(&before);
	for (int n = 0; n < 3 && cu.cuCtxCreate_v2(&made, 0, 0) == CUDA_SUCCESS; n++)
		;
	setrlimit(RLIMIT_AS, &before);
	is(held(), truth->used[0]);
	(void)c;
}

static void current_ends(void)
{
	cu.cuCtxSetCurrent(NULL);
}

/* Memory of another process of which nobody can say how large it is, or whose it would be here, is not had. */
static void case_unsized(void)
{
	CUmemPoolPtrExportData data = { 0 };
	CUipcMemHandle handle = { { 42 } };
	CUdeviceptr p;
	CUcontext c = begin(0);

	is(cu.cuMemPoolImportPointer(&p, (CUmemoryPool)&data, &data), CUDA_ERROR_INVALID_VALUE);
	is(truth->opened, 0);
	truth->refuse = 1;
	is(cu.cuIpcOpenMemHandle_v2(&p, handle, 1), CUDA_ERROR_NOT_FOUND);
	is(truth->opened, 0);
	/* the context ends while it is opened */
	truth->refuse = 1;
	truth->during = current_ends;
	is(cu.cuIpcOpenMemHandle_v2(&p, handle, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	is(truth->opened, 0);
	is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
	agree(0);
}

/* Graphs whose launches take memory: known by their handle, whatever the driver does with it. Quota 64 MiB. */
static void case_graphs(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS node = { .bytesize = 8 * M };
	CUDA_GRAPH_INSTANTIATE_PARAMS params = { .flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD };
	CUgraphExec exec, again = NULL;
	CUgraph graph, empty;
	CUgraphNode made;
	CUdeviceptr p;

	begin(0);
	is(cu.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
	is(cu.cuGraphCreate(&empty, 0), CUDA_SUCCESS);
	is(cu.cuGraphAddMemAllocNode(&made, graph, NULL, 0, &node), CUDA_SUCCESS);
	/* the driver does not destroy it: its launches take what they took before */
	is(cu.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
	truth->refuse = 1;
	is(cu.cuGraphExecDestroy(exec), CUDA_ERROR_UNKNOWN);
	is(cu.cuMemAlloc_v2(&p, 60 * M), CUDA_SUCCESS);
	is(cu.cuGraphLaunch(exec, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	agree(60 * M);
	is(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	is(cu.cuGraphLaunch(exec, NULL), CUDA_SUCCESS);
	agree(8 * M);
	is(cu.cuGraphExecDestroy(exec), CUDA_SUCCESS);
	agree(0);
	/* an upload along with the instantiation */
	is(cu.cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_SUCCESS);
	agree(8 * M);
	is(cu.cuGraphExecDestroy(exec), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p, 60 * M), CUDA_SUCCESS);
	is(cu.cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_ERROR_OUT_OF_MEMORY);
	is(params.result_out, CUDA_GRAPH_INSTANTIATE_ERROR);
	is(params.flags, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
	agree(60 * M);
	ok(truth->peak[0] <= 64 * M);
	/* the driver ends one by itself, and the handle is that of one without such nodes */
	is(cu.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
	is(((CUresult(*)(CUgraphExec))driver_call("cuGraphExecDestroy"))(exec), CUDA_SUCCESS);
	is(cu.cuGraphInstantiateWithFlags(&again, empty, 0), CUDA_SUCCESS);
	ok(again == exec);
	is(cu.cuGraphLaunch(again, NULL), CUDA_SUCCESS);
	agree(60 * M);
}

static uint64_t soft_held_of(int device)
{
	static const CUuuid id = { SOFT_USAGE_ID };
	const void *table = NULL;
	uint64_t bytes = 0;

	cu.cuGetExportTable(&table, &id);
	((const struct soft_usage_table *)table)->held(device, &bytes);
	return bytes;
}

static uint64_t soft_held(void)
{
	return soft_held_of(0);
}

/* The thread's stack of contexts is full: kernels of a library are to be had nevertheless. The software device. */
static void case_stack(void)
{
	static const char text[] = ".version 8.0 .target sm_50 .address_size 64\n"
				   ".visible .global .align 4 .b8 v[1048576];\n.visible .entry k() { ret; }\n";
	CUcontext c = begin(0), other, now;
	CUlibrary library;
	uint64_t before;
	CUkernel kernel;
	int n = 0;

	is(cu.cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
	is(cu.cuCtxPopCurrent_v2(&now), CUDA_SUCCESS);
	is(cu.cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0), CUDA_SUCCESS);
	before = held();
	while (n < 1000 && cu.cuCtxPushCurrent_v2(c) == CUDA_SUCCESS)
		n++;
	ok(n > 0 && n < 1000);
	is(cu.cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
	is(held() - before, 2 * M); /* in both contexts */
	is(held(), soft_held());
	is(cu.cuCtxGetCurrent(&now), CUDA_SUCCESS);
	ok(now == c);
	while (n-- > 0)
		cu.cuCtxPopCurrent_v2(&now);
	is(cu.cuLibraryUnload(library), CUDA_SUCCESS);
	is(held(), before);
	is(cu.cuCtxDestroy_v2(other), CUDA_SUCCESS);
}

static char changing[] = ".version 8.0 .target sm_50 .address_size 64\n// .visible .global .align 4 .b8 v[4194304];\n";
static char *const changing_at = changing + sizeof ".version 8.0 .target sm_50 .address_size 64\n" - 1;
static _Atomic bool changing_ends;

static void *change(void *unused)
{
	for (unsigned int n = 0; !changing_ends; n++) {
		memcpy(changing_at, n & 1 ? "//" : "  ", 2);
		for (volatile unsigned int spin = 0; spin < 300 + n * 37 % 3000; spin++)
			;
	}
	return NULL;
}

/* Managed memory that prefers no device, of pools made without a context: on the device where it is allocated. */
static void case_homeless(void)
{
	static const CUmemLocationType where[] = { CU_MEM_LOCATION_TYPE_NONE, CU_MEM_LOCATION_TYPE_HOST };
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_MANAGED };
	CUmemLocation none = { .type = CU_MEM_LOCATION_TYPE_NONE };
	CUmemoryPool pool[3];
	CUcontext c[2];

	is(cu.cuInit(0), CUDA_SUCCESS);
	for (int i = 0; i < 2; i++) {
		props.location.type = where[i];
		is(cu.cuMemPoolCreate(&pool[i], &props), CUDA_SUCCESS);
	}
	is(cu.cuMemGetDefaultMemPool(&pool[2], &none, CU_MEM_ALLOCATION_TYPE_MANAGED), CUDA_SUCCESS);
	for (int d = 0; d < 2; d++)
		is(cu.cuDevicePrimaryCtxRetain(&c[d], d), CUDA_SUCCESS);
	for (int i = 0; i < 3; i++) {
		int at = i != 1; /* devices 1, 0, 1 */
		uint64_t here, there;
		CUdeviceptr p, q;

		is(cu.cuCtxSetCurrent(c[!at]), CUDA_SUCCESS);
		there = held();
		is(cu.cuCtxSetCurrent(c[at]), CUDA_SUCCESS);
		here = held();
		is(cu.cuMemAllocFromPoolAsync(&p, 8 * M, pool[i], NULL), CUDA_SUCCESS);
		is(held() - here, 8 * M);
		is(held(), soft_held_of(at));
		/* from then on the pool's, from wherever it is asked */
		is(cu.cuCtxSetCurrent(c[!at]), CUDA_SUCCESS);
		is(cu.cuMemAllocFromPoolAsync(&q, 4 * M, pool[i], NULL), CUDA_SUCCESS);
		is(held(), there);
		is(held(), soft_held_of(!at));
		is(cu.cuCtxSetCurrent(c[at]), CUDA_SUCCESS);
		is(held() - here, 12 * M);
		is(cu.cuMemAllocFromPoolAsync(&q, 60 * M, pool[i], NULL), CUDA_ERROR_OUT_OF_MEMORY);
	}
}

/* A thread of the program changes the image while it is loaded: what the driver found is charged. The software device.
 */
static void case_changed(void)
{
	unsigned int seen = 0, wrong = 0, over = 0, bad = 0;
	CUlibrary library;
	pthread_t thread;
	size_t bytes;
	CUdeviceptr p;
	CUmodule m;

	begin(0);
	is(held(), soft_held());
	pthread_create(&thread, NULL, change, NULL);
	for (int n = 0; n < 800; n++) {
		uint64_t account = held(), device = soft_held();
		CUresult r = n & 1 ? cu.cuModuleLoadData(&m, changing)
				   : cu.cuLibraryLoadData(&library, changing, NULL, NULL, 0, NULL, NULL, 0);

		if (r == CUDA_SUCCESS && !(n & 1))
			r = cu.cuLibraryGetModule(&m, library);
		bad += r != CUDA_SUCCESS && r != CUDA_ERROR_INVALID_PTX;
		if (r != CUDA_SUCCESS)
			continue;
		seen += cu.cuModuleGetGlobal_v2(&p, &bytes, m, "v") == CUDA_SUCCESS;
		wrong += held() - account < soft_held() - device;
		over += held() - account > soft_held() - device;
		if (n & 1)
			cu.cuModuleUnload(m);
		else
			cu.cuLibraryUnload(library);
	}
	changing_ends = true;
	pthread_join(thread, NULL);
	ok(seen > 0 && seen < 800);
	is(wrong, 0);
	is(over, 0);
	is(bad, 0);
	is(held(), soft_held());
}

/* Contexts of 10 MiB, quota 32 MiB. */
static void case_measured(void)
{
	CUDA_ARRAY_DESCRIPTOR shape = { 1024, 1024, CU_AD_FORMAT_UNSIGNED_INT8, 4 };
	CUcontext c;
	CUmodule m[2];
	CUarray a[8];
	int n = 0;

	begin(0);
	agree(10 * M);
	is(cu.cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
	agree(10 * M);
	is(cu.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	agree(10 * M);
	is(cu.cuModuleLoadData(&m[0], "bytes 6291456"), CUDA_SUCCESS);
	agree(16 * M);
	/* 16 MiB are left: one unit more is loaded, found too large and unloaded */
	m[1] = NULL;
	is(cu.cuModuleLoadData(&m[1], "bytes 16777217"), CUDA_ERROR_OUT_OF_MEMORY);
	ok(m[1] == NULL);
	agree(16 * M);
	is(cu.cuModuleLoadData(&m[1], "bytes 16777216"), CUDA_SUCCESS);
	agree(32 * M);
	is(cu.cuModuleUnload(m[1]), CUDA_SUCCESS);
	agree(16 * M);
	/* what the text says in the clear is refused before the driver is asked */
	truth->loads = 0;
	is(cu.cuModuleLoadData(&m[1],
			       ".version 8.0 .target sm_50 .address_size 64 .global .align 4 .b8 big[33554432];"),
	   CUDA_ERROR_OUT_OF_MEMORY);
	is(truth->loads, 0);
	while (n < 8 && cu.cuArrayCreate_v2(&a[n], &shape) == CUDA_SUCCESS)
		n++;
	is(n, 4);
	agree(32 * M);
	while (n--)
		is(cu.cuArrayDestroy(a[n]), CUDA_SUCCESS);
	agree(16 * M);
	is(cu.cuModuleUnload(m[0]), CUDA_SUCCESS);
	agree(10 * M);
	is(cu.cuCtxCreate_v2(&c, 0, 0), CUDA_SUCCESS);
	is(cu.cuArrayCreate_v2(&a[0], &shape), CUDA_SUCCESS);
	agree(24 * M);
	is(cu.cuArrayDestroy(a[0]), CUDA_SUCCESS);
	is(cu.cuCtxCreate_v2(&c, 0, 0), CUDA_SUCCESS);
	agree(30 * M);
	is(cu.cuCtxCreate_v2(&c, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
	agree(30 * M);
	is(cu.cuCtxDestroy_v2(c), CUDA_SUCCESS);
	is(cu.cuCtxCreate_v2(&c, 0, 0), CUDA_SUCCESS);
	agree(30 * M);
}

/* While a module is loaded something else that the driver counts goes: what is known of the module is charged all the
 * same. */
static void case_floor(void)
{
	CUdeviceptr p;
	CUmodule m;

	begin(0);
	is(cu.cuMemAlloc_v2(&p, 8 * M), CUDA_SUCCESS);
	is(cu.cuModuleLoadData(&m, ".version 8.0 .target sm_50 .address_size 64 .global .align 4 .b8 v[6291456]; "
				   "// bytes 6291456 ends 8388608"),
	   CUDA_SUCCESS);
	ok(held() >= 12 * M); /* the driver may have had room for a block less */
	is(truth->used[0], 6 * M);
	is(cu.cuModuleUnload(m), CUDA_SUCCESS);
	is(truth->used[0], 0);
}

/*
 * The driver comes to hold more for the process than it asked for (local memory that a launch made larger), and the
 * quota is full: it is charged out of what is given back, and meanwhile nothing more is had.
 */
static void case_debt(void)
{
	CUdeviceptr p[64];
	CUmodule m;
	int n = 0;

	begin(0);
	while (n < 64 && cu.cuMemAlloc_v2(&p[n], 4 * M) == CUDA_SUCCESS)
		n++;
	ok(n > 8);
	__atomic_add_fetch(&truth->used[0], 6 * M, __ATOMIC_SEQ_CST);
	is(cu.cuModuleLoadData(&m, "bytes 2097152"), CUDA_ERROR_OUT_OF_MEMORY); /* a measured call looks */
	is(cu.cuMemFree_v2(p[--n]), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p[n], 2 * M), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuMemFree_v2(p[--n]), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p[n], 4 * M), CUDA_ERROR_OUT_OF_MEMORY);
	ok(truth->used[0] <= 64 * M);
	is(cu.cuMemFree_v2(p[--n]), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p[n++], 4 * M), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p[n], 4 * M), CUDA_ERROR_OUT_OF_MEMORY);
	ok(truth->used[0] <= 64 * M);
	/* It shrinks again. What was paid for it goes back with what the next measured call gives back. */
	while (n)
		is(cu.cuMemFree_v2(p[--n]), CUDA_SUCCESS);
}

/* Devices 0 and 2 of four are granted, 64 and 32 MiB; TEST_EXPECT: the machine's devices that the program should see.
 */
static void case_devices(void)
{
	const char *expect = getenv("TEST_EXPECT");
	int count = -1, n = (int)strlen(expect), value;
	CUdevice d;
	CUuuid uuid;
	CUcontext c;
	size_t bytes, free_bytes;

	is(cu.cuInit(0), n ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
	if (!n)
		return;
	is(cu.cuDeviceGetCount(&count), CUDA_SUCCESS);
	is(count, n);
	for (int i = 0; i < n; i++) {
		int machine = expect[i] - '0';
		uint64_t quota = machine == 0 ? 64 * M : 32 * M;
		CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { i } } };
		CUmemGenericAllocationHandle h;

		is(cu.cuDeviceGet(&d, i), CUDA_SUCCESS);
		is(d, i);
		is(cu.cuDeviceGetUuid_v2(&uuid, d), CUDA_SUCCESS);
		is((unsigned char)uuid.bytes[5], 0xd0 + machine);
		is(cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, d), CUDA_SUCCESS);
		is(value, machine);
		is(cu.cuDeviceTotalMem_v2(&bytes, d), CUDA_SUCCESS);
		is(bytes, quota);
		is(cu.cuDevicePrimaryCtxRetain(&c, d), CUDA_SUCCESS);
		is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
		is(cu.cuCtxGetDevice(&d), CUDA_SUCCESS);
		is(d, i);
		is(cu.cuMemGetInfo_v2(&free_bytes, &bytes), CUDA_SUCCESS);
		is(bytes, quota);
		is(free_bytes, quota);
		is(cu.cuMemCreate(&h, quota + 2 * M, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
		is(cu.cuMemCreate(&h, quota, &prop, 0), CUDA_SUCCESS);
		is(truth->used[machine], quota);
		is(cu.cuMemRelease(h), CUDA_SUCCESS);
	}
	is(cu.cuDeviceGet(&d, n), CUDA_ERROR_INVALID_DEVICE);
	is(cu.cuDeviceTotalMem_v2(&bytes, n), CUDA_ERROR_INVALID_DEVICE);
	is(cu.cuDevicePrimaryCtxRetain(&c, n), CUDA_ERROR_INVALID_DEVICE);
	if (n == 2) {
		is(cu.cuDeviceCanAccessPeer(&value, 0, 1), CUDA_SUCCESS);
		is(value, (expect[0] - '0') * 10 + expect[1] - '0');
	}
}

/* The driver shows more devices than the shim has places for: those behind them are hidden, granted or not. */
static void case_crowd(void)
{
	int strangers = atoi(getenv("TEST_DRIVER_STRANGERS")), count = -1;
	bool beyond = strangers >= 64;
	CUdeviceptr p;
	CUcontext c;
	CUdevice d;

	is(cu.cuInit(0), beyond ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS);
	is(cu.cuDevicePrimaryCtxRetain(&c, strangers), CUDA_ERROR_INVALID_DEVICE);
	is(cu.cuDeviceGet(&d, strangers), CUDA_ERROR_INVALID_DEVICE);
	if (beyond)
		return;
	is(cu.cuDeviceGetCount(&count), CUDA_SUCCESS);
	is(count, 1); /* device 0, at place 63 */
	is(cu.cuDevicePrimaryCtxRetain(&c, 1), CUDA_ERROR_INVALID_DEVICE);
	is(cu.cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p, 64 * M + 1), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuMemAlloc_v2(&p, 64 * M), CUDA_SUCCESS);
	is(truth->used[1], 0);
}

/* ---- the process around it ---- */

static void case_fork(void)
{
	CUdeviceptr p, q;
	int status;
	pid_t child;

	begin(0);
	is(cu.cuMemAlloc_v2(&p, 20 * M), CUDA_SUCCESS);
	child = fork();
	if (child == 0) {
		/* a client of its own, which sees what the parent holds but does not hold it */
		int bad = held() != 20 * M;

		bad |= cu.cuMemAlloc_v2(&q, 50 * M) != CUDA_ERROR_OUT_OF_MEMORY;
		bad |= cu.cuMemAlloc_v2(&q, 44 * M) != CUDA_SUCCESS;
		bad |= held() != 64 * M;
		bad |= cu.cuMemFree_v2(q) != CUDA_SUCCESS;
		bad |= held() != 20 * M;
		_exit(bad);
	}
	waitpid(child, &status, 0);
	is(status, 0);
	agree(20 * M);
	is(cu.cuMemAlloc_v2(&q, 44 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	is(cu.cuMemFree_v2(q), CUDA_SUCCESS);
	agree(0);
}

/* One half of the two processes that share; they take turns over a pair of pipes. */
static int turn_in, turn_out;

static void turn(void)
{
	char c = 0;

	if (write(turn_out, &c, 1) != 1 || read(turn_in, &c, 1) != 1)
		_exit(99);
}

static void tell(const char *name);

/* The importer: what the exporter hands over stays charged to the tenant, once, until both have let go. */
static int import_side(int fd, const CUipcMemHandle *shared)
{
	CUmemGenericAllocationHandle h;
	CUdeviceptr p, q;
	CUipcMemHandle handle;
	char c;
	int bad = 0;

	bad |= read(turn_in, &c, 1) != 1;
	memcpy(&handle, shared, sizeof handle);
	bad |= cu.cuIpcOpenMemHandle_v2(&p, handle, 1) != CUDA_SUCCESS;
	bad |= cu.cuIpcOpenMemHandle_v2(&q, handle, 1) != CUDA_SUCCESS;
	bad |= cu.cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) !=
	       CUDA_SUCCESS;
	bad |= (held() != 28 * M) * 2;
	turn(); /* the exporter frees */
	bad |= (held() != 28 * M) * 4;
	bad |= cu.cuIpcCloseMemHandle(p) != CUDA_SUCCESS;
	bad |= (held() != 28 * M) * 8;
	bad |= cu.cuIpcCloseMemHandle(q) != CUDA_SUCCESS;
	bad |= (held() != 8 * M) * 16;
	bad |= cu.cuMemRelease(h) != CUDA_SUCCESS;
	bad |= (held() != 0) * 32;
	turn();
	return bad;
}

static void case_share(void)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemGenericAllocationHandle h;
	CUdeviceptr p, rest;
	int there[2], back[2], status, fd = -1;
	CUipcMemHandle *handle = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	begin(0);
	ok(!pipe(there) && !pipe(back));
	is(cu.cuMemAlloc_v2(&p, 20 * M), CUDA_SUCCESS);
	is(cu.cuMemCreate(&h, 8 * M, &prop, 0), CUDA_SUCCESS);
	is(cu.cuIpcGetMemHandle(handle, p), CUDA_SUCCESS);
	is(cu.cuIpcGetMemHandle(handle, p), CUDA_SUCCESS);
	is(cu.cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
	agree(28 * M);
	/* moved, not doubled: the rest of the quota can be had, and no more */
	is(cu.cuMemAlloc_v2(&rest, 36 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFree_v2(rest), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&rest, 36 * M + 1), CUDA_ERROR_OUT_OF_MEMORY);
	child = fork();
	if (child == 0) {
		turn_in = there[0];
		turn_out = back[1];
		_exit(import_side(fd, handle));
	}
	turn_in = back[0];
	turn_out = there[1];
	turn(); /* the importer imports */
	is(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	is(cu.cuMemRelease(h), CUDA_SUCCESS);
	is(held(), 28 * M);
	is(truth->used[0], 0);
	turn(); /* the importer lets go */
	is(held(), 0);
	is(write(turn_out, "", 1), 1);
	waitpid(child, &status, 0);
	is(status, 0);
	close(fd);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
}

static CUdeviceptr passed;
static CUipcMemHandle passed_handle;

static void *pass_beside(void *unused)
{
	cu.cuCtxSetCurrent(beside_context);
	cu.cuIpcGetMemHandle(&passed_handle, passed);
	beside_done = 1;
	return NULL;
}

/* Memory is freed while meted is asked to take its charge over: it goes back once. Quota 64 MiB. */
static void case_passed(void)
{
	pthread_t thread;
	CUdeviceptr q;

	beside_context = begin(0);
	is(cu.cuMemAlloc_v2(&q, 10 * M), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&passed, 20 * M), CUDA_SUCCESS);
	tell("stop");
	beside_done = 0;
	pthread_create(&thread, NULL, pass_beside, NULL);
	usleep(300000); /* it waits for an answer; where it has not come so far the test proves less */
	ok(!beside_done);
	is(cu.cuMemFree_v2(passed), CUDA_SUCCESS);
	tell("cont");
	pthread_join(thread, NULL);
	agree(10 * M);
	is(cu.cuMemAlloc_v2(&passed, 54 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFree_v2(passed), CUDA_SUCCESS);
	agree(10 * M);
}

static CUexternalMemory ends_mapped;
static _Atomic int has_ended;
static pthread_t ending;

static void *end_mapped(void *unused)
{
	has_ended = cu.cuDestroyExternalMemory(ends_mapped) == CUDA_SUCCESS ? 1 : -1;
	return unused;
}

/* Another thread ends it while it is being mapped; it waits, or is done. */
static void end_beside(void)
{
	pthread_create(&ending, NULL, end_mapped, NULL);
	for (int i = 0; i < 300 && !has_ended; i++)
		usleep(1000);
}

/*
 * Memory of another API: its maker may let go of it, and the driver keeps it as long as it is imported, or mapped.
 * Quota 64 MiB.
 */
static void case_external(void)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = { .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .size = 40 * M };
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC whole = { .size = 40 * M };
	CUexternalMemory external, more;
	CUcontext context = begin(0);
	CUdeviceptr p, q;

	is(cu.cuImportExternalMemory(&external, &desc), CUDA_SUCCESS);
	agree(40 * M);
	is(cu.cuImportExternalMemory(&more, &desc), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuMemAlloc_v2(&p, 26 * M), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuMemAlloc_v2(&p, 24 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuExternalMemoryGetMappedBuffer(&q, external, &whole), CUDA_SUCCESS);
	is(cu.cuDestroyExternalMemory(external), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFree_v2(q), CUDA_SUCCESS);
	agree(24 * M);
	is(cu.cuImportExternalMemory(&external, &desc), CUDA_SUCCESS);
	is(cu.cuExternalMemoryGetMappedBuffer(&q, external, &whole), CUDA_SUCCESS);
	is(cu.cuMemFree_v2(q), CUDA_SUCCESS);
	agree(64 * M);
	ends_mapped = external;
	truth->during = end_beside;
	is(cu.cuExternalMemoryGetMappedBuffer(&q, external, &whole), CUDA_SUCCESS);
	pthread_join(ending, NULL);
	is(has_ended, 1);
	agree(64 * M);
	is(cu.cuMemFree_v2(q), CUDA_SUCCESS);
	agree(24 * M);
	is(cu.cuImportExternalMemory(&external, &desc), CUDA_SUCCESS);
	is(cu.cuExternalMemoryGetMappedBuffer(&q, external, &whole), CUDA_SUCCESS);
	is(cu.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	is(truth->used[0], 0);
	is(cu.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	agree(0);
}

/* What is exported through a device node, as NVIDIA's driver does: the inode tells nothing, a mark on the open file
 * does. */
static void case_node(void)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemGenericAllocationHandle h, i;
	int fd, other;

	begin(0);
	is(cu.cuMemCreate(&h, 8 * M, &prop, 0), CUDA_SUCCESS);
	is(cu.cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
	is(cu.cuMemImportFromShareableHandle(&i, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
	   CUDA_SUCCESS);
	agree(8 * M);
	is(cu.cuMemRelease(i), CUDA_SUCCESS);
	agree(8 * M);
	is(cu.cuMemRelease(h), CUDA_SUCCESS);
	agree(0);
	/* Each allocation has a mark of its own, and no descriptor of another's. */
	is(cu.cuMemCreate(&h, 8 * M, &prop, 0), CUDA_SUCCESS);
	is(cu.cuMemCreate(&i, 8 * M, &prop, 0), CUDA_SUCCESS);
	is(cu.cuMemExportToShareableHandle(&other, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
	close(fd);
	is(cu.cuMemExportToShareableHandle(&fd, i, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
	agree(16 * M);
	is(cu.cuMemRelease(i), CUDA_SUCCESS);
	agree(8 * M);
	is(cu.cuMemRelease(h), CUDA_SUCCESS);
	agree(0);
	close(fd);
	close(other);
}

/* A program that closes every descriptor, and one that puts its own in the place. */
static void case_closed(void)
{
	CUdeviceptr p;
	int fd, most = 0;

	begin(0);
	is(cu.cuMemAlloc_v2(&p, 20 * M), CUDA_SUCCESS);
	for (fd = 3; fd < 65536; fd++)
		if (close(fd) == 0)
			most = fd;
	ok(most >= 0);
	agree(20 * M);
	is(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	agree(0);
	/* the descriptor is replaced by another file, which must survive */
	for (fd = 3; fd < 65536; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			dup2(0, fd);
	is(cu.cuMemAlloc_v2(&p, 64 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	for (fd = 3; fd < 65536; fd++)
		close(fd);
	tap_begin();
}

/* run.py kills the keeper when it sees the file "kill", and starts it again when it sees "start". */
static void tell(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof path, "%s/%s", getenv("TEST_FOLDER"), name);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	while (access(path, F_OK) == 0)
		usleep(1000);
}

static void *start_later(void *unused)
{
	usleep(1000000);
	tell("start");
	return NULL;
}

static void case_restart(void)
{
	CUdeviceptr p[4];
	pthread_t thread;

	begin(0);
	is(cu.cuMemAlloc_v2(&p[0], 20 * M), CUDA_SUCCESS);
	tell("kill");
	/* what is held stays usable, and is given back */
	is(cu.cuMemFree_v2(p[0]), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p[0], 20 * M), CUDA_SUCCESS);
	pthread_create(&thread, NULL, start_later, NULL);
	is(cu.cuMemAlloc_v2(&p[1], 44 * M), CUDA_SUCCESS);
	pthread_join(thread, NULL);
	agree(64 * M);
	is(cu.cuMemAlloc_v2(&p[2], 1), CUDA_ERROR_OUT_OF_MEMORY);
	tell("kill");
	tell("start");
	agree(64 * M);
	is(cu.cuMemFree_v2(p[1]), CUDA_SUCCESS);
	tell("kill");
	is(cu.cuMemAlloc_v2(&p[1], 60 * M), CUDA_ERROR_OUT_OF_MEMORY);
	tell("start");
	agree(20 * M);
	errno = 77;
	is(cu.cuMemAlloc_v2(&p[1], 44 * M), CUDA_SUCCESS);
	is(errno, 77);
	agree(64 * M);
}

/* TEST_EXPECT: what cuInit should answer without a keeper. */
static void case_unreachable(void)
{
	CUdeviceptr p;
	CUcontext c;
	int version;

	is(cu.cuDriverGetVersion(&version), access(getenv("METE_DRIVER"), F_OK) ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS);
	is(cu.cuInit(0), atoi(getenv("TEST_EXPECT")));
	if (atoi(getenv("TEST_EXPECT")) == 0) {
		is(cu.cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
		is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
		is(cu.cuMemAlloc_v2(&p, 8 * G), CUDA_SUCCESS);
	}
}

/* The driver was initialised past the shim, and there is no keeper: then there is no memory either. */
static void case_behind(void)
{
	void *driver = dlopen(getenv("METE_DRIVER"), RTLD_NOW);
	CUresult (*init)(unsigned int) = (CUresult(*)(unsigned int))dlsym(driver, "cuInit");
	CUdeviceptr p;
	CUcontext c;

	is(init(0), CUDA_SUCCESS);
	is(cu.cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p, 512), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuInit(0), CUDA_ERROR_SYSTEM_NOT_READY);
}

/* 8 processes, each with as much as it can get of 64 MiB, many times: the driver must never see more. */
static void race_one(unsigned int seed)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemGenericAllocationHandle h[4] = { 0 };
	CUdeviceptr p[8] = { 0 }, a[4] = { 0 };
	CUcontext c;

	kit_truth();
	if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&c, 0) || cu.cuCtxSetCurrent(c))
		_exit(1);
	for (int n = 0; n < 800; n++) {
		int i = rand_r(&seed) % 16;
		uint64_t bytes = 1 + (uint64_t)rand_r(&seed) % (16 * M);

		if (i < 8) {
			if (p[i])
				cu.cuMemFree_v2(p[i]), p[i] = 0;
			else if (cu.cuMemAlloc_v2(&p[i], i < 4 ? bytes : bytes % 4096 + 1) != CUDA_SUCCESS)
				p[i] = 0;
		} else if (i < 12) {
			if (h[i - 8])
				cu.cuMemRelease(h[i - 8]), h[i - 8] = 0;
			else if (cu.cuMemCreate(&h[i - 8], (bytes / BLOCK + 1) * BLOCK, &prop, 0) != CUDA_SUCCESS)
				h[i - 8] = 0;
		} else {
			if (a[i - 12])
				cu.cuMemFreeAsync(a[i - 12], NULL), a[i - 12] = 0;
			else if (cu.cuMemAllocAsync(&a[i - 12], bytes, NULL) != CUDA_SUCCESS)
				a[i - 12] = 0;
		}
	}
	for (int i = 0; i < 8; i++)
		if (p[i])
			cu.cuMemFree_v2(p[i]);
	for (int i = 0; i < 4; i++) {
		if (h[i])
			cu.cuMemRelease(h[i]);
		if (a[i])
			cu.cuMemFreeAsync(a[i], NULL);
	}
	cu.cuDeviceGetDefaultMemPool((CUmemoryPool *)&p[0], 0);
	cu.cuMemPoolTrimTo((CUmemoryPool)(uintptr_t)p[0], 0);
	_exit(held() == UINT64_MAX);
}

static void case_race(void)
{
	int status, bad = 0;

	for (unsigned int i = 0; i < 8; i++)
		if (fork() == 0)
			race_one(i + 1);
	while (wait(&status) > 0)
		bad += status != 0;
	is(bad, 0);
	begin(0);
	agree(0);
	ok(truth->peak[0] <= 96 * M);
	ok(truth->peak[0] >= 64 * M);
	printf("# at most %llu of %llu bytes\n", (unsigned long long)truth->peak[0], (unsigned long long)(96 * M));
}

static void *race_thread(void *seed)
{
	unsigned int s = (unsigned int)(uintptr_t)seed;
	CUdeviceptr p[8] = { 0 };
	CUmodule m;
	CUcontext c;

	cu.cuDevicePrimaryCtxRetain(&c, 0);
	cu.cuCtxSetCurrent(c);
	for (int n = 0; n < 800; n++) {
		int i = rand_r(&s) % 9;

		if (i == 8) {
			if (n % 10 == 0 && cu.cuModuleLoadData(&m, "bytes 3145728") == CUDA_SUCCESS)
				cu.cuModuleUnload(m);
		} else if (p[i]) {
			cu.cuMemFree_v2(p[i]), p[i] = 0;
		} else if (cu.cuMemAlloc_v2(&p[i], 1 + (uint64_t)rand_r(&s) % (8 * M)) != CUDA_SUCCESS) {
			p[i] = 0;
		}
	}
	for (int i = 0; i < 8; i++)
		if (p[i])
			cu.cuMemFree_v2(p[i]);
	return NULL;
}

/* Threads that allocate while others load modules whose size only shows afterwards. */
static void case_threads(void)
{
	pthread_t threads[6];

	begin(0);
	for (uintptr_t i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, race_thread, (void *)(i + 1));
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	agree(BLOCK); /* the context */
}

static void case_procs(void)
{
	CUdriverProcAddressQueryResult status;
	CUresult (*alloc)(CUdeviceptr *, size_t);
	CUresult (*get)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
	CUdeviceptr p;
	void *f = &p;

	is(cu.cuGetProcAddress_v2("cuGetProcAddress", (void **)&get, 12000, 0, &status), CUDA_SUCCESS);
	is(get("cuMemAlloc", (void **)&alloc, 3020, 0, &status), CUDA_SUCCESS);
	is(status, CU_GET_PROC_ADDRESS_SUCCESS);
	begin(0);
	is(alloc(&p, 64 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(alloc(&p, 1), CUDA_ERROR_OUT_OF_MEMORY);
	is(get("cuNoSuchCall", &f, 12000, 0, &status), CUDA_SUCCESS);
	ok(f == NULL);
	is(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	/* a call that is not treated leads to the driver itself */
	is(get("cuLaunchKernel", &f, 4000, 0, NULL), CUDA_SUCCESS);
	ok(f && f != (void *)cu.cuLaunchKernel);
	is(get("cuMemAllocAsync", &f, 11020, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL), CUDA_SUCCESS);
	ok(f != NULL);
}

/* A variant that the driver has and this release does not know takes no memory that nobody counts. */
static void case_newer(void)
{
	const char *strict = getenv("METE_STRICT");
	CUdriverProcAddressQueryResult status;
	CUresult (*alloc)(CUdeviceptr *, size_t) = NULL;
	CUdeviceptr p;

	begin(0);
	is(cu.cuGetProcAddress_v2("cuMemAlloc", (void **)&alloc, 14000, 0, &status), CUDA_SUCCESS);
	if (strict) {
		ok(!alloc);
		is(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
		is(cu.cuGetProcAddress_v2("cuMemAlloc", (void **)&alloc, 13050, 0, &status), CUDA_SUCCESS);
	}
	is(alloc(&p, 64 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(alloc(&p, 1), CUDA_ERROR_OUT_OF_MEMORY);
}

/* Loaded under the name in TEST_NAME: what comes must be the shim, whichever way. */
static void case_loading(void)
{
	CUdeviceptr p;

	begin(0);
	is(cu.cuMemAlloc_v2(&p, 64 * M), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p, 1), CUDA_ERROR_OUT_OF_MEMORY);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "plain", case_plain },     { "failing", case_failing },   { "blocks", case_blocks },
	{ "later", case_later },     { "passed", case_passed },	    { "external", case_external },
	{ "pitch", case_pitch },     { "pools", case_pools },	    { "vmm", case_vmm },
	{ "sparse", case_sparse },   { "primary", case_primary },   { "starved", case_starved },
	{ "stack", case_stack },     { "crowd", case_crowd },	    { "homeless", case_homeless },
	{ "graphs", case_graphs },   { "unsized", case_unsized },   { "changed", case_changed },
	{ "handles", case_handles }, { "measured", case_measured }, { "floor", case_floor },
	{ "debt", case_debt },	     { "devices", case_devices },   { "fork", case_fork },
	{ "closed", case_closed },   { "restart", case_restart },   { "unreachable", case_unreachable },
	{ "race", case_race },	     { "threads", case_threads },   { "share", case_share },
	{ "node", case_node },	     { "behind", case_behind },	    { "procs", case_procs },
	{ "newer", case_newer },     { "loading", case_loading },   { "bound", case_bound },
};

int main(int argc, char **argv)
{
	const char *name = getenv("TEST_NAME");

	for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
		if (!strcmp(argv[1], cases[i].name)) {
			kit_open(name ? name : "libcuda.so.1");
			kit_truth();
			/* The first call may open descriptors for good: the connection. */
			cu.cuInit(0);
			tap_begin();
			cases[i].run();
			return tap_end();
		}
	return 2;
}
