/* memory_test.c: plain, pitched, host and managed memory, and their accounts. */
#include "softdev/soft.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static void exact_fit(void)
{
	size_t all = soft_free();
	CUdeviceptr a, b;

	CU(cuMemAlloc(&a, all));
	is(soft_free(), 0);
	FAILS(cuMemAlloc(&b, 1), CUDA_ERROR_OUT_OF_MEMORY);
	CU(cuMemFree(a));
	FAILS(cuMemAlloc(&b, all + 1), CUDA_ERROR_OUT_OF_MEMORY);
	is(soft_free(), all);
}

static void units(void)
{
	size_t all = soft_free(), pitch;
	CUdeviceptr a, b, c;

	CU(cuMemAlloc(&a, 1));
	is(all - soft_free(), 512);
	CU(cuMemAlloc(&b, 513));
	is(all - soft_free(), 512 + 1024);
	CU(cuMemAllocPitch(&c, &pitch, 700, 3, 4));
	is(pitch, 1024);
	is(all - soft_free(), 512 + 1024 + 3072);
	ok(a % 512 == 0 && b % 512 == 0 && c % 512 == 0);
	CU(cuMemFree(b));
	CU(cuMemFree(a));
	CU(cuMemFree(c));
	is(soft_free(), all);
	FAILS(cuMemFree(a), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemAlloc(&a, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemAlloc(NULL, 1), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemAlloc(&a, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	FAILS(cuMemAllocPitch(&c, &pitch, SIZE_MAX, 3, 4), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemAllocPitch(&c, &pitch, 700, 3, 5), CUDA_ERROR_INVALID_VALUE);
}

static void ranges(void)
{
	CUdeviceptr a, base;
	size_t size;

	CU(cuMemAlloc(&a, 1000));
	CU(cuMemGetAddressRange(&base, &size, a + 999));
	ok(base == a);
	is(size, 1000);
	FAILS(cuMemGetAddressRange(&base, &size, a + 1000), CUDA_ERROR_NOT_FOUND);
	FAILS(cuMemFree(a + 4), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemFree(a));
	FAILS(cuMemGetAddressRange(&base, &size, a), CUDA_ERROR_NOT_FOUND);
}

static int nonzero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return 1;
	return 0;
}

/* Fresh memory reads as zero, also where something else lay before. */
static void zeroes(void)
{
	static char back[8192];
	const size_t sizes[] = { 100, 4096, 8192 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CUdeviceptr a, b;

		CU(cuMemAlloc(&a, sizes[i]));
		CU(cuMemsetD8(a, 0x5a, sizes[i]));
		CU(cuMemcpyDtoH(back, a, sizes[i]));
		ok((unsigned char)back[sizes[i] - 1] == 0x5a);
		CU(cuMemFree(a));
		CU(cuMemAlloc(&b, sizes[i]));
		CU(cuMemcpyDtoH(back, b, sizes[i]));
		ok(!nonzero(back, sizes[i]));
		CU(cuMemFree(b));
	}
}

static void copies(void)
{
	char out[256], in[256];
	CUdeviceptr a, b;

	for (int i = 0; i < 256; i++)
		out[i] = (char)i;
	CU(cuMemAlloc(&a, 256));
	CU(cuMemAlloc(&b, 256));
	CU(cuMemcpyHtoD(a, out, 256));
	CU(cuMemcpyDtoD(b, a, 256));
	CU(cuMemcpyDtoH(in, b, 256));
	ok(!memcmp(in, out, 256));
	CU(cuMemsetD32(b, 0x01020304, 64));
	CU(cuMemcpy((CUdeviceptr)(uintptr_t)in, b, 256));
	ok(in[0] == 4 && in[255] == 1);
	FAILS(cuMemcpyHtoD(a, out, 257), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemcpyDtoH(in, a + 1, 256), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemcpyHtoD((CUdeviceptr)(uintptr_t)in, out, 16), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemcpyHtoD(a, NULL, 16), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemsetD8(a, 0, 257), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemsetD32(a + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemcpyHtoD(a, out, 0));
	CU(cuMemFree(a));
	CU(cuMemFree(b));
	FAILS(cuMemcpyDtoH(in, a, 1), CUDA_ERROR_INVALID_VALUE);
}

static void host_memory(void)
{
	size_t all = soft_free();
	CUdeviceptr d;
	unsigned flags;
	void *p, *q;

	CU(cuMemHostAlloc(&p, 5000, CU_MEMHOSTALLOC_PORTABLE));
	CU(cuMemHostGetDevicePointer(&d, p, 0));
	CU(cuMemHostGetFlags(&flags, p));
	is(flags, CU_MEMHOSTALLOC_PORTABLE);
	is(soft_free(), all);
	CU(cuMemFreeHost(p));
	FAILS(cuMemFreeHost(p), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemHostAlloc(&p, 0, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemHostAlloc(&p, (size_t)1 << 45, 0), CUDA_ERROR_OUT_OF_MEMORY); /* more than machines have */
	q = malloc(4096);
	CU(cuMemHostRegister(q, 4096, 0));
	FAILS(cuMemHostRegister(q, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	CU(cuMemHostUnregister(q));
	FAILS(cuMemHostUnregister(q), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	free(q);
}

static void attributes(void)
{
	int managed, ordinal;
	unsigned type;
	CUdeviceptr a;
	char local;
	CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED };
	void *where[] = { &type, &managed };

	CU(cuMemAllocManaged(&a, 4096, CU_MEM_ATTACH_GLOBAL));
	memset((void *)(uintptr_t)a, 7, 4096);
	CU(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, a + 5));
	is(managed, 1);
	CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
	is(type, CU_MEMORYTYPE_DEVICE);
	CU(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, a));
	is(ordinal, 0);
	FAILS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&local),
	      CUDA_ERROR_INVALID_VALUE);
	CU(cuPointerGetAttributes(2, which, where, (CUdeviceptr)(uintptr_t)&local));
	is(type, 0);
	CU(cuMemFree(a));
	FAILS(cuMemAllocManaged(&a, 4096, 0), CUDA_ERROR_INVALID_VALUE);
}

static void arrays(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 33, .Height = 5, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2 }, got;
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST, .dstMemoryType = CU_MEMORYTYPE_ARRAY };
	size_t all = soft_free();
	float out[5][66], in[5][66];
	CUmipmappedArray m;
	CUarray a, level;

	CU(cuArray3DCreate(&a, &d));
	is(all - soft_free(), (33 * 5 * 8 + 511) / 512 * 512);
	CU(cuArray3DGetDescriptor(&got, a));
	ok(got.Width == 33 && got.Height == 5 && got.NumChannels == 2);
	for (int i = 0; i < 5 * 66; i++)
		(&out[0][0])[i] = (float)i;
	copy.srcHost = out;
	copy.srcPitch = sizeof(out[0]);
	copy.dstArray = a;
	copy.WidthInBytes = sizeof(out[0]);
	copy.Height = 5;
	CU(cuMemcpy2D(&copy));
	copy.WidthInBytes++;
	FAILS(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemcpyAtoH(in, a, 0, sizeof(in)));
	ok(!memcmp(in, out, sizeof(in)));
	CU(cuArrayDestroy(a));
	FAILS(cuArrayDestroy(a), CUDA_ERROR_INVALID_HANDLE);
	d.Width = d.Height = 64;
	CU(cuMipmappedArrayCreate(&m, &d, 3));
	is(all - soft_free(), (64 * 64 + 32 * 32 + 16 * 16) * 8);
	CU(cuMipmappedArrayGetLevel(&level, m, 2));
	CU(cuArray3DGetDescriptor(&got, level));
	is(got.Width, 16);
	FAILS(cuArrayDestroy(level), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuMipmappedArrayGetLevel(&level, m, 3), CUDA_ERROR_INVALID_VALUE);
	CU(cuMipmappedArrayDestroy(m));
	is(soft_free(), all);
}

