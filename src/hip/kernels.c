/* kernels.c: the calls that launch kernels. Kept short where nothing is limited: a look at the gate. */
#include "core/spread.h"
#include "hip/work.h"

#include <string.h>

struct shape {
	uint32_t grid[3], block[3];
	uint64_t shared;
};

static uint64_t kind_of(const void *function, const struct shape *s)
{
	uint64_t h = estimate_mix((uint64_t)(uintptr_t)function, s->grid[0] | (uint64_t)s->grid[1] << 32);

	h = estimate_mix(h, s->grid[2] | (uint64_t)s->block[0] << 32);
	return estimate_mix(h, s->block[1] | (uint64_t)s->block[2] << 16 | s->shared << 32) | 1;
}

/* `module`: the function is a module's; else an address in the program that stands for one. */
static struct work kernel_work(const void *function, bool module, const struct shape *s, hipStream_t stream,
			       bool per_thread)
{
	uint64_t blocks = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];

	return (struct work){ .engine = WIRE_COMPUTE,
			      .key = kind_of(function, s),
			      .family = (uint64_t)(uintptr_t)function,
			      .size = blocks,
			      .stream = stream,
			      .per_thread = per_thread,
			      .function = module ? (void *)(uintptr_t)function : NULL,
			      .what = "kernel",
			      .threads = blocks * s->block[0] * s->block[1] * s->block[2] };
}

static __attribute__((noinline)) void begin_gated(struct launch *l, const void *function, bool module,
						  const struct shape *s, hipStream_t stream, bool per_thread)
{
	struct work w = kernel_work(function, module, s, stream, per_thread);

	if (!per_thread && pace_begin_fast(l, WIRE_COMPUTE, w.key, stream))
		return;
	if (!module && start_has(HIP_CALL_hipKernelNameRefByPtr))
		w.what = shim_real.hipKernelNameRefByPtr(function, stream);
	if (!w.what)
		w.what = "kernel";
	pace_begin_slow(l, &w);
}

static inline void begin(struct launch *l, const void *function, bool module, const struct shape *s, hipStream_t stream,
			 bool per_thread)
{
	l->pace = NULL;
	if (__builtin_expect(pace_gated(WIRE_COMPUTE), 0))
		begin_gated(l, function, module, s, stream, per_thread);
}

static inline hipError_t end(struct launch *l, hipError_t r)
{
	pace_end(l, r == hipSuccess);
	return r;
}

static inline struct shape shape_of(dim3 grid, dim3 block, uint64_t shared)
{
	return (struct shape){ { grid.x, grid.y, grid.z }, { block.x, block.y, block.z }, shared };
}

/* Functions of the program ------------------------------------------------------------------------------------------
 */

hipError_t shim_hipLaunchKernel(const void *function_address, dim3 numBlocks, dim3 dimBlocks, void **args,
				size_t sharedMemBytes, hipStream_t stream)
{
	struct shape s = shape_of(numBlocks, dimBlocks, sharedMemBytes);
	struct launch l;

	begin(&l, function_address, false, &s, stream, false);
	return end(&l, shim_real.hipLaunchKernel(function_address, numBlocks, dimBlocks, args, sharedMemBytes, stream));
}

hipError_t shim_hipLaunchKernel_spt(const void *function_address, dim3 numBlocks, dim3 dimBlocks, void **args,
				    size_t sharedMemBytes, hipStream_t stream)
{
	struct shape s = shape_of(numBlocks, dimBlocks, sharedMemBytes);
	struct launch l;

	begin(&l, function_address, false, &s, stream, true);
	return end(&l,
		   shim_real.hipLaunchKernel_spt(function_address, numBlocks, dimBlocks, args, sharedMemBytes, stream));
}

hipError_t shim_hipExtLaunchKernel(const void *function_address, dim3 numBlocks, dim3 dimBlocks, void **args,
				   size_t sharedMemBytes, hipStream_t stream, hipEvent_t startEvent,
				   hipEvent_t stopEvent, int flags)
{
	struct shape s = shape_of(numBlocks, dimBlocks, sharedMemBytes);
	struct launch l;

	begin(&l, function_address, false, &s, stream, false);
	return end(&l, shim_real.hipExtLaunchKernel(function_address, numBlocks, dimBlocks, args, sharedMemBytes,
						    stream, startEvent, stopEvent, flags));
}

/* The shape was set by earlier calls: one estimate for all launches of a function. */
hipError_t shim_hipLaunchByPtr(const void *func)
{
	struct shape s = { { 1, 1, 1 }, { 0, 0, 0 }, 0 };
	struct launch l;

	begin(&l, func, false, &s, NULL, false);
	return end(&l, shim_real.hipLaunchByPtr(func));
}

