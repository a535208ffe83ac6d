/* managed_test.c: managed memory from both sides, advice and prefetches page by page, copies in batches. */
#include "softdev/soft.h"

#include <stdint.h>
#include <string.h>

/* The versions with an ordinal, which the header no longer names. */
static CUresult (*advise)(CUdeviceptr, size_t, CUmem_advise, CUdevice);
static CUresult (*prefetch)(CUdeviceptr, size_t, CUdevice, CUstream);

static const char ptx[] = ".version 7.0\n"
			  ".target sm_70\n"
			  ".address_size 64\n"
			  ".visible .global .attribute(.managed) .align 4 .u32 shared_word;\n"
			  ".visible .global .align 4 .u32 own_word;\n"
			  ".visible .entry twice(.param .u64 p)\n"
			  "{\n"
			  ".reg .b32 %r<3>;\n"
			  ".reg .b64 %d<3>;\n"
			  "ld.param.u64 %d1, [p];\n"
			  "mov.u32 %r1, %tid.x;\n"
			  "mul.wide.u32 %d2, %r1, 4;\n"
			  "add.s64 %d1, %d1, %d2;\n"
			  "ld.global.u32 %r2, [%d1];\n"
			  "shl.b32 %r2, %r2, 1;\n"
			  "st.global.u32 [%d1], %r2;\n"
			  "ret;\n"
			  "}\n"
			  ".visible .entry set()\n"
			  "{\n"
			  "st.global.u32 [shared_word], 77;\n"
			  "ret;\n"
			  "}\n";

