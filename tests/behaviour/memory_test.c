/* memory_test.c: plain, pitched, host, registered and managed memory; what each takes from the device. */
#include "kit.h"
#include "basic_ptx.h"

static void plain(void)
{
	size_t before = kit_free(), sizes[] = { 1, 511, 512, 513, 4096, 3 * MIB + 1 };
	CUdeviceptr p;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		p = 0;
		works(cuMemAlloc(&p, sizes[i]));
		ok(p && p % 256 == 0);
		if (kit.soft)
			is(before - kit_free(), kit_taken(sizes[i]));
		works(cuMemFree(p));
		is(kit_free(), before);
	}
	works(cuMemFree(0));
	p = 4711;
	answers(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&p, 0));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(NULL, 512));
	answers(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&p, kit.total + 1));
	answers(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&p, (size_t)1 << 46));
	if (kit.soft) /* NVIDIA's driver 580 puts 0 there */
		is(p, 4711);
	is(kit_free(), before);
}

static void bad_frees(void)
{
	size_t before;
	CUdeviceptr p;

	needs(cuMemAlloc(&p, 4096));
	before = kit_free();
	answers(CUDA_ERROR_INVALID_VALUE, cuMemFree(p + 256));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemFree((CUdeviceptr)0x1234500));
	is(kit_free(), before);
	works(cuMemFree(p));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemFree(p));
}

static void fresh_memory_reads_as_zero(void)
{
	unsigned char byte[4096];
	CUdeviceptr p;
	int wrong = 0;

	if (!kit.soft) {
		kit_skip("fresh memory reads as zero", "a real driver does not promise it");
		return;
	}
	for (int round = 0; round < 2; round++) {
		needs(cuMemAlloc(&p, sizeof byte));
		works(cuMemcpyDtoH(byte, p, sizeof byte));
		for (size_t i = 0; i < sizeof byte; i++)
			wrong += byte[i] != 0;
		works(cuMemsetD8(p, 0xee, sizeof byte));
		works(cuMemFree(p));
	}
	is(wrong, 0);
}

static void ranges(void)
{
	CUdeviceptr p, base = 0;
	size_t size = 0;

	needs(cuMemAlloc(&p, 100000));
	works(cuMemGetAddressRange(&base, &size, p + 777));
	is(base, p);
	is(size, 100000);
	works(cuMemGetAddressRange(NULL, &size, p));
	works(cuMemGetAddressRange(&base, NULL, p + 99999));
	works(cuMemFree(p));
	ok(cuMemGetAddressRange(&base, &size, p) != CUDA_SUCCESS);
}

static void pitched(void)
{
	size_t before = kit_free(), pitch = 0;
	CUdeviceptr p;

	needs(cuMemAllocPitch(&p, &pitch, 1000, 100, 16));
	ok(pitch >= 1000 && pitch % 512 == 0);
	if (kit.soft)
		is(before - kit_free(), pitch * 100);
	else
		ok(before - kit_free() >= kit_taken(pitch * 100) - kit.granule);
	works(cuMemsetD2D8(p, pitch, 7, 1000, 100));
	works(cuMemFree(p));
	is(kit_free(), before);
	answers(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch(&p, &pitch, 1000, 100, 3));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch(&p, &pitch, 0, 100, 4));
}

