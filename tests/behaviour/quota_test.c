/*
 * quota_test.c: on every path that takes device memory, what fits exactly is given, one byte more is refused with
 * CUDA_ERROR_OUT_OF_MEMORY, and a refusal changes nothing.
 *
 * Directly on a driver the quota is the device's own memory; through the shim it is the grant's. For each path a filler
 * leaves exactly ROOM bytes. A real driver places arrays and pools as it likes: exactness is asked of it only where its
 * granule is known, the rest of the paths must at least never be given more than there is.
 */
#include "kit.h"
#include "globals_ptx.h"

#define ROOM (32 * MIB)

struct taken {
	CUdeviceptr p;
	CUmemGenericAllocationHandle handle;
	CUarray array;
	CUmipmappedArray mipmap;
	CUmemoryPool pool;
};

struct path {
	const char *name;
	CUresult (*take)(struct taken *t, size_t bytes);
	CUresult (*give)(struct taken *t);
	size_t more; /* the smallest step up */
	bool exact_on_hardware;
};

static CUresult take_plain(struct taken *t, size_t bytes)
{
	return cuMemAlloc(&t->p, bytes);
}

static CUresult give_plain(struct taken *t)
{
	return cuMemFree(t->p);
}

static CUresult take_pitched(struct taken *t, size_t bytes)
{
	size_t pitch;

	return cuMemAllocPitch(&t->p, &pitch, 2048, (bytes + 2047) / 2048, 4);
}

/* Over a worker as well: there it is the device's, and copied. */
static CUresult take_managed(struct taken *t, size_t bytes)
{
	return cuMemAllocManaged(&t->p, bytes, CU_MEM_ATTACH_GLOBAL);
}

static CUresult take_async(struct taken *t, size_t bytes)
{
	CUresult r = cuMemAllocAsync(&t->p, bytes, NULL);

	return r ? r : cuStreamSynchronize(NULL);
}

static CUresult give_async(struct taken *t)
{
	CUmemoryPool pool;
	CUresult r = cuMemFreeAsync(t->p, NULL);

	if (r || (r = cuStreamSynchronize(NULL)) || (r = cuDeviceGetMemPool(&pool, kit.dev)))
		return r;
	return cuMemPoolTrimTo(pool, 0);
}

static CUresult take_async_per_thread(struct taken *t, size_t bytes)
{
	CUresult r = cuMemAllocAsync(&t->p, bytes, CU_STREAM_PER_THREAD);

	return r ? r : cuStreamSynchronize(CU_STREAM_PER_THREAD);
}

static CUresult take_from_pool(struct taken *t, size_t bytes)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	CUresult r = cuMemPoolCreate(&t->pool, &props);

	if (r)
		return r;
	r = cuMemAllocFromPoolAsync(&t->p, bytes, t->pool, NULL);
	if (r)
		cuMemPoolDestroy(t->pool);
	return r;
}

/* A pool of its own of managed memory, which the older calls know nothing of. */
static CUresult take_from_managed_pool(struct taken *t, size_t bytes)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_MANAGED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_NONE } };
	CUresult r = cuMemPoolCreate(&t->pool, &props);

	if (r)
		return r;
	r = cuMemAllocFromPoolAsync(&t->p, bytes, t->pool, NULL);
	if (r)
		cuMemPoolDestroy(t->pool);
	return r;
}

static CUresult take_from_managed_default(struct taken *t, size_t bytes)
{
	CUmemLocation none = { .type = CU_MEM_LOCATION_TYPE_NONE };
	CUresult r = cuMemGetDefaultMemPool(&t->pool, &none, CU_MEM_ALLOCATION_TYPE_MANAGED);

	return r ? r : cuMemAllocFromPoolAsync(&t->p, bytes, t->pool, NULL);
}

static CUresult give_to_default(struct taken *t)
{
	CUresult r = cuMemFreeAsync(t->p, NULL);

	if (r || (r = cuStreamSynchronize(NULL)))
		return r;
	return cuMemPoolTrimTo(t->pool, 0);
}

static CUresult give_from_pool(struct taken *t)
{
	CUresult r = cuMemFreeAsync(t->p, NULL);

	if (r || (r = cuStreamSynchronize(NULL)))
		return r;
	return cuMemPoolDestroy(t->pool);
}

