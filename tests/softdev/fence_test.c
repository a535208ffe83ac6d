/*
 * fence_test.c: a process that has said which of its own memory copies may touch (wire/soft_fence.h): every way to copy
 * is refused what lies elsewhere, and goes on to work with what does not.
 */
#include "soft.h"

#include "wire/soft_fence.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#define BYTES 65536u

static uint8_t *inside, *outside; /* of BYTES each; what lies behind `inside` is not in it */
static const struct soft_fence_table *fence;
static CUdeviceptr device;
static CUarray array;
static CUstream stream;

static void prepare(void)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = {
		.Width = 64, .Height = 4, .Depth = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1
	};
	static const CUuuid id = { SOFT_FENCE_ID };

	inside = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	outside = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU(cuInit(0));
	soft_context();
	CU(cuGetExportTable((const void **)&fence, &id));
	CU(cuMemAlloc(&device, BYTES));
	CU(cuArray3DCreate(&array, &shape));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static CUresult box(void *host, size_t pitch, size_t height, bool back)
{
	CUDA_MEMCPY3D c = { .WidthInBytes = 64, .Height = 4, .Depth = 4 };

	c.srcMemoryType = back ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	c.dstMemoryType = back ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	c.srcHost = back ? NULL : host;
	c.dstHost = back ? host : NULL;
	c.srcDevice = back ? device : 0;
	c.dstDevice = back ? 0 : device;
	c.srcPitch = back ? 64 : pitch;
	c.srcHeight = back ? 4 : height;
	c.dstPitch = back ? pitch : 64;
	c.dstHeight = back ? height : 4;
	return cuMemcpy3D(&c);
}

/* The same as a node of a graph. */
static CUresult node(void *host)
{
	CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = host,
			    .srcPitch = 64,
			    .srcHeight = 1,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			    .dstDevice = device,
			    .dstPitch = 64,
			    .dstHeight = 1,
			    .WidthInBytes = 64,
			    .Height = 1,
			    .Depth = 1 };
	CUgraphNode made;
	CUcontext context;
	CUgraph graph;
	CUresult r;

	CU(cuGraphCreate(&graph, 0));
	CU(cuCtxGetCurrent(&context));
	r = cuGraphAddMemcpyNode(&made, graph, NULL, 0, &c, context);
	CU(cuGraphDestroy(graph));
	return r;
}

static CUresult batch(void *host)
{
	CUdeviceptr to = device, from = (CUdeviceptr)(uintptr_t)host;
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	size_t bytes = 64, first = 0;

	return cuMemcpyBatchAsync(&to, &from, &bytes, 1, &how, &first, 1, stream);
}

/* Every call that is given an address of the program's memory; `wanted`: what all of them answer. */
static void all(void *host, CUresult wanted)
{
	CUdeviceptr same = (CUdeviceptr)(uintptr_t)host;

	FAILS(cuMemcpyHtoD(device, host, 64), wanted);
	FAILS(cuMemcpyDtoH(host, device, 64), wanted);
	FAILS(cuMemcpyHtoDAsync(device, host, 64, stream), wanted);
	FAILS(cuMemcpyDtoHAsync(host, device, 64, stream), wanted);
	FAILS(cuMemcpy(device, same, 64), wanted);
	FAILS(cuMemcpyAsync(same, device, 64, stream), wanted);
	FAILS(cuMemcpyHtoA(array, 0, host, 64), wanted);
	FAILS(cuMemcpyAtoH(host, array, 0, 64), wanted);
	FAILS(cuMemcpyHtoAAsync(array, 0, host, 64, stream), wanted);
	FAILS(cuMemcpyAtoHAsync(host, array, 0, 64, stream), wanted);
	FAILS(box(host, 64, 4, false), wanted);
	FAILS(box(host, 64, 4, true), wanted);
	FAILS(node(host), wanted);
	FAILS(batch(host), wanted);
	CU(cuStreamSynchronize(stream));
}

/* ---- memory that is gone, of which a graph still knows the address ---- */