hipError_t shim_hipLaunchCooperativeKernel(const void *f, dim3 gridDim, dim3 blockDimX, void **kernelParams,
					   unsigned int sharedMemBytes, hipStream_t stream)
{
	struct shape s = shape_of(gridDim, blockDimX, sharedMemBytes);
	struct launch l;

	begin(&l, f, false, &s, stream, false);
	return end(&l,
		   shim_real.hipLaunchCooperativeKernel(f, gridDim, blockDimX, kernelParams, sharedMemBytes, stream));
}

hipError_t shim_hipLaunchCooperativeKernel_spt(const void *f, dim3 gridDim, dim3 blockDimX, void **kernelParams,
					       unsigned int sharedMemBytes, hipStream_t stream)
{
	struct shape s = shape_of(gridDim, blockDimX, sharedMemBytes);
	struct launch l;

	begin(&l, f, false, &s, stream, true);
	return end(&l, shim_real.hipLaunchCooperativeKernel_spt(f, gridDim, blockDimX, kernelParams, sharedMemBytes,
								stream));
}

hipError_t shim_hipLaunchKernelExC(const hipLaunchConfig_t *config, const void *fPtr, void **args)
{
	struct shape s =
		config ? shape_of(config->gridDim, config->blockDim, config->dynamicSmemBytes) : (struct shape){ 0 };
	struct launch l;

	begin(&l, fPtr, false, &s, config ? config->stream : NULL, false);
	return end(&l, shim_real.hipLaunchKernelExC(config, fPtr, args));
}

/*
 * One kernel on several devices: it goes when each part has its device's turn. Parts beyond SPREAD_PARTS pass
 * uncounted.
 */
static unsigned int parts_of(bool list, unsigned int count)
{
	if (!list || !pace_gated(WIRE_COMPUTE))
		return 0;
	return count < SPREAD_PARTS ? count : SPREAD_PARTS;
}

static hipError_t launch_list(hipError_t (*call)(hipLaunchParams *list, int count, unsigned int flags),
			      hipLaunchParams *list, int count, unsigned int flags)
{
	unsigned int parts = parts_of(list, count > 0 ? (unsigned int)count : 0);
	struct work work[SPREAD_PARTS];
	struct launch l[SPREAD_PARTS];
	hipError_t r;

	for (unsigned int i = 0; i < parts; i++) {
		struct shape s = shape_of(list[i].gridDim, list[i].blockDim, list[i].sharedMem);

		work[i] = kernel_work(list[i].func, false, &s, list[i].stream, false);
	}
	if (parts)
		spread_parts_begin(l, work, parts);
	r = call(list, count, flags);
	for (unsigned int i = 0; i < parts; i++)
		end(&l[i], r);
	return r;
}

hipError_t shim_hipLaunchCooperativeKernelMultiDevice(hipLaunchParams *launchParamsList, int numDevices,
						      unsigned int flags)
{
	return launch_list(shim_real.hipLaunchCooperativeKernelMultiDevice, launchParamsList, numDevices, flags);
}

hipError_t shim_hipExtLaunchMultiKernelMultiDevice(hipLaunchParams *launchParamsList, int numDevices,
						   unsigned int flags)
{
	return launch_list(shim_real.hipExtLaunchMultiKernelMultiDevice, launchParamsList, numDevices, flags);
}

/* Functions of modules ----------------------------------------------------------------------------------------------
 */

hipError_t shim_hipModuleLaunchKernel(hipFunction_t f, unsigned int gridDimX, unsigned int gridDimY,
				      unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
				      unsigned int blockDimZ, unsigned int sharedMemBytes, hipStream_t stream,
				      void **kernelParams, void **extra)
{
	struct shape s = { { gridDimX, gridDimY, gridDimZ }, { blockDimX, blockDimY, blockDimZ }, sharedMemBytes };
	struct launch l;

	begin(&l, f, true, &s, stream, false);
	return end(&l, shim_real.hipModuleLaunchKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
						       sharedMemBytes, stream, kernelParams, extra));
}

hipError_t shim_hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned int gridDimX, unsigned int gridDimY,
						 unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
						 unsigned int blockDimZ, unsigned int sharedMemBytes,
						 hipStream_t stream, void **kernelParams)
{
	struct shape s = { { gridDimX, gridDimY, gridDimZ }, { blockDimX, blockDimY, blockDimZ }, sharedMemBytes };
	struct launch l;

	begin(&l, f, true, &s, stream, false);
	return end(&l, shim_real.hipModuleLaunchCooperativeKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY,
								  blockDimZ, sharedMemBytes, stream, kernelParams));
}

