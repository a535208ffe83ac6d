/* Virtual memory: addresses without memory, memory without addresses, two views of one piece, rights, growth in place. */
#define PROGRAM_DRIVER
#include "program.h"

#ifdef __CUDACC__

KERNEL number(unsigned *p, unsigned n)
{
	for (unsigned i = THREAD; i < n; i += gridDim.x * blockDim.x)
		p[i] = i ^ 0x5555;
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction number;
	CUmemAllocationProp prop;
	CUmemAccessDesc access;
	CUmemGenericAllocationHandle piece[2];
	CUdeviceptr range, view;
	size_t grain = 0, i;
	unsigned n, *host;
	void *args[] = { &range, &n };
	int supported = 0;

	CALL(cuInit(0));
	CALL(cuDeviceGet(&device, 0));
	CALL(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
	if (!supported)
		SKIP("the device has no virtual memory management");
	CALL(cuDevicePrimaryCtxRetain(&context, device));
	CALL(cuCtxSetCurrent(context));
	CALL(cuModuleLoadData(&module, program_ptx));
	CALL(cuModuleGetFunction(&number, module, "number"));
	memset(&prop, 0, sizeof(prop));
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = device;
	CALL(cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	CHECK(grain >= 65536);
	CALL(cuMemAddressReserve(&range, 4 * grain, 0, 0, 0));
	CALL(cuMemAddressReserve(&view, grain, 0, 0, 0));
	CALL(cuMemCreate(piece + 0, grain, &prop, 0));
	CALL(cuMemCreate(piece + 1, grain, &prop, 0));
	CALL(cuMemMap(range, grain, 0, piece[0], 0));
	CALL(cuMemMap(range + grain, grain, 0, piece[1], 0));
	CALL(cuMemMap(view, grain, 0, piece[1], 0));
	memset(&access, 0, sizeof(access));
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CALL(cuMemSetAccess(range, 2 * grain, &access, 1));
	CALL(cuMemSetAccess(view, grain, &access, 1));
	n = (unsigned)(2 * grain / 4);
	CALL(cuLaunchKernel(number, 16, 1, 1, 256, 1, 1, 0, 0, args, NULL));
	host = (unsigned *)malloc(2 * grain);
	CALL(cuMemcpyDtoH(host, range, 2 * grain));
	for (i = 0; i < n; i++)
		CHECK(host[i] == (i ^ 0x5555));
	CALL(cuMemsetD32(view, 77, 4));
	CALL(cuMemcpyDtoH(host, range + grain, 32));
	CHECK(host[3] == 77 && host[4] == ((grain / 4 + 4) ^ 0x5555));
	CALL(cuMemUnmap(range, 2 * grain));
	CALL(cuMemcpyDtoH(host, view, 32));
	CHECK(host[3] == 77);
	CALL(cuMemUnmap(view, grain));
	CALL(cuMemRelease(piece[0]));
	CALL(cuMemRelease(piece[1]));
	CALL(cuMemAddressFree(range, 4 * grain));
	CALL(cuMemAddressFree(view, grain));
	free(host);
	CALL(cuDevicePrimaryCtxRelease(device));
	return program_end();
}
