/* device_test.c: properties against attributes, memory of every kind, copies in two dimensions, peers, the driver's
 * entry points. */
#include "runtime/program.h"

static int attribute(enum cudaDeviceAttr a)
{
	int value = -1;

	CALL(cudaDeviceGetAttribute(&value, a, 0));
	return value;
}

static void test_properties(void)
{
	struct cudaDeviceProp p;
	int devices = 0, device = -1;
	char bus[32];

	memset(&p, 0xee, sizeof(p));
	CALL(cudaGetDeviceCount(&devices));
	is(devices, 2);
	CALL(cudaGetDeviceProperties(&p, 1));
	is_str(p.name, "mete software device");
	is(p.totalGlobalMem, 256 << 20);
	is(p.warpSize, 32);
	is(p.major, attribute(cudaDevAttrComputeCapabilityMajor));
	is(p.maxThreadsDim[2], attribute(cudaDevAttrMaxBlockDimZ));
	is(p.maxGridSize[0], attribute(cudaDevAttrMaxGridDimX));
	is(p.totalConstMem, 65536);
	is(p.multiProcessorCount, attribute(cudaDevAttrMultiProcessorCount));
	is(p.sharedMemPerBlockOptin, attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
	is(p.unifiedAddressing, 1);
	is(p.regsPerMultiprocessor, attribute(cudaDevAttrMaxRegistersPerMultiprocessor));
#if CUDART_VERSION < 13000
	is(p.clockRate, attribute(cudaDevAttrClockRate));
#else
	is(p.reserved[0], 0);
#endif
	CALL(cudaDeviceGetPCIBusId(bus, sizeof(bus), 1));
	CALL(cudaDeviceGetByPCIBusId(&device, bus));
	is(device, 1);
	memset(&p, 0, sizeof(p));
	CALL(cudaChooseDevice(&device, &p));
	is(device, 0);
	FAILS(cudaGetDeviceProperties(&p, 2), cudaErrorInvalidDevice);
	FAILS(cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue);
	cudaGetLastError();
}

static void test_memory(void)
{
	unsigned char host[8][32], *p = NULL, *q = NULL, *m = NULL;
	struct cudaPitchedPtr box;
	struct cudaExtent extent = { 20, 4, 2 };
	struct cudaPointerAttributes a;
	size_t pitch = 0, free_bytes = 0, total = 0, good = 0;
	unsigned flags = 0;

	CALL(cudaMallocPitch((void **)&p, &pitch, 30, 8));
	ok(pitch >= 30);
	memset(host, 1, sizeof(host));
	CALL(cudaMemset2D(p, pitch, 9, 30, 8));
	CALL(cudaMemcpy2D(p + 1, pitch, host, 32, 10, 8, cudaMemcpyHostToDevice));
	CALL(cudaMemcpy2D(host, 32, p, pitch, 30, 8, cudaMemcpyDefault));
	for (int y = 0; y < 8; y++)
		for (int x = 0; x < 32; x++)
			good += host[y][x] == (x >= 30 || (x >= 1 && x < 11) ? 1 : 9);
	is(good, sizeof(host));
	CALL(cudaMalloc3D(&box, extent));
	is(box.xsize, 20);
	is(box.ysize, 4);
	CALL(cudaMemset3D(box, 3, extent));
	CALL(cudaMemcpy2D(host, 32, box.ptr, box.pitch, 20, 8, cudaMemcpyDeviceToHost));
	is(host[7][19], 3);
	is(host[7][20], 9);
	CALL(cudaPointerGetAttributes(&a, p + 5));
	is(a.type, cudaMemoryTypeDevice);
	is(a.device, 0);
	ok(a.devicePointer == p + 5);
	CALL(cudaMallocManaged((void **)&m, 64, cudaMemAttachGlobal));
	CALL(cudaPointerGetAttributes(&a, m));
	is(a.type, cudaMemoryTypeManaged);
	CALL(cudaHostAlloc((void **)&q, 64, cudaHostAllocMapped));
	CALL(cudaPointerGetAttributes(&a, q));
	is(a.type, cudaMemoryTypeHost);
	CALL(cudaHostGetFlags(&flags, q));
	ok(flags & cudaHostAllocMapped);
	CALL(cudaPointerGetAttributes(&a, host));
	is(a.type, cudaMemoryTypeUnregistered);
	CALL(cudaMemGetInfo(&free_bytes, &total));
	is(total, 256 << 20);
	ok(free_bytes < total);
	CALL(cudaFreeHost(q));
	CALL(cudaFree(m));
	CALL(cudaFree(p));
	CALL(cudaFree(box.ptr));
}

static void test_peers(void)
{
	unsigned value = 77, *a = NULL, *b = NULL;
	int can = -1;

	CALL(cudaDeviceCanAccessPeer(&can, 0, 1));
	CALL(cudaMalloc((void **)&a, 4));
	CALL(cudaSetDevice(1));
	CALL(cudaMalloc((void **)&b, 4));
	CALL(cudaSetDevice(0));
	CALL(cudaMemcpy(a, &value, 4, cudaMemcpyHostToDevice));
	CALL(cudaMemcpyPeer(b, 1, a, 0, 4));
	value = 0;
	CALL(cudaMemcpy(&value, b, 4, cudaMemcpyDefault));
	is(value, 77);
	if (can) {
		CALL(cudaDeviceEnablePeerAccess(1, 0));
		FAILS(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
		CALL(cudaDeviceDisablePeerAccess(1));
		FAILS(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
	}
	FAILS(cudaDeviceEnablePeerAccess(5, 0), cudaErrorInvalidDevice);
	cudaGetLastError();
	CALL(cudaFree(a));
	CALL(cudaFree(b));
}

static void test_entry(void)
{
	int (*get_count)(int *) = NULL;
	int n = 0;

#if CUDART_VERSION >= 13000
	enum cudaDriverEntryPointQueryResult q;

	CALL(cudaGetDriverEntryPointByVersion("cuDeviceGetCount", (void **)&get_count, 12000, cudaEnableDefault, &q));
	is(q, cudaDriverEntryPointSuccess);
#elif CUDART_VERSION >= 12000
	enum cudaDriverEntryPointQueryResult q;

	CALL(cudaGetDriverEntryPoint("cuDeviceGetCount", (void **)&get_count, cudaEnableDefault, &q));
	is(q, cudaDriverEntryPointSuccess);
#else
	CALL(cudaGetDriverEntryPoint("cuDeviceGetCount", (void **)&get_count, cudaEnableDefault));
#endif
	ok(get_count && !get_count(&n));
	is(n, 2);
}

static void test_settings(void)
{
	size_t bytes = 0;
	unsigned flags = 0;

	CALL(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4 << 20));
	CALL(cudaDeviceGetLimit(&bytes, cudaLimitPrintfFifoSize));
	is(bytes, 4 << 20);
	FAILS(cudaSetDeviceFlags(0x10000), cudaErrorInvalidValue);
	CALL(cudaGetDeviceFlags(&flags));
	ok(flags & cudaDeviceMapHost);
	CALL(cudaProfilerStart());
	CALL(cudaProfilerStop());
	cudaGetLastError();
}

int main(void)
{
	program_begin("2");
	test_properties();
	test_memory();
	test_peers();
	test_entry();
	test_settings();
	return program_end();
}