static CUresult take_physical(struct taken *t, size_t bytes)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };

	return cuMemCreate(&t->handle, bytes, &prop, 0);
}

static CUresult give_physical(struct taken *t)
{
	return cuMemRelease(t->handle);
}

/* Mapped, then released: only the mapping holds it. */
static CUresult take_mapped(struct taken *t, size_t bytes)
{
	CUresult r = take_physical(t, bytes);

	if (r)
		return r;
	if ((r = cuMemAddressReserve(&t->p, ROOM, 0, 0, 0)) || (r = cuMemMap(t->p, bytes, 0, t->handle, 0)))
		return r;
	return cuMemRelease(t->handle);
}

static CUresult give_mapped(struct taken *t)
{
	CUresult r = cuMemUnmap(t->p, ROOM);

	return r ? r : cuMemAddressFree(t->p, ROOM);
}

static CUresult take_array(struct taken *t, size_t bytes)
{
	CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 2048, .Height = (bytes + 2047) / 2048, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1
	};

	return cuArrayCreate(&t->array, &d);
}

static CUresult take_array_3d(struct taken *t, size_t bytes)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 512,
				      .Height = 64,
				      .Depth = (bytes + 32767) / 32768,
				      .Format = CU_AD_FORMAT_UNSIGNED_INT8,
				      .NumChannels = 1 };

	return cuArray3DCreate(&t->array, &d);
}

static CUresult give_array(struct taken *t)
{
	return cuArrayDestroy(t->array);
}

static CUresult take_mipmap(struct taken *t, size_t bytes)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = 2048, .Height = (bytes + 2047) / 2048, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1
	};

	return cuMipmappedArrayCreate(&t->mipmap, &d, 1);
}

static CUresult give_mipmap(struct taken *t)
{
	return cuMipmappedArrayDestroy(t->mipmap);
}

static const struct path paths[] = {
	{ "cuMemAlloc", take_plain, give_plain, 1, true },
	{ "cuMemAllocPitch", take_pitched, give_plain, 1, true },
	{ "cuMemAllocManaged", take_managed, give_plain, 1, true },
	{ "cuMemAllocAsync", take_async, give_async, 1, true },
	{ "cuMemAllocAsync in the per-thread stream", take_async_per_thread, give_async, 1, true },
	{ "cuMemAllocFromPoolAsync", take_from_pool, give_from_pool, 1, true },
	{ "a pool of managed memory", take_from_managed_pool, give_from_pool, 1, false },
	{ "the default pool of managed memory", take_from_managed_default, give_to_default, 1, false },
	{ "cuMemCreate", take_physical, give_physical, VMM_GRANULE, true },
	{ "a mapping whose handle is released", take_mapped, give_mapped, VMM_GRANULE, true },
	{ "cuArrayCreate", take_array, give_array, 1, false },
	{ "cuArray3DCreate", take_array_3d, give_array, 1, false },
	{ "cuMipmappedArrayCreate", take_mipmap, give_mipmap, 1, false },
};

/* Leaves exactly `room` bytes free; the filler's address, 0 when there is too little. */
static CUdeviceptr leave(size_t room)
{
	size_t left = kit_free() / kit.granule * kit.granule;
	CUdeviceptr filler = 0;

	needs(left > room ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
	needs(cuMemAlloc(&filler, left - room));
	tap_ok(kit_free() / kit.granule * kit.granule == room, "%zu bytes are left", room);
	return filler;
}

static void nothing_more(void)
{
	CUdeviceptr p;

	answers(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&p, kit.soft ? 1 : kit.granule));
}