static void boxes(void)
{
	CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST, .dstMemoryType = CU_MEMORYTYPE_DEVICE };
	unsigned char out[4][3][8], in[2][2][4];
	CUdeviceptr a;

	for (int i = 0; i < 96; i++)
		(&out[0][0][0])[i] = (unsigned char)i;
	CU(cuMemAlloc(&a, 96));
	CU(cuMemcpyHtoD(a, out, 96));
	c = (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			     .srcDevice = a,
			     .srcPitch = 8,
			     .srcHeight = 3,
			     .srcXInBytes = 2,
			     .srcY = 1,
			     .srcZ = 2,
			     .dstMemoryType = CU_MEMORYTYPE_HOST,
			     .dstHost = in,
			     .dstPitch = 4,
			     .dstHeight = 2,
			     .WidthInBytes = 4,
			     .Height = 2,
			     .Depth = 2 };
	CU(cuMemcpy3D(&c));
	ok(in[0][0][0] == out[2][1][2] && in[1][1][3] == out[3][2][5]);
	c.srcZ = 3;
	FAILS(cuMemcpy3D(&c), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemFree(a));
}

static void many(void)
{
	enum { COUNT = 50000 };
	CUdeviceptr *a = calloc(COUNT, sizeof(*a));
	size_t all = soft_free();
	int bad = 0;

	for (int i = 0; i < COUNT; i++)
		bad += !!cuMemAlloc(&a[i], 1 + (size_t)i * 7919 % 9000);
	for (int i = 0; i < COUNT; i += 2)
		bad += !!cuMemFree(a[i]);
	for (int i = 0; i < COUNT; i += 2)
		bad += !!cuMemAlloc(&a[i], 1 + (size_t)i * 104729 % 9000);
	for (int i = 0; i < COUNT; i++)
		bad += !!cuMemFree(a[COUNT - 1 - i]);
	is(bad, 0);
	is(soft_free(), all);
	free(a);
}