static void host(void)
{
	size_t before = kit_free();
	unsigned int *h, *r = aligned_alloc(4096, 8192), flags = 0, sum = 0;
	CUdeviceptr d, p;

	needs(cuMemAllocHost((void **)&h, 4096));
	h[0] = 1234;
	needs(cuMemAlloc(&p, 4096));
	works(cuMemcpyHtoD(p, h, 4096));
	h[0] = 0;
	works(cuMemcpyDtoH(h, p, 4096));
	is(h[0], 1234);
	works(cuMemFreeHost(h));

	needs(cuMemHostAlloc((void **)&h, 4096, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
	works(cuMemHostGetFlags(&flags, h));
	ok(flags & CU_MEMHOSTALLOC_DEVICEMAP);
	works(cuMemHostGetDevicePointer(&d, h, 0));
	works(cuMemsetD32(d, 5, 1024));
	works(cuCtxSynchronize());
	for (int i = 0; i < 1024; i++)
		sum += h[i];
	is(sum, 5 * 1024);
	works(cuMemFreeHost(h));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(h));

	works(cuMemHostRegister(r, 8192, CU_MEMHOSTREGISTER_DEVICEMAP));
	answers(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(r, 8192, 0));
	works(cuMemHostGetDevicePointer(&d, r, 0));
	works(cuMemsetD32(d, 9, 2048));
	works(cuCtxSynchronize());
	is(r[2047], 9);
	works(cuMemHostUnregister(r));
	answers(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(r));
	free(r);
	works(cuMemFree(p));
	/* Host memory takes nothing from the device. */
	if (kit.soft)
		is(kit_free(), before);
}

/* With one address space a kernel reads and writes pinned memory at the program's own address, asked for or not. */
static void passed(CUmodule module)
{
	CUfunction add = kit_kernel(module, "add");
	unsigned int *h, wrong = 0;
	int unified = 0;

	works(cuDeviceGetAttribute(&unified, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, kit.dev));
	if (!unified)
		return;
	needs(cuMemAllocHost((void **)&h, 4096));
	for (unsigned int turn = 0; turn < 3; turn++) {
		for (unsigned int i = 0; i < 256; i++)
			h[i] = i * turn;
		works(kit_launch(add, (CUdeviceptr)(uintptr_t)(h + 128), 128, 3, NULL));
		works(cuCtxSynchronize());
		for (unsigned int i = 0; i < 256; i++)
			wrong += h[i] != i * turn + (i < 128 ? 0 : 3);
	}
	is(wrong, 0);
	works(cuMemFreeHost(h));
}

/* The same from another context, whose end is not the memory's. */
static void passed_elsewhere(CUmodule module)
{
	CUfunction add = kit_kernel(module, "add");
	unsigned int *h, wrong = 0;
	CUcontext other;
	CUmodule there;
	int unified = 0;

	works(cuDeviceGetAttribute(&unified, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, kit.dev));
	if (!unified)
		return;
	needs(cuMemAllocHost((void **)&h, 4096));
	memset(h, 0, 4096);
	needs(kit_context(&other, 0, kit.dev));
	needs(cuModuleLoadData(&there, basic_ptx));
	works(kit_launch(kit_kernel(there, "add"), (CUdeviceptr)(uintptr_t)h, 128, 3, NULL));
	works(cuCtxSynchronize());
	is(h[0], 3);
	works(cuCtxDestroy(other));
	works(cuCtxSetCurrent(kit.context));
	for (unsigned int turn = 0; turn < 3; turn++) {
		h[turn] = 40;
		works(kit_launch(add, (CUdeviceptr)(uintptr_t)h, 128, 2, NULL));
		works(cuCtxSynchronize());
		wrong += h[turn] != 42;
	}
	is(wrong, 0);
	works(cuMemFreeHost(h));
}

/* What is on its way to pinned memory arrives there before the kernel behind it in the stream, as it does elsewhere. */
static void passed_behind_a_copy(CUmodule module)
{
	CUfunction add = kit_kernel(module, "add"), churn = kit_kernel(module, "churn");
	unsigned int *h, wrong = 0;
	int unified = 0;
	CUdeviceptr d;
	CUstream s;

	works(cuDeviceGetAttribute(&unified, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, kit.dev));
	if (!unified)
		return;
	needs(cuMemAllocHost((void **)&h, 4096));
	needs(cuMemAlloc(&d, 4096));
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned int i = 0; i < 1024; i++)
		h[i] = 1000;
	works(cuMemsetD32(d, 7, 1024));
	works(cuCtxSynchronize());
	works(kit_launch(churn, d, 128, 4000000, s));
	works(cuMemsetD32Async(d, 7, 1024, s));
	works(cuMemcpyDtoHAsync(h, d, 4096, s));
	works(kit_launch(add, (CUdeviceptr)(uintptr_t)h, 1024, 3, s));
	works(cuStreamSynchronize(s));
	for (unsigned int i = 0; i < 1024; i++)
		wrong += h[i] != 10;
	is(wrong, 0);
	works(cuStreamDestroy(s));
	works(cuMemFree(d));
	works(cuMemFreeHost(h));
}

/* A copy reads of registered memory what the kernel before it in the stream has written, and a kernel what a copy has.
 */