/* Whether the process's own memory can come to lie there. */
static bool is_anybodys(CUdeviceptr at)
{
	void *wish = (void *)(uintptr_t)at;
	void *m = mmap(wish, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (m != MAP_FAILED)
		munmap(m, 4096);
	return m == wish;
}

#define GRANULE (UINT64_C(2) << 20)

static CUdeviceptr map_new(CUdeviceptr wish, CUmemGenericAllocationHandle *ret)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemAccessDesc access = { prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUdeviceptr at = 0;

	CU(cuMemAddressReserve(&at, GRANULE, 0, wish, 0));
	CU(cuMemCreate(ret, GRANULE, &prop, 0));
	CU(cuMemMap(at, GRANULE, 0, *ret, 0));
	CU(cuMemSetAccess(at, GRANULE, &access, 1));
	return at;
}

static void unmap(CUdeviceptr at, CUmemGenericAllocationHandle handle)
{
	CU(cuMemUnmap(at, GRANULE));
	CU(cuMemRelease(handle));
	CU(cuMemAddressFree(at, GRANULE));
}

static void test_graph(void)
{
	CUDA_MEMSET_NODE_PARAMS set = { .pitch = 0, .value = 0x77, .elementSize = 1, .width = 64, .height = 1 };
	CUmemGenericAllocationHandle handle;
	CUgraphExec exec;
	CUgraphNode made;
	CUcontext context;
	CUgraph graph;
	uint8_t seen = 0;

	set.dst = map_new(0, &handle);
	CU(cuCtxGetCurrent(&context));
	CU(cuGraphCreate(&graph, 0));
	CU(cuGraphAddMemsetNode(&made, graph, NULL, 0, &set, context));
	CU(cuGraphInstantiate(&exec, graph, 0));
	unmap(set.dst, handle);
	ok(!is_anybodys(set.dst));
	/* It is the driver's, and may be the program's again; then the graph goes on with what lies there. */
	is(map_new(set.dst, &handle), set.dst);
	CU(cuGraphLaunch(exec, stream));
	CU(cuStreamSynchronize(stream));
	CU(cuMemcpyDtoH(inside, set.dst, 1));
	seen = inside[0];
	is(seen, 0x77);
	unmap(set.dst, handle);
	ok(!is_anybodys(set.dst));
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
}

/* Pieces of what was given back are taken for what is wanted next, until there is none. */
static void test_pieces(void)
{
	CUdeviceptr all, a, b;

	CU(cuMemAddressReserve(&all, 4 * GRANULE, 0, 0, 0));
	CU(cuMemAddressFree(all, 4 * GRANULE));
	CU(cuMemAddressReserve(&a, GRANULE, 0, all + GRANULE, 0));
	is(a, all + GRANULE);
	CU(cuMemAddressReserve(&b, 2 * GRANULE, 0, all + 2 * GRANULE, 0));
	is(b, all + 2 * GRANULE);
	CU(cuMemAddressFree(a, GRANULE));
	CU(cuMemAddressFree(b, 2 * GRANULE));
	CU(cuMemAddressReserve(&a, 4 * GRANULE, 0, all, 0));
	is(a, all);
	CU(cuMemAddressFree(a, 4 * GRANULE));
	for (uint64_t i = 0; i < 4; i++)
		ok(!is_anybodys(all + i * GRANULE));
}

static void test_host(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_HOST, { 0 } } };
	CUmemoryPool pool;
	CUdeviceptr at;
	void *own;

	CU(cuMemPoolCreate(&pool, &props));
	CU(cuMemAllocFromPoolAsync(&at, GRANULE, pool, stream));
	CU(cuMemFreeAsync(at, stream));
	CU(cuStreamSynchronize(stream));
	CU(cuMemPoolDestroy(pool));
	ok(!is_anybodys(at));
	CU(cuMemAllocHost(&own, GRANULE));
	((uint8_t *)own)[GRANULE - 1] = 1;
	CU(cuMemFreeHost(own));
	ok(!is_anybodys((CUdeviceptr)(uintptr_t)own));
	CU(cuMemAllocHost(&own, GRANULE));
	is(((uint8_t *)own)[GRANULE - 1], 0);
	CU(cuMemFreeHost(own));
}

int main(void)
{
	void *own;

	soft_begin("1", "64M");
	prepare();
	all(outside, CUDA_SUCCESS); /* nobody has said anything */
	ok(fence->allow(inside, BYTES));
	all(inside, CUDA_SUCCESS);
	all(inside + BYTES - 1024, CUDA_SUCCESS);
	all(outside, CUDA_ERROR_INVALID_VALUE);
	all(inside + BYTES - 32, CUDA_ERROR_INVALID_VALUE);
	/* A box that leaves it by its slices. */
	FAILS(box(inside, 64, 400, false), CUDA_ERROR_INVALID_VALUE);
	FAILS(box(inside, BYTES / 2, 0, true), CUDA_ERROR_INVALID_VALUE);
	/* Registering does not put it inside; what the driver has allocated is. */
	CU(cuMemHostRegister(outside, BYTES, 0));
	FAILS(cuMemcpyHtoD(device, outside, 64), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemHostUnregister(outside));
	CU(cuMemAllocHost(&own, 4096));
	CU(cuMemcpyHtoD(device, own, 4096));
	FAILS(cuMemcpyHtoD(device, own, 4097), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemFreeHost(own));
	test_graph();
	test_pieces();
	test_host();
	fence->lift(1);
	all(outside, CUDA_SUCCESS);
	fence->lift(0);
	all(outside, CUDA_ERROR_INVALID_VALUE);
	for (unsigned int i = 0; i < 7; i++)
		ok(fence->allow(outside + i, 1));
	ok(!fence->allow(outside, BYTES));
	munmap(inside, 2 * BYTES);
	munmap(outside, BYTES);
	return soft_end();
}