static pthread_mutex_t alloc_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool resetting;

static void *alloc_and_free(void *unused)
{
	CUdeviceptr p;
	CUcontext c;

	(void)unused;
	while (resetting) {
		CUresult e;

		pthread_mutex_lock(&alloc_mutex);
		cuDevicePrimaryCtxRetain(&c, 0);
		cuCtxSetCurrent(c);
		e = cuMemAlloc(&p, 512);
		pthread_mutex_unlock(&alloc_mutex);
		if (!e)
			cuMemFree(p);
	}
	return NULL;
}

/* A reset frees everything; a thread that is just freeing something must not do so twice. */
static void free_and_reset(void)
{
	pthread_t thread[3];
	CUcontext c;
	int bad = 0;

	resetting = true;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, alloc_and_free, NULL);
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&alloc_mutex);
		bad += cuDevicePrimaryCtxReset(0) != CUDA_SUCCESS;
		pthread_mutex_unlock(&alloc_mutex);
	}
	is(bad, 0);
	resetting = false;
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	CU(cuDevicePrimaryCtxReset(0));
	CU(cuDevicePrimaryCtxRetain(&c, 0));
	CU(cuCtxSetCurrent(c));
	is(soft_free(), 256 * MIB);
}

int main(void)
{
	CUcontext c;
	CUdeviceptr a;

	soft_begin("2", "256M");
	FAILS(cuMemAlloc(&a, 1), CUDA_ERROR_NOT_INITIALIZED);
	CU(cuInit(0));
	FAILS(cuMemAlloc(&a, 1), CUDA_ERROR_INVALID_CONTEXT);
	c = soft_context();
	is(soft_free(), 256 * MIB);
	exact_fit();
	units();
	ranges();
	zeroes();
	copies();
	host_memory();
	attributes();
	arrays();
	boxes();
	many();
	free_and_reset();
	CU(cuMemAlloc(&a, MIB));
	CU(cuDevicePrimaryCtxRelease(0));
	FAILS(cuMemAlloc(&a, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	CU(cuDevicePrimaryCtxRetain(&c, 0));
	is(soft_free(), 256 * MIB);
	return soft_end();
}
