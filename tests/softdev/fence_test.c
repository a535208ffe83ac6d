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