static void registered_in_order(CUmodule module)
{
	CUfunction add = kit_kernel(module, "add");
	unsigned int *h = aligned_alloc(4096, 4096), back = 0;
	CUdeviceptr d, p;
	CUstream s;

	memset(h, 0, 4096);
	works(cuMemHostRegister(h, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
	works(cuMemHostGetDevicePointer(&d, h, 0));
	works(cuMemAlloc(&p, 4096));
	works(cuMemsetD32(p, 40, 1024));
	works(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	works(cuCtxSynchronize());
	for (unsigned int i = 1; i <= 3; i++) {
		h[1] += 100;
		works(kit_launch(add, d, 128, 5, s));
		works(cuMemcpyHtoDAsync(p + 8, h, 8, s));
		works(cuStreamSynchronize(s));
		works(cuMemcpyDtoH(&back, p + 8, 4));
		is(back, 5 * i);
		works(cuMemcpyDtoH(&back, p + 12, 4));
		is(back, 105 * i);
	}
	works(cuMemcpyDtoHAsync(h + 2, p, 4, s));
	works(kit_launch(add, d, 128, 1, s));
	works(cuStreamSynchronize(s));
	is(h[2], 41);
	works(cuStreamDestroy(s));
	works(cuMemFree(p));
	works(cuMemHostUnregister(h));
	free(h);
}

/* The first launch that names it is in a capture, and its graph runs later. */
static void passed_in_a_capture(CUmodule module)
{
	CUfunction add = kit_kernel(module, "add");
	unsigned int *h, wrong = 0;
	CUgraphExec exec = NULL;
	CUgraph graph = NULL;
	int unified = 0;
	CUstream s;

	works(cuDeviceGetAttribute(&unified, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, kit.dev));
	if (!unified)
		return;
	needs(cuMemAllocHost((void **)&h, 4096));
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	memset(h, 0, 4096);
	works(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	works(kit_launch(add, (CUdeviceptr)(uintptr_t)h, 128, 5, s));
	needs(cuStreamEndCapture(s, &graph));
	needs(cuGraphInstantiate(&exec, graph, 0));
	for (unsigned int turn = 0; turn < 3; turn++) {
		h[1] = 10 * turn;
		works(cuGraphLaunch(exec, s));
		works(cuStreamSynchronize(s));
		wrong += h[0] != 5 * (turn + 1) || h[1] != 10 * turn + 5;
	}
	is(wrong, 0);
	works(cuGraphExecDestroy(exec));
	works(cuGraphDestroy(graph));
	works(cuStreamDestroy(s));
	works(cuMemFreeHost(h));
}

static void managed(CUmodule module)
{
	CUfunction add = kit_kernel(module, "add");
	size_t before = kit_free();
	unsigned int *h, wrong = 0;
	CUdeviceptr p;

	answers(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL));
	needs(cuMemAllocManaged(&p, 1 * MIB, CU_MEM_ATTACH_GLOBAL));
	if (kit.soft || kit.shim)
		is(before - kit_free(), kit_taken(1 * MIB));
	h = (unsigned int *)(uintptr_t)p;
	for (unsigned int i = 0; i < 4096; i++)
		h[i] = i;
	works(kit_launch(add, p, 4096, 3, NULL));
	works(cuCtxSynchronize());
	for (unsigned int i = 0; i < 4096; i++)
		wrong += h[i] != i + 3;
	is(wrong, 0);
	works(cuMemFree(p));
	if (kit.soft || kit.shim)
		is(kit_free(), before);
	answers(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL));
}

static int said(CUmem_range_attribute attribute, CUdeviceptr p, size_t bytes)
{
	int value = -77;

	works(cuMemRangeGetAttribute(&value, sizeof(value), attribute, p, bytes));
	return value;
}

/* What is advised is known afterwards, page by page, whoever keeps it; of other memory nothing can be. */
static void advised(void)
{
	CUmem_range_attribute both[] = { CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
					 CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION };
	int value[2] = { -77, -77 };
	void *data[] = { &value[0], &value[1] };
	size_t sizes[] = { sizeof(int), sizeof(int) };
	CUmemLocation here = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = kit.dev };
	CUdeviceptr p, plain;

	if (!kit.soft)
		return; /* where the device has no concurrent access a driver may refuse advice */
	needs(cuMemAllocManaged(&p, 1 * MIB, CU_MEM_ATTACH_GLOBAL));
	needs(cuMemAlloc(&plain, 1 * MIB));
	is(said(both[0], p, 1 * MIB), 0);
	works(cuMemAdvise(p, MIB / 2, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
	works(cuMemAdvise(p, 1 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here));
	is(said(both[0], p, MIB / 2), 1);
	is(said(both[0], p, 1 * MIB), 0);
	works(cuMemRangeGetAttributes(data, sizes, both, 2, p + 4096, 4096));
	is(value[0], 1);
	is(value[1], kit.dev);
	works(cuMemPrefetchAsync(p, 1 * MIB, here, 0, NULL));
	is(said(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 1 * MIB), kit.dev);
	answers(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(plain, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(p, 2 * MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(plain, 4096, here, 0, NULL));
	works(cuCtxSynchronize()); /* nothing comes late */
	works(cuMemFree(plain));
	works(cuMemFree(p));
}

/* Many small pieces, freed in another order. */
static void many(void)
{
	static CUdeviceptr p[2000];
	size_t before = kit_free();
	int failed = 0;

	for (size_t i = 0; i < 2000; i++)
		failed += cuMemAlloc(&p[i], 1 + i * 7 % 5000) != CUDA_SUCCESS;
	is(failed, 0);
	for (size_t i = 0; i < 2000; i++)
		failed += cuMemFree(p[i * 777 % 2000]) != CUDA_SUCCESS; /* 777 and 2000 share no factor */
	is(failed, 0);
	is(kit_free(), before);
}

int main(void)
{
	CUmodule module;

	kit_begin();
	needs(cuModuleLoadData(&module, basic_ptx));
	plain();
	bad_frees();
	fresh_memory_reads_as_zero();
	ranges();
	pitched();
	host();
	passed(module);
	passed_elsewhere(module);
	passed_behind_a_copy(module);
	passed_in_a_capture(module);
	registered_in_order(module);
	managed(module);
	advised();
	many();
	works(cuModuleUnload(module));
	return kit_end();
}
