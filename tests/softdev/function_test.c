/* function_test.c: attributes of functions, occupancy against a count by hand, and every way to launch wrongly. */
#include "softdev/soft.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define KIB 1024

static const char ptx[] = ".version 7.8\n"
			  ".target sm_70\n"
			  ".address_size 64\n"
			  ".extern .shared .align 4 .b8 dynamic[];\n"
			  ".visible .entry plain(.param .u64 p, .param .u32 n)\n"
			  "{ ret; }\n"
			  ".visible .entry fixed()\n"
			  "{ .shared .align 4 .b8 s[40000]; .reg .b32 %r; st.shared.u32 [s], %r; ret; }\n"
			  ".visible .entry bounded() .maxntid 256, 1, 1 { ret; }\n"
			  ".visible .entry exact() .reqntid 32, 2, 1 { ret; }\n"
			  ".visible .entry none() { ret; }\n";

static CUmodule module;

static CUfunction function(const char *name)
{
	CUfunction f = NULL;

	CU(cuModuleGetFunction(&f, module, name));
	return f;
}

static int attribute(CUfunction f, CUfunction_attribute a)
{
	int value = -100;

	CU(cuFuncGetAttribute(&value, a, f));
	return value;
}

static int device_attribute(CUdevice_attribute a)
{
	int value = -1;

	CU(cuDeviceGetAttribute(&value, a, 0));
	return value;
}

static void attributes(void)
{
	CUfunction f = function("fixed");

	is(attribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 40000);
	is(attribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 48 * KIB - 40000);
	CU(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * KIB - 40000));
	is(attribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 227 * KIB - 40000);
	FAILS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * KIB - 40000 + 1),
	      CUDA_ERROR_INVALID_VALUE);
	FAILS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 32), CUDA_ERROR_INVALID_VALUE);
	CU(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
	is(attribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), 50);
	FAILS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101), CUDA_ERROR_INVALID_VALUE);
	CU(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
	is(attribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED), 1);
	is(attribute(function("bounded"), CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 256);
	is(attribute(function("plain"), CU_FUNC_ATTRIBUTE_PTX_VERSION), 70);
	is(attribute(function("plain"), CU_FUNC_ATTRIBUTE_BINARY_VERSION), 120);
	CU(cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_SHARED));
	FAILS(cuFuncSetCacheConfig(f, (CUfunc_cache)7), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, f), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuFuncGetAttribute(&(int){ 0 }, (CUfunction_attribute)99, f), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuFuncGetAttribute(&(int){ 0 }, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL), CUDA_ERROR_INVALID_HANDLE);
	/* A kernel has its own, for each device. */
	{
		CUlibrary l;
		CUkernel k;
		int value;

		CU(cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
		CU(cuLibraryGetKernel(&k, l, "fixed"));
		CU(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 * KIB, k, 0));
		CU(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 25, k, 0));
		CU(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k, 0));
		is(value, 100 * KIB);
		CU(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, k, 0));
		is(value, 25);
		CU(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k, 1));
		is(value, 48 * KIB - 40000);
		FAILS(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, k, 2), CUDA_ERROR_INVALID_DEVICE);
		FAILS(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20, k, 0),
		      CUDA_ERROR_INVALID_VALUE);
		CU(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 100 * KIB, NULL, NULL, NULL));
		FAILS(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 100 * KIB + 1, NULL, NULL, NULL),
		      CUDA_ERROR_INVALID_VALUE);
		CU(cuCtxSynchronize());
		CU(cuLibraryUnload(l));
	}
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* From what the device and the function say of themselves. */
static int blocks_by_hand(CUfunction f, int threads, int dynamic)
{
	int warps = (threads + 31) / 32;
	int registers = (attribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS) + 7) / 8 * 8 * warps * 32;
	int shared = attribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) + dynamic;
	int reserved = device_attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
	int per_block = (shared + 127) / 128 * 128 + reserved;
	int blocks = device_attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);

	if (threads > attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
	    shared > device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
		return 0;
	blocks = least(blocks, device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / (warps * 32));
	blocks = least(blocks, device_attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / registers);
	return least(blocks, device_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / per_block);
}

