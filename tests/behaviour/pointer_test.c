/* pointer_test.c: what the driver says about an address. */
#include "kit.h"

static unsigned int type_of(CUdeviceptr p)
{
	unsigned int type = 0;

	works(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
	return type;
}

static void device_memory(void)
{
	CUdeviceptr p, start = 0;
	CUcontext context = NULL;
	unsigned int managed = 7;
	int device = -1;
	size_t size = 0;

	needs(cuMemAlloc(&p, 10000));
	is(type_of(p), CU_MEMORYTYPE_DEVICE);
	is(type_of(p + 9999), CU_MEMORYTYPE_DEVICE);
	works(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
	is(device, 0);
	works(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p));
	ok(context == kit.context);
	works(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 5000));
	is(start, p);
	works(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p + 5000));
	is(size, 10000);
	works(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
	is(managed & 0xff, 0);
	works(cuMemFree(p));
}

static void host_memory(void)
{
	void *h = NULL, *back = NULL;
	CUdeviceptr d = 0;
	int local = 0;
	unsigned int type = 99;

	needs(cuMemHostAlloc(&h, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	is(type_of((CUdeviceptr)(uintptr_t)h), CU_MEMORYTYPE_HOST);
	works(cuPointerGetAttribute(&d, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (CUdeviceptr)(uintptr_t)h));
	ok(d != 0);
	works(cuPointerGetAttribute(&back, CU_POINTER_ATTRIBUTE_HOST_POINTER, d));
	ok(back == h);
	works(cuMemFreeHost(h));
	answers(CUDA_ERROR_INVALID_VALUE,
		cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&local));
}

/* Also over a worker, where both sides have a copy of it. */
static void managed_memory(void)
{
	unsigned int managed = 0, type = 0;
	CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED };
	void *values[] = { &type, &managed };
	CUdeviceptr p;

	needs(cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
	works(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
	is(managed & 0xff, 1);
	managed = 0;
	works(cuPointerGetAttributes(2, which, values, p));
	is(managed & 0xff, 1);
	ok(type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED);
	works(cuMemFree(p));
}

/* Asked for several attributes, an unknown address gives zeros and no error: the CUDA runtime lives on this. */
static void unknown(void)
{
	unsigned int type = 77;
	CUdeviceptr address = 77;
	CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER };
	void *values[] = { &type, &address };
	int local = 0;

	works(cuPointerGetAttributes(2, which, values, (CUdeviceptr)(uintptr_t)&local));
	is(type, 0);
	is(address, 0);
}

int main(void)
{
	kit_begin();
	device_memory();
	host_memory();
	managed_memory();
	unknown();
	return kit_end();
}
