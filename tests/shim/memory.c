/*
 * memory.c: every path that takes device memory, over the test driver with its blocks of 2 MiB: exact at the quota, one
 * block more is refused and changes nothing, a driver's failure is refunded. memory NAME; run.py prepares the run.
 */
#include "kit.h"

#include <string.h>
#include <sys/resource.h>

#define LATER_MARKS 512 /* of memory that is freed later: what the shim marks at once (shim/later.c) */

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

/* More is freed behind a stream than the shim can mark: what it cannot mark, it waits for. */
static void later_many(void)
{
	CUdeviceptr small[LATER_MARKS], p;

	for (int i = 0; i < LATER_MARKS; i++)
		is(cu.cuMemAlloc_v2(&small[i], 1 * K), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p, 40 * M), CUDA_SUCCESS);
	truth->hold = 1;
	for (int i = 0; i < LATER_MARKS; i++)
		is(cu.cuMemFreeAsync(small[i], NULL), CUDA_SUCCESS);
	is(truth->hold, 1);
	agree(40 * M + BLOCK);
	is(cu.cuMemFreeAsync(p, NULL), CUDA_SUCCESS);
	ok(held() >= truth->used[0]);
	truth->hold = 0;
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	agree(0);
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
	later_many();
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

/* meted can ask a program that has called cuInit to move its memory, before any thread of the shim has had a processor.
 */
static void case_moves(void)
{
	struct wire_page *page;

	is(cu.cuInit(0), CUDA_SUCCESS);
	page = page_find();
	for (unsigned int i = 0; i < page->device_count; i++)
		ok(atomic_load(&page->account[i].place) & WIRE_PLACE_MOVES);
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

/* No memory for the shim's own tables from here on; what the driver needs of the heap is there. */
static void starve(struct rlimit *ret)
{
	void *heap[256];

	for (int i = 0; i < 256; i++)
		heap[i] = malloc(512);
	for (int i = 0; i < 256; i++)
		free(heap[i]);
	/* A sanitizer's allocator maps more for each size, and ends the process where it cannot. */
	for (size_t bytes = 16; bytes <= 16384; bytes += bytes / 8)
		free(malloc(bytes));
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
	is(cu.cuArrayCreate_v2(&a, &small_array), CUDA_ERROR_OUT_OF_MEMORY);
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
	/* what the driver keeps of a module that was too large, and is unloaded again, stays charged */
	is(cu.cuCtxDestroy_v2(c), CUDA_SUCCESS);
	agree(20 * M);
	truth->leaves = 2 * M;
	is(cu.cuModuleLoadData(&m[0], "bytes 12582913"), CUDA_ERROR_OUT_OF_MEMORY);
	agree(22 * M);
	is(cu.cuModuleLoadData(&m[0], "bytes 10485760"), CUDA_SUCCESS);
	agree(32 * M);
	is(cu.cuModuleUnload(m[0]), CUDA_SUCCESS);
	agree(22 * M);
}

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

static const struct kit_case cases[] = {
	{ "plain", case_plain },       { "blocks", case_blocks },     { "later", case_later },
	{ "failing", case_failing },   { "pitch", case_pitch },	      { "pools", case_pools },
	{ "bound", case_bound },       { "vmm", case_vmm },	      { "starved", case_starved },
	{ "unsized", case_unsized },   { "graphs", case_graphs },     { "stack", case_stack },
	{ "homeless", case_homeless }, { "measured", case_measured }, { "debt", case_debt },
	{ "moves", case_moves },
};

int main(int argc, char **argv)
{
	return kit_main(cases, sizeof cases / sizeof *cases, argc, argv);
}