static void try_path(const struct path *path)
{
	struct taken t = { 0 };
	size_t before = kit_free(), left;
	CUdeviceptr filler, step = 0;

	printf("# %s\n", path->name);
	if (!kit.soft && !path->exact_on_hardware) {
		kit_skip(path->name, "a real driver's layout of it is not known beforehand");
		return;
	}
	if (path->take == take_from_managed_pool || path->take == take_from_managed_default) {
		int there = 0;

		works(cuDeviceGetAttribute(&there, CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, kit.dev));
		if (!there) { /* behind a wall */
			answers(CUDA_ERROR_NOT_SUPPORTED, path->take(&t, 1));
			return;
		}
	}
	filler = leave(ROOM);
	left = kit_free();
	for (int i = 0; i < 3; i++) {
		answers(CUDA_ERROR_OUT_OF_MEMORY, path->take(&t, ROOM + path->more));
		is(kit_free(), left);
	}
	for (int i = 0; i < 2; i++) {
		if (!works(path->take(&t, ROOM)))
			break;
		is(kit_free(), left - ROOM);
		nothing_more();
		works(path->give(&t));
		is(kit_free(), left);
	}
	/* The smallest piece that can be held now stands in the way of the whole. */
	works(cuMemAlloc(&step, 1));
	left = kit_free();
	answers(CUDA_ERROR_OUT_OF_MEMORY, path->take(&t, ROOM));
	is(kit_free(), left);
	works(cuMemFree(step));
	works(cuMemFree(filler));
	is(kit_free(), before);
}

/* A module takes what its variables take; whether by module or library. */
static void modules(void)
{
	size_t before = kit_free(), need, left;
	CUdeviceptr filler;
	CUmodule m;

	needs(cuModuleLoadData(&m, globals_ptx));
	need = before - kit_free();
	ok(need >= 8 * MIB);
	works(cuModuleUnload(m));
	if (!kit.soft) {
		kit_skip("a module that fits exactly", "a real driver keeps modules' memory");
		return;
	}
	filler = leave(need - kit.granule);
	left = kit_free();
	answers(CUDA_ERROR_OUT_OF_MEMORY, cuModuleLoadData(&m, globals_ptx));
	is(kit_free(), left);
	works(cuMemFree(filler));
	filler = leave(need);
	if (works(cuModuleLoadData(&m, globals_ptx))) {
		is(kit_free(), 0);
		nothing_more();
		works(cuModuleUnload(m));
		is(kit_free(), need);
	}
	works(cuMemFree(filler));
	is(kit_free(), before);
}

static CUresult load_library(CUlibrary *library, CUdeviceptr *p)
{
	CUresult r;
	size_t size;

	r = cuLibraryLoadData(library, globals_ptx, NULL, NULL, 0, NULL, NULL, 0);
	if (r)
		return r;
	r = cuLibraryGetGlobal(p, &size, *library, "large");
	if (r)
		cuLibraryUnload(*library);
	return r;
}

static void libraries(void)
{
	size_t before = kit_free(), need, left;
	CUdeviceptr filler, p;
	CUlibrary library;

	if (!kit.soft) {
		kit_skip("a library that fits exactly", "a real driver keeps modules' memory");
		return;
	}
	needs(load_library(&library, &p));
	need = before - kit_free();
	ok(need >= 8 * MIB);
	works(cuLibraryUnload(library));
	filler = leave(need - kit.granule);
	left = kit_free();
	answers(CUDA_ERROR_OUT_OF_MEMORY, load_library(&library, &p));
	is(kit_free(), left);
	works(cuMemFree(filler));
	filler = leave(need);
	if (works(load_library(&library, &p))) {
		is(kit_free(), 0);
		works(cuLibraryUnload(library));
	}
	is(kit_free(), need);
	works(cuMemFree(filler));
	is(kit_free(), before);
}

/* A second context takes what the driver takes for a context (a setting of the software device). */
static void contexts(void)
{
	size_t before = kit_free(), need, left;
	CUdeviceptr filler;
	CUcontext c;

	needs(kit_context(&c, 0, kit.dev));
	works(cuCtxSetCurrent(kit.context));
	need = before - kit_free();
	works(cuCtxDestroy(c));
	is(kit_free(), before);
	if (!kit.soft || need < kit.granule) {
		kit_skip("a context that fits exactly",
			 kit.soft ? "contexts take nothing here" : "only the driver knows its size");
		return;
	}
	filler = leave(need - kit.granule);
	left = kit_free();
	answers(CUDA_ERROR_OUT_OF_MEMORY, kit_context(&c, 0, kit.dev));
	works(cuCtxSetCurrent(kit.context));
	is(kit_free(), left);
	works(cuMemFree(filler));
	filler = leave(need);
	if (works(kit_context(&c, 0, kit.dev))) {
		works(cuCtxSetCurrent(kit.context));
		is(kit_free(), 0);
		nothing_more();
		works(cuCtxDestroy(c));
	}
	works(cuCtxSetCurrent(kit.context));
	is(kit_free(), need);
	works(cuMemFree(filler));
	is(kit_free(), before);
}