static size_t quarter_kib_per_thread(int threads)
{
	return (size_t)threads * 256;
}

static void occupancy(void)
{
	static const char *const names[] = { "plain", "fixed", "bounded" };
	static const int threads[] = { 1, 32, 33, 64, 100, 256, 257, 512, 768, 1024, 1025 };
	static const int dynamic[] = { 0, 1, 1000, 8 * KIB, 48 * KIB, 100 * KIB, 187 * KIB, 227 * KIB, 300 * KIB };
	int wrong = 0, value, grid, block, sms = device_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	size_t room;

	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < sizeof(threads) / sizeof(int); j++)
			for (size_t k = 0; k < sizeof(dynamic) / sizeof(int); k++) {
				CUfunction f = function(names[i]);

				wrong += cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, threads[j],
										     (size_t)dynamic[k]) ||
					 value != blocks_by_hand(f, threads[j], dynamic[k]);
			}
	is(wrong, 0);
	/* As much dynamic memory as leaves so many blocks: the number fits, the next piece does not. */
	for (int blocks = 1; blocks <= 8; blocks++) {
		CUfunction f = function("plain");

		CU(cuOccupancyAvailableDynamicSMemPerBlock(&room, f, blocks, 128));
		CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 128, room));
		ok(value >= blocks);
		CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 128, room + 128));
		ok(value < blocks);
	}
	FAILS(cuOccupancyAvailableDynamicSMemPerBlock(&room, function("plain"), 3, 1024), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuOccupancyAvailableDynamicSMemPerBlock(&room, function("plain"), 0, 32), CUDA_ERROR_INVALID_VALUE);
	CU(cuOccupancyMaxPotentialBlockSize(&grid, &block, function("plain"), NULL, 0, 0));
	is(block, 1024);
	is(grid, 2 * sms);
	CU(cuOccupancyMaxPotentialBlockSize(&grid, &block, function("plain"), NULL, 0, 300));
	ok(block <= 300 && grid % sms == 0 && grid / sms * block >= 1792);
	CU(cuOccupancyMaxPotentialBlockSize(&grid, &block, function("bounded"), NULL, 0, 0));
	is(block, 256);
	is(grid, 8 * sms);
	/* The memory grows with the block: 908 threads at once at most, less what each block takes for itself. */
	CU(cuOccupancyMaxPotentialBlockSize(&grid, &block, function("plain"), quarter_kib_per_thread, 0, 0));
	is(grid / sms * block, 896);
	FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function("plain"), 0, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, function("plain"), 32, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&value, function("plain"), 32, 0, 2),
	      CUDA_ERROR_INVALID_VALUE);
	CU(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&value, function("plain"), 32, 0,
								CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE));
}

static CUresult launch(const char *name, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		       unsigned shared)
{
	return cuLaunchKernel(function(name), gx, gy, gz, bx, by, bz, shared, NULL, NULL, NULL);
}

