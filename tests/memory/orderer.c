/*
 * orderer.c: memory that is freed in the order of a stream, behind a kernel that runs until a line comes on standard
 * input: another stream does not get it before the kernel has ended, the same stream does at once. The last line says
 * how many answers were wrong.
 */
#include <cuda.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry wait(.param .u64 p) {\n"
			  "	.reg .u32 %r; .reg .u64 %d; .reg .pred %q;\n"
			  "	ld.param.u64 %d, [p];\n"
			  "again: ld.volatile.global.u32 %r, [%d]; setp.eq.u32 %q, %r, 0; @%q bra again; ret;\n}\n";

#define BYTES 65536u

static unsigned int wrong;

static void must(CUresult r, const char *what)
{
	if (!r)
		return;
	printf("%s: %d\n", what, (int)r);
	fflush(stdout);
	exit(1);
}

static void is(bool good, const char *what)
{
	if (!good)
		printf("%s\n", what);
	wrong += !good;
}

static uint64_t reserved(CUmemoryPool pool)
{
	uint64_t bytes = 0;

	must(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes), "cuMemPoolGetAttribute");
	return bytes;
}

/* A pool keeps what is freed where its threshold says so, gives it to any stream, and gives it back when it is told. */
static void keep(CUmemoryPool pool, CUstream stream)
{
	uint64_t threshold = UINT64_MAX;
	CUdeviceptr at, again;

	is(!reserved(pool), "a pool without a threshold keeps memory");
	must(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold), "cuMemPoolSetAttribute");
	must(cuMemAllocAsync(&at, BYTES, stream), "cuMemAllocAsync");
	must(cuMemFreeAsync(at, stream), "cuMemFreeAsync");
	must(cuStreamSynchronize(stream), "cuStreamSynchronize");
	is(reserved(pool) == BYTES, "a pool with a threshold keeps nothing");
	must(cuMemAllocAsync(&again, BYTES, NULL), "cuMemAllocAsync");
	is(again == at, "what a pool keeps is given to nobody");
	must(cuMemFreeAsync(again, NULL), "cuMemFreeAsync");
	must(cuStreamSynchronize(NULL), "cuStreamSynchronize");
	must(cuMemPoolTrimTo(pool, 0), "cuMemPoolTrimTo");
	is(!reserved(pool), "what a pool keeps is not given back when it is trimmed");
}

static void come_and_go(CUstream stream, size_t bytes)
{
	CUdeviceptr at;

	must(cuMemAllocAsync(&at, bytes, stream), "cuMemAllocAsync");
	must(cuMemFreeAsync(at, stream), "cuMemFreeAsync");
	must(cuStreamSynchronize(stream), "cuStreamSynchronize");
}

/* Blocks of ever another size: a pool keeps no more than its threshold, and takes what it keeps for them. */
static void keep_part(CUmemoryPool pool, CUstream stream)
{
	uint64_t threshold = 3 * BYTES, most = UINT64_MAX;

	must(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold), "cuMemPoolSetAttribute");
	for (unsigned int i = 0; i < 40; i++) {
		come_and_go(stream, BYTES + i * 512);
		is(reserved(pool) <= threshold, "a pool keeps more than its threshold");
	}
	must(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &most), "cuMemPoolSetAttribute");
	for (unsigned int i = 0; i < 40; i++)
		come_and_go(stream, BYTES + i * 512);
	is(reserved(pool) <= 4 * BYTES, "a pool takes new memory beside all that it keeps");
	must(cuMemPoolTrimTo(pool, 0), "cuMemPoolTrimTo");
}

/* What a pool has kept goes with it, and is no other pool's. */
static void destroy(const CUmemPoolProps *props, CUstream stream)
{
	uint64_t threshold = UINT64_MAX;
	CUmemoryPool pool;
	CUdeviceptr at;

	must(cuMemPoolCreate(&pool, props), "cuMemPoolCreate");
	must(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold), "cuMemPoolSetAttribute");
	must(cuMemAllocFromPoolAsync(&at, BYTES, pool, stream), "cuMemAllocFromPoolAsync");
	must(cuMemFreeAsync(at, stream), "cuMemFreeAsync");
	must(cuStreamSynchronize(stream), "cuStreamSynchronize");
	must(cuMemPoolDestroy(pool), "cuMemPoolDestroy");
	must(cuMemPoolCreate(&pool, props), "cuMemPoolCreate");
	is(!reserved(pool), "what a destroyed pool has kept is another pool's");
	must(cuMemPoolDestroy(pool), "cuMemPoolDestroy");
}

int main(void)
{
	CUdeviceptr word_at, freed, again, other, late, own;
	CUstream busy, free_one;
	volatile uint32_t *word;
	CUfunction wait_for;
	CUmemoryPool pool;
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUcontext context;
	CUmodule module;
	uint64_t used = 1;
	void *args[] = { &word_at };

	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&wait_for, module, "wait"), "cuModuleGetFunction");
	must(cuMemHostAlloc((void **)&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
	must(cuMemHostGetDevicePointer(&word_at, (void *)word, 0), "cuMemHostGetDevicePointer");
	must(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuStreamCreate(&free_one, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuMemPoolCreate(&pool, &props), "cuMemPoolCreate");
	must(cuMemAllocAsync(&freed, BYTES, busy), "cuMemAllocAsync");
	must(cuStreamSynchronize(busy), "cuStreamSynchronize");
	*word = 0;
	must(cuLaunchKernel(wait_for, 1, 1, 1, 1, 1, 1, 0, busy, args, NULL), "cuLaunchKernel");
	must(cuMemFreeAsync(freed, busy), "cuMemFreeAsync");
	is(cuMemFreeAsync(freed, busy) == CUDA_ERROR_INVALID_VALUE, "it is freed twice");
	puts("hangs");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	must(cuMemAllocAsync(&other, BYTES, free_one), "another stream's");
	is(other != freed, "another stream gets what a kernel may still use");
	must(cuMemAllocAsync(&again, BYTES, busy), "the same stream's");
	must(cuMemFreeAsync(again, busy), "cuMemFreeAsync");
	/* A pool that is destroyed lives as long as its memory. */
	must(cuMemAllocFromPoolAsync(&own, BYTES, pool, free_one), "cuMemAllocFromPoolAsync");
	must(cuMemPoolDestroy(pool), "cuMemPoolDestroy");
	is(cuMemAllocFromPoolAsync(&late, BYTES, pool, free_one) == CUDA_ERROR_INVALID_VALUE, "a destroyed pool gives");
	must(cuMemsetD32(own, 7, BYTES / 4), "its memory is there");
	must(cuMemFreeAsync(own, free_one), "its memory is freed");
	*word = 1;
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	must(cuMemFree(other), "what was allocated in order is freed at once");
	must(cuMemAllocAsync(&late, BYTES, free_one), "afterwards");
	must(cuMemsetD32Async(late, 7, BYTES / 4, free_one), "afterwards");
	must(cuMemFreeAsync(late, free_one), "afterwards");
	must(cuStreamSynchronize(free_one), "afterwards");
	must(cuDeviceGetDefaultMemPool(&pool, 0), "cuDeviceGetDefaultMemPool");
	must(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used), "cuMemPoolGetAttribute");
	is(!used, "the pool counts what was freed as used");
	keep(pool, free_one);
	keep_part(pool, free_one);
	destroy(&props, free_one);
	printf("wrong %u longest 0\n", wrong);
	return 0;
}