/* Plain loads and stores of the host before and after a kernel, with no copy in between. */
static void host_access(void)
{
	CUdeviceptr p, word;
	CUfunction f;
	CUmodule m;
	int *host, wrong = 0;
	unsigned managed = 0;
	void *params[] = { &p };
	size_t bytes;

	CU(cuModuleLoadData(&m, ptx));
	CU(cuModuleGetFunction(&f, m, "twice"));
	CU(cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
	host = (int *)(uintptr_t)p;
	for (int i = 0; i < 1024; i++)
		host[i] = i;
	CU(cuLaunchKernel(f, 1, 1, 1, 1024, 1, 1, 0, NULL, params, NULL));
	CU(cuCtxSynchronize());
	for (int i = 0; i < 1024; i++)
		wrong += host[i] != 2 * i;
	is(wrong, 0);
	CU(cuMemFree(p));
	CU(cuModuleGetGlobal(&word, &bytes, m, "shared_word"));
	*(unsigned *)(uintptr_t)word = 5;
	CU(cuModuleGetFunction(&f, m, "set"));
	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CU(cuCtxSynchronize());
	is(*(unsigned *)(uintptr_t)word, 77);
	CU(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, word));
	is(managed & 0xff, 1);
	CU(advise(word, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	CU(cuStreamAttachMemAsync(NULL, word, 0, CU_MEM_ATTACH_HOST));
	CU(cuModuleGetGlobal(&word, &bytes, m, "own_word"));
	FAILS(advise(word, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE);
	CU(cuModuleUnload(m));
}

static int number(CUmem_range_attribute a, CUdeviceptr p, size_t bytes)
{
	int value = -100;

	CU(cuMemRangeGetAttribute(&value, sizeof(value), a, p, bytes));
	return value;
}

#define PREFERRED CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION
#define FETCHED CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION

static void advice(void)
{
	CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST }, node = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA },
		      second = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 }, none = { .id = 0 };
	CUmem_range_attribute many[] = { CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, PREFERRED };
	int by[3], value[2];
	void *data[] = { &value[0], &value[1] };
	size_t data_bytes[] = { 4, 4 };
	const size_t page = 4096;
	CUdeviceptr p, plain;

	CU(cuMemAllocManaged(&p, 8 * page, CU_MEM_ATTACH_GLOBAL));
	is(number(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 8 * page), 0);
	is(number(PREFERRED, p, 8 * page), CU_DEVICE_INVALID);
	is(number(FETCHED, p, 8 * page), CU_DEVICE_INVALID);
	/* Rounded outwards to pages. */
	CU(advise(p + 2 * page + 5, 1, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	is(number(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p + 2 * page, page), 1);
	is(number(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p + 2 * page, page + 1), 0);
	is(number(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 8 * page), 0);
	CU(advise(p, 8 * page, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
	is(number(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 8 * page), 1);
	CU(advise(p, page, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0));
	is(number(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, page), 0);
	is(number(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p + page, 7 * page), 1);
	/* Preferred places. */
	CU(advise(p, 4 * page, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 1));
	CU(advise(p + 4 * page, 4 * page, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
	is(number(PREFERRED, p, 4 * page), 1);
	is(number(PREFERRED, p + 4 * page, 4 * page), CU_DEVICE_CPU);
	is(number(PREFERRED, p, 8 * page), CU_DEVICE_INVALID);
	is(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, p, page), CU_MEM_LOCATION_TYPE_DEVICE);
	is(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, p, page), 1);
	is(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, p + 4 * page, page), CU_MEM_LOCATION_TYPE_HOST);
	is(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, p, 8 * page), CU_MEM_LOCATION_TYPE_INVALID);
	CU(cuMemAdvise(p, page, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node));
	is(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, p, page), CU_MEM_LOCATION_TYPE_HOST_NUMA);
	is(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, p, page), 0);
	is(number(PREFERRED, p, page), CU_DEVICE_CPU);
	CU(advise(p, 8 * page, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 0));
	is(number(PREFERRED, p, 8 * page), CU_DEVICE_INVALID);
	/* Who accesses. */
	CU(advise(p, 8 * page, CU_MEM_ADVISE_SET_ACCESSED_BY, 1));
	CU(advise(p, 2 * page, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU));
	CU(cuMemRangeGetAttribute(by, sizeof(by), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 2 * page));
	ok(by[0] == CU_DEVICE_CPU && by[1] == 1 && by[2] == CU_DEVICE_INVALID);
	CU(cuMemRangeGetAttribute(by, sizeof(by), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 8 * page));
	ok(by[0] == 1 && by[1] == CU_DEVICE_INVALID);
	CU(advise(p, 8 * page, CU_MEM_ADVISE_UNSET_ACCESSED_BY, 1));
	CU(cuMemRangeGetAttribute(by, sizeof(by), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, page));
	ok(by[0] == CU_DEVICE_CPU && by[1] == CU_DEVICE_INVALID);
	/* Prefetches. */
	CU(prefetch(p, 4 * page, 0, NULL));
	is(number(FETCHED, p, 4 * page), 0);
	is(number(FETCHED, p, 5 * page), CU_DEVICE_INVALID);
	CU(cuMemPrefetchAsync(p, 8 * page, second, 0, NULL));
	is(number(FETCHED, p, 8 * page), 1);
	CU(cuMemPrefetchAsync(p, page, host, 0, NULL));
	is(number(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, p, page), CU_MEM_LOCATION_TYPE_HOST);
	is(number(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID, p + page, page), 1);
	CU(cuMemRangeGetAttributes(data, data_bytes, many, 2, p + page, page));
	ok(value[0] == 1 && value[1] == CU_DEVICE_INVALID);
	/* Errors. */
	FAILS(advise(p, 8 * page, CU_MEM_ADVISE_SET_ACCESSED_BY, 7), CUDA_ERROR_INVALID_DEVICE);
	FAILS(advise(p, 8 * page, (CUmem_advise)9, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(advise(p, 9 * page, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(advise(p, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemAdvise(p, page, CU_MEM_ADVISE_SET_ACCESSED_BY, node), CUDA_ERROR_INVALID_VALUE);
	FAILS(prefetch(p, page, 7, NULL), CUDA_ERROR_INVALID_DEVICE);
	FAILS(cuMemPrefetchAsync(p, page, none, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemPrefetchAsync(p, page, host, 1, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(prefetch(p, 9 * page, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemRangeGetAttribute(by, 8, PREFERRED, p, page), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemRangeGetAttribute(by, 6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, page), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemRangeGetAttribute(by, 4, (CUmem_range_attribute)99, p, page), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemAlloc(&plain, page));
	FAILS(advise(plain, page, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(prefetch(plain, page, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemRangeGetAttribute(by, 4, PREFERRED, plain, page), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemFree(plain));
	CU(cuMemFree(p));
}

static void attach(void)
{
	CUdeviceptr p;
	CUstream s;

	CU(cuStreamCreate(&s, 0));
	CU(cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_HOST));
	CU(cuStreamAttachMemAsync(s, p, 0, CU_MEM_ATTACH_SINGLE));
	CU(cuStreamAttachMemAsync(s, p, 4096, CU_MEM_ATTACH_GLOBAL));
	FAILS(cuStreamAttachMemAsync(NULL, p, 0, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamAttachMemAsync(s, p, 100, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamAttachMemAsync(s, p + 8, 0, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamAttachMemAsync(s, p, 0, 3), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemFree(p));
	CU(cuStreamDestroy(s));
}

static void prefetch_batch(void)
{
	CUmemLocation place[] = { { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
				  { .type = CU_MEM_LOCATION_TYPE_HOST } };
	size_t bytes[3] = { 4096, 4096, 4096 }, from[2] = { 0, 2 };
	CUdeviceptr p[3];
	CUstream s;

	CU(cuStreamCreate(&s, 0));
	for (int i = 0; i < 3; i++)
		CU(cuMemAllocManaged(&p[i], 4096, CU_MEM_ATTACH_GLOBAL));
	CU(cuMemPrefetchBatchAsync(p, bytes, 3, place, from, 2, 0, s));
	is(number(FETCHED, p[1], 4096), 0);
	is(number(FETCHED, p[2], 4096), CU_DEVICE_CPU);
	from[1] = 1;
	CU(cuMemDiscardAndPrefetchBatchAsync(p, bytes, 3, place, from, 2, 0, s));
	is(number(FETCHED, p[0], 4096), 0);
	is(number(FETCHED, p[1], 4096), CU_DEVICE_CPU);
	CU(cuMemDiscardBatchAsync(p, bytes, 3, 0, s));
	FAILS(cuMemDiscardBatchAsync(p, bytes, 0, 0, s), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemDiscardBatchAsync(p, bytes, 3, 1, s), CUDA_ERROR_INVALID_VALUE);
	from[0] = 1;
	FAILS(cuMemPrefetchBatchAsync(p, bytes, 3, place, from, 2, 0, s), CUDA_ERROR_INVALID_VALUE);
	from[0] = from[1] = 0;
	FAILS(cuMemPrefetchBatchAsync(p, bytes, 3, place, from, 2, 0, s), CUDA_ERROR_INVALID_VALUE);
	bytes[2] = 8192;
	from[1] = 1;
	place[0] = place[1];
	FAILS(cuMemPrefetchBatchAsync(p, bytes, 3, place, from, 2, 0, s), CUDA_ERROR_INVALID_VALUE);
	is(number(FETCHED, p[0], 4096), 0); /* all or none */
	for (int i = 0; i < 3; i++)
		CU(cuMemFree(p[i]));
	CU(cuStreamDestroy(s));
}

static void copy_batch(void)
{
	CUmemcpyAttributes a[2] = { { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM },
				    { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL } };
	size_t bytes[3] = { 512, 512, 512 }, from[2] = { 0, 1 }, failed = 0;
	unsigned char host[512], back[512];
	CUdeviceptr p, to[3], source[3];
	int wrong = 0;
	CUstream s;

	CU(cuStreamCreate(&s, 0));
	CU(cuMemAlloc(&p, 4 * 512));
	CU(cuMemsetD8Async(p, 3, 512, s));
	memset(host, 4, sizeof(host));
	to[0] = p + 512;
	source[0] = p;
	to[1] = p + 1024;
	source[1] = (CUdeviceptr)(uintptr_t)host;
	to[2] = (CUdeviceptr)(uintptr_t)back;
	source[2] = p;
	CU(cuMemcpyBatchAsync(to, source, bytes, 3, a, from, 2, s));
	memset(host, 9, sizeof(host)); /* was read during the call */
	CU(cuStreamSynchronize(s));
	for (int i = 0; i < 512; i++)
		wrong += back[i] != 3;
	CU(cuMemcpyDtoH(back, p + 512, 512));
	for (int i = 0; i < 512; i++)
		wrong += back[i] != 3;
	CU(cuMemcpyDtoH(back, p + 1024, 512));
	for (int i = 0; i < 512; i++)
		wrong += back[i] != 4;
	is(wrong, 0);
	/* Nothing is copied when one is wrong, and the older call says which. */
	to[1] = p + 4 * 512;
	{
		CUresult (*old)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *, size_t,
				size_t *, CUstream) = NULL;

		CU(cuGetProcAddress("cuMemcpyBatchAsync", (void **)&old, 12080, 0, NULL));
		CU(cuMemsetD8(p, 8, 512));
		FAILS(old(to, source, bytes, 3, a, from, 2, &failed, s), CUDA_ERROR_INVALID_VALUE);
		is(failed, 1);
		CU(cuMemcpyDtoH(back, p + 512, 512));
		is(back[0], 3);
		a[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
		to[1] = p;
		FAILS(old(to, source, bytes, 3, a, from, 2, &failed, s), CUDA_ERROR_INVALID_VALUE);
		ok(failed == SIZE_MAX);
	}
	a[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
	FAILS(cuMemcpyBatchAsync(to, source, bytes, 3, a, from, 2, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemcpyBatchAsync(to, source, bytes, 3, a, from, 4, s), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemFree(p));
	CU(cuStreamDestroy(s));
}

static void box_batch(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = 8, .Height = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1
	};
	CUDA_MEMCPY3D_BATCH_OP op[2] = { { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM },
					 { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM } };
	uint32_t in[4][8], out[2][3] = { { 0 } };
	CUarray array;
	CUstream s;

	for (uint32_t y = 0; y < 4; y++)
		for (uint32_t x = 0; x < 8; x++)
			in[y][x] = 10 * y + x;
	CU(cuArray3DCreate(&array, &d));
	CU(cuStreamCreate(&s, 0));
	op[0].src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	op[0].src.op.ptr.ptr = (CUdeviceptr)(uintptr_t)in;
	op[0].src.op.ptr.rowLength = 8;
	op[0].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
	op[0].dst.op.array.array = array;
	op[0].extent = (CUextent3D){ 8, 4, 1 };
	op[1].src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
	op[1].src.op.array.array = array;
	op[1].src.op.array.offset = (CUoffset3D){ 2, 1, 0 };
	op[1].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	op[1].dst.op.ptr.ptr = (CUdeviceptr)(uintptr_t)out;
	op[1].extent = (CUextent3D){ 3, 2, 1 };
	CU(cuMemcpy3DBatchAsync(2, op, 0, s));
	CU(cuStreamSynchronize(s));
	ok(out[0][0] == 12 && out[0][2] == 14 && out[1][0] == 22 && out[1][2] == 24);
	op[1].extent.width = 7;
	FAILS(cuMemcpy3DBatchAsync(2, op, 0, s), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemcpy3DBatchAsync(0, op, 0, s), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemcpy3DBatchAsync(2, op, 1, s), CUDA_ERROR_INVALID_VALUE);
	CU(cuStreamDestroy(s));
	CU(cuArrayDestroy(array));
}

int main(void)
{
	size_t before;

	soft_begin("2", "64M");
	soft_context();
	before = soft_free();
	CU(cuGetProcAddress("cuMemAdvise", (void **)&advise, 8000, 0, NULL));
	CU(cuGetProcAddress("cuMemPrefetchAsync", (void **)&prefetch, 8000, 0, NULL));
	host_access();
	advice();
	attach();
	prefetch_batch();
	copy_batch();
	box_batch();
	is(soft_free(), before);
	return soft_end();
}