static void shapes(void)
{
	CU(launch("none", 2147483647 / 65536, 1, 1, 1, 1, 1, 0));
	FAILS(launch("none", 1, 65536, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(launch("none", 1, 1, 65536, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(launch("none", 1u << 31, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(launch("none", 1, 0, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(launch("none", 1, 1, 1, 1, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(launch("none", 1, 1, 1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(launch("none", 1, 1, 1, 33, 32, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CU(launch("none", 1, 1, 1, 4, 4, 64, 0));
	FAILS(launch("bounded", 1, 1, 1, 257, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CU(launch("bounded", 1, 1, 1, 16, 16, 1, 0));
	CU(launch("exact", 1, 1, 1, 32, 2, 1, 0));
	FAILS(launch("exact", 1, 1, 1, 64, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(launch("none", 1, 1, 1, 32, 1, 1, 48 * KIB + 1), CUDA_ERROR_INVALID_VALUE);
	CU(launch("none", 1, 1, 1, 32, 1, 1, 48 * KIB));
	CU(cuCtxSynchronize());
}

static void parameters(void)
{
	CUfunction f = function("plain");
	CUdeviceptr p = 0;
	unsigned n = 0;
	void *params[] = { &p, &n }, *half[] = { &p, NULL };
	char packed[16] = { 0 };
	size_t bytes = 12;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			  CU_LAUNCH_PARAM_END };
	void *no_size[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_END };
	void *strange[] = { (void *)7, packed, CU_LAUNCH_PARAM_END };

	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	bytes = 11; /* one byte of the last parameter is missing */
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
	bytes = 16;
	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, half, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, no_size), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, strange), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, (CUstream)(uintptr_t)0x1000, params, NULL),
	      CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
	CU(cuCtxSynchronize());
}

static void extended(void)
{
	CUlaunchAttribute a[3];
	CUlaunchConfig c = {
		.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1
	};
	CUfunction f = function("none");
	CUevent event, gone;
	int sms = device_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);

	memset(a, 0, sizeof(a));
	CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CU(cuEventCreate(&gone, CU_EVENT_DISABLE_TIMING));
	CU(cuEventDestroy(gone));
	c.attrs = a;
	c.numAttrs = 3;
	/* Hints are taken and forgotten; a cluster of one block is none. */
	a[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
	a[0].value.priority = -1;
	a[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
	a[1].value.clusterDim.x = a[1].value.clusterDim.y = a[1].value.clusterDim.z = 1;
	a[2].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
	a[2].value.programmaticStreamSerializationAllowed = 1;
	CU(cuLaunchKernelEx(&c, f, NULL, NULL));
	a[2].id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
	a[2].value.launchCompletionEvent.event = event;
	a[2].value.launchCompletionEvent.flags = 0;
	CU(cuLaunchKernelEx(&c, f, NULL, NULL));
	CU(cuEventSynchronize(event));
	a[2].value.launchCompletionEvent.event = gone;
	FAILS(cuLaunchKernelEx(&c, f, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
	a[2].id = (CUlaunchAttributeID)1000;
	FAILS(cuLaunchKernelEx(&c, f, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	a[2].id = CU_LAUNCH_ATTRIBUTE_IGNORE;
	a[0].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
	a[0].value.cooperative = 1;
	c.blockDimX = 1024;
	c.gridDimX = (unsigned)(2 * sms);
	CU(cuLaunchKernelEx(&c, f, NULL, NULL));
	c.gridDimX++;
	FAILS(cuLaunchKernelEx(&c, f, NULL, NULL), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	FAILS(cuLaunchCooperativeKernel(f, c.gridDimX, 1, 1, 1024, 1, 1, 0, NULL, NULL),
	      CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	FAILS(cuLaunchKernelEx(NULL, f, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	c.attrs = NULL;
	FAILS(cuLaunchKernelEx(&c, f, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(event));
}

/* More static shared memory than any block may have without asking: the image is refused. */
static void too_much_shared(void)
{
	CUmodule m;

	CU(cuModuleLoadData(&m, ".version 7.0\n.target sm_70\n.address_size 64\n"
				".visible .entry f() { .shared .align 4 .b8 s[49152]; .reg .b32 %r; "
				"st.shared.u32 [s], %r; ret; }\n"));
	CU(cuModuleUnload(m));
	FAILS(cuModuleLoadData(&m, ".version 7.0\n.target sm_70\n.address_size 64\n"
				   ".visible .entry f() { .shared .align 4 .b8 s[49156]; .reg .b32 %r; "
				   "st.shared.u32 [s], %r; ret; }\n"),
	      CUDA_ERROR_INVALID_PTX);
}

int main(void)
{
	soft_begin("2", "64M");
	soft_context();
	CU(cuModuleLoadData(&module, ptx));
	attributes();
	occupancy();
	shapes();
	parameters();
	extended();
	too_much_shared();
	CU(cuModuleUnload(module));
	return soft_end();
}