/* The heap for malloc in kernels is device memory too. */
static void heap(void)
{
	size_t before = kit_free(), old = 0, more = 4 * ROOM;
	CUdeviceptr filler;

	if (!kit.soft) {
		kit_skip("the heap of kernels", "a real driver takes it when a module needs it");
		return;
	}
	needs(cuCtxGetLimit(&old, CU_LIMIT_MALLOC_HEAP_SIZE));
	filler = leave(more);
	answers(CUDA_ERROR_OUT_OF_MEMORY, cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, old + more + 1));
	is(kit_free(), more);
	if (works(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, old + more))) {
		is(kit_free(), 0);
		nothing_more();
	}
	works(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, old));
	is(kit_free(), more);
	works(cuMemFree(filler));
	is(kit_free(), before);
}

/* Allocation nodes of a graph take memory when the graph is launched, at the latest. */
static CUresult run_graph(CUgraph *graph, size_t bytes, size_t *ret_taken)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
							     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } },
					      .bytesize = bytes };
	size_t before = kit_free();
	CUgraphExec exec = NULL;
	CUgraphNode node, last;
	CUresult r;

	if ((r = cuGraphCreate(graph, 0)) || (r = cuGraphAddMemAllocNode(&node, *graph, NULL, 0, &params)))
		return r;
	r = cuGraphAddMemFreeNode(&last, *graph, &node, 1, params.dptr);
	if (!r)
		r = cuGraphInstantiate(&exec, *graph, 0);
	if (!r)
		r = cuGraphLaunch(exec, NULL);
	if (!r)
		r = cuStreamSynchronize(NULL);
	*ret_taken = before - kit_free();
	if (exec)
		cuGraphExecDestroy(exec);
	cuGraphDestroy(*graph);
	return r;
}

static void graphs(void)
{
	size_t before = kit_free(), taken = 0;
	CUdeviceptr filler;
	CUgraph graph;
	CUresult r = cuGraphCreate(&graph, 0);

	if (r == CUDA_ERROR_NOT_SUPPORTED) {
		kit_skip("allocation nodes of graphs", "this device has no graphs yet");
		return;
	}
	needs(r);
	cuGraphDestroy(graph);
	r = run_graph(&graph, 2 * MIB, &taken);
	if (r == CUDA_ERROR_NOT_SUPPORTED) {
		kit_skip("allocation nodes of graphs", "this device has no allocation nodes");
		return;
	}
	works(r);
	works(cuDeviceGraphMemTrim(kit.dev));
	is(kit_free(), before);
	filler = leave(ROOM);
	answers(CUDA_ERROR_OUT_OF_MEMORY, run_graph(&graph, 2 * ROOM, &taken));
	works(cuDeviceGraphMemTrim(kit.dev));
	is(kit_free(), ROOM);
	works(run_graph(&graph, ROOM, &taken));
	works(cuDeviceGraphMemTrim(kit.dev));
	works(cuMemFree(filler));
	is(kit_free(), before);
}

/* Host memory takes nothing, even when nothing is left. */
static void host_memory_is_free(void)
{
	CUdeviceptr filler = leave(0);
	void *h = NULL;

	nothing_more();
	works(cuMemHostAlloc(&h, ROOM, CU_MEMHOSTALLOC_DEVICEMAP));
	works(cuMemFreeHost(h));
	works(cuMemFree(filler));
}

int main(void)
{
	const char *quota = getenv("METE_TEST_QUOTA");

	kit_begin();
	if (kit.shim && quota) {
		size_t device_total = 0;

		is(kit.total, strtoull(quota, NULL, 10));
		works(cuDeviceTotalMem(&device_total, kit.dev));
		is(device_total, strtoull(quota, NULL, 10));
	}
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		try_path(&paths[i]);
	modules();
	libraries();
	contexts();
	heap();
	graphs();
	host_memory_is_free();
	return kit_end();
}