hipError_t shim_hipModuleLaunchCooperativeKernelMultiDevice(hipFunctionLaunchParams *list, unsigned int numDevices,
							    unsigned int flags)
{
	unsigned int parts = parts_of(list, numDevices);
	struct work work[SPREAD_PARTS];
	struct launch l[SPREAD_PARTS];
	hipError_t r;

	for (unsigned int i = 0; i < parts; i++) {
		const hipFunctionLaunchParams *p = &list[i];
		struct shape s = { { p->gridDimX, p->gridDimY, p->gridDimZ },
				   { p->blockDimX, p->blockDimY, p->blockDimZ },
				   p->sharedMemBytes };

		work[i] = kernel_work(p->function, true, &s, p->hStream, false);
	}
	if (parts)
		spread_parts_begin(l, work, parts);
	r = shim_real.hipModuleLaunchCooperativeKernelMultiDevice(list, numDevices, flags);
	for (unsigned int i = 0; i < parts; i++)
		end(&l[i], r);
	return r;
}

/* These count threads, not blocks. */
static struct shape shape_of_threads(const uint32_t global[3], const uint32_t local[3], uint64_t shared)
{
	struct shape s = { .shared = shared };

	for (int i = 0; i < 3; i++) {
		s.block[i] = local[i];
		s.grid[i] = local[i] ? (uint32_t)(((uint64_t)global[i] + local[i] - 1) / local[i]) : global[i];
	}
	return s;
}

#define EXT_PARAMETERS                                                                                                 \
	hipFunction_t f, uint32_t globalWorkSizeX, uint32_t globalWorkSizeY, uint32_t globalWorkSizeZ,                 \
		uint32_t localWorkSizeX, uint32_t localWorkSizeY, uint32_t localWorkSizeZ, size_t sharedMemBytes,      \
		hipStream_t hStream, void **kernelParams, void **extra, hipEvent_t startEvent, hipEvent_t stopEvent
#define EXT_ARGUMENTS                                                                                                  \
	f, globalWorkSizeX, globalWorkSizeY, globalWorkSizeZ, localWorkSizeX, localWorkSizeY, localWorkSizeZ,          \
		sharedMemBytes, hStream, kernelParams, extra, startEvent, stopEvent

static hipError_t launch_threads(hipError_t (*call)(EXT_PARAMETERS, uint32_t flags), EXT_PARAMETERS, uint32_t flags)
{
	const uint32_t global[3] = { globalWorkSizeX, globalWorkSizeY, globalWorkSizeZ };
	const uint32_t local[3] = { localWorkSizeX, localWorkSizeY, localWorkSizeZ };
	struct shape s = shape_of_threads(global, local, sharedMemBytes);
	struct launch l;

	begin(&l, f, true, &s, hStream, false);
	return end(&l, call(EXT_ARGUMENTS, flags));
}

hipError_t shim_hipExtModuleLaunchKernel(EXT_PARAMETERS, uint32_t flags)
{
	return launch_threads(shim_real.hipExtModuleLaunchKernel, EXT_ARGUMENTS, flags);
}

/* The same two under the names that C++ gives them, which headers before ROCm 6 declare. */
#define CPP_EXT _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j
#define CPP_HCC _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_
#define JOINED(a, b) a##b
#define OURS(name) JOINED(shim_, name)

hipError_t OURS(CPP_EXT)(EXT_PARAMETERS, uint32_t flags)
{
	return launch_threads(shim_real.CPP_EXT, EXT_ARGUMENTS, flags);
}

static hipError_t without_flags(EXT_PARAMETERS, uint32_t flags)
{
	(void)flags;
	return shim_real.CPP_HCC(EXT_ARGUMENTS);
}

hipError_t OURS(CPP_HCC)(EXT_PARAMETERS)
{
	return launch_threads(without_flags, EXT_ARGUMENTS, 0);
}

hipError_t shim_hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG *config, hipFunction_t f, void **params, void **extra)
{
	struct shape s = { 0 };
	struct launch l;

	if (config)
		s = (struct shape){ { config->gridDimX, config->gridDimY, config->gridDimZ },
				    { config->blockDimX, config->blockDimY, config->blockDimZ },
				    config->sharedMemBytes };
	begin(&l, f, true, &s, config ? config->hStream : NULL, false);
	return end(&l, shim_real.hipDrvLaunchKernelEx(config, f, params, extra));
}
