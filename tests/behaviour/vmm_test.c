/* vmm_test.c: address reservations, physical handles, mappings; what stays taken until the last mapping goes. */
#include "kit.h"
#include "basic_ptx.h"

static CUmemAllocationProp on_device(int device)
{
	CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				  .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device } };

	return p;
}

static const CUmemAccessDesc access_all = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
					    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

static void life(CUmodule module)
{
	CUmemAllocationProp prop = on_device(0), back = { 0 };
	CUmemGenericAllocationHandle h;
	size_t before = kit_free(), granularity = 0;
	unsigned int host[1024], wrong = 0;
	CUdeviceptr p = 0;

	works(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	is(granularity, VMM_GRANULE);
	needs(cuMemAddressReserve(&p, 8 * MIB, 0, 0, 0));
	is(p % VMM_GRANULE, 0);
	is(kit_free(), before);
	needs(cuMemCreate(&h, 4 * MIB, &prop, 0));
	is(before - kit_free(), 4 * MIB);
	works(cuMemGetAllocationPropertiesFromHandle(&back, h));
	ok(back.type == prop.type && back.location.id == 0);
	works(cuMemMap(p + 2 * MIB, 4 * MIB, 0, h, 0));
	works(cuMemSetAccess(p + 2 * MIB, 4 * MIB, &access_all, 1));
	is(before - kit_free(), 4 * MIB);
	works(kit_launch(kit_kernel(module, "fill"), p + 2 * MIB, 1024, 3, NULL));
	works(cuMemcpyDtoH(host, p + 2 * MIB, sizeof host));
	for (int i = 0; i < 1024; i++)
		wrong += host[i] != 3;
	is(wrong, 0);

	/* Released but mapped: the memory is there, and it is still taken. */
	works(cuMemRelease(h));
	is(before - kit_free(), 4 * MIB);
	works(cuMemsetD8(p + 2 * MIB, 1, 4 * MIB));
	works(cuCtxSynchronize()); /* cuMemUnmap() of NVIDIA's driver does not wait in all cases */
	works(cuMemUnmap(p + 2 * MIB, 4 * MIB));
	is(kit_free(), before);
	works(cuMemAddressFree(p, 8 * MIB));
}

/* One handle at two places: both show the same memory, which is taken once. */
static void aliases(void)
{
	CUmemAllocationProp prop = on_device(0);
	CUmemGenericAllocationHandle h, again = 0;
	size_t before = kit_free();
	unsigned int v = 0;
	CUdeviceptr p;

	needs(cuMemAddressReserve(&p, 4 * MIB, 0, 0, 0));
	needs(cuMemCreate(&h, 2 * MIB, &prop, 0));
	works(cuMemMap(p, 2 * MIB, 0, h, 0));
	works(cuMemMap(p + 2 * MIB, 2 * MIB, 0, h, 0));
	works(cuMemSetAccess(p, 4 * MIB, &access_all, 1));
	works(cuMemsetD32(p, 0x1234, 16));
	works(cuMemcpyDtoH(&v, p + 2 * MIB, 4));
	is(v, 0x1234);
	is(before - kit_free(), 2 * MIB);

	works(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)p));
	ok(again == h);
	works(cuMemRelease(h));
	works(cuMemUnmap(p, 2 * MIB));
	is(before - kit_free(), 2 * MIB);
	works(cuMemUnmap(p + 2 * MIB, 2 * MIB));
	is(before - kit_free(), 2 * MIB); /* the retained reference holds it */
	works(cuMemRelease(again));
	is(kit_free(), before);
	works(cuMemAddressFree(p, 4 * MIB));
}

/* A handle belongs to the device in its properties, whatever context is current. */
static void other_device(void)
{
	CUmemAllocationProp prop = on_device(1);
	CUmemGenericAllocationHandle h;
	size_t here = kit_free(), there, there_now, total;
	CUcontext other;
	int count = 0;

	works(cuDeviceGetCount(&count));
	if (count < 2) {
		kit_skip("a handle on another device", "one device");
		return;
	}
	needs(cuDevicePrimaryCtxRetain(&other, 1));
	works(cuCtxPushCurrent(other));
	works(cuMemGetInfo(&there, &total));
	works(cuCtxPopCurrent(NULL));
	works(cuMemCreate(&h, 2 * MIB, &prop, 0));
	is(kit_free(), here);
	works(cuCtxPushCurrent(other));
	works(cuMemGetInfo(&there_now, &total));
	works(cuCtxPopCurrent(NULL));
	is(there - there_now, 2 * MIB);
	works(cuMemRelease(h));
	works(cuDevicePrimaryCtxRelease(1));
}

static void refused(void)
{
	CUmemAllocationProp prop = on_device(0), bad;
	CUmemGenericAllocationHandle h;
	size_t before = kit_free();
	CUdeviceptr p;

	answers(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&h, 4096, &prop, 0));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&h, 0, &prop, 0));
	answers(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&h, (kit.total / VMM_GRANULE + 1) * VMM_GRANULE, &prop, 0));
	bad = prop;
	bad.location.id = 99;
	ok(cuMemCreate(&h, 2 * MIB, &bad, 0) != CUDA_SUCCESS);
	answers(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&p, 1000, 0, 0, 0));
	needs(cuMemAddressReserve(&p, 4 * MIB, 0, 0, 0));
	needs(cuMemCreate(&h, 2 * MIB, &prop, 0));
	/* NVIDIA's driver 580 calls that not supported. */
	ok(cuMemMap(p, 4 * MIB, 0, h, 0) != CUDA_SUCCESS);
	works(cuMemMap(p, 2 * MIB, 0, h, 0));
	ok(cuMemMap(p, 2 * MIB, 0, h, 0) != CUDA_SUCCESS);
	if (kit.soft) /* NVIDIA's driver 580 takes it */
		ok(cuMemUnmap(p + 2 * MIB, 2 * MIB) != CUDA_SUCCESS);
	works(cuMemUnmap(p, 2 * MIB));
	works(cuMemRelease(h));
	works(cuMemAddressFree(p, 4 * MIB));
	is(kit_free(), before);
}

int main(void)
{
	CUmodule module;

	kit_begin();
	needs(cuModuleLoadData(&module, basic_ptx));
	life(module);
	aliases();
	other_device();
	refused();
	works(cuModuleUnload(module));
	return kit_end();
}
