/*
 * launch.c: launches. A kernel goes to the driver as a handle that stands for a function, which every driver with
 * libraries takes; its parameters go as the pointers that the stub gave.
 */
#include "runtime/rt.h"

static bool extent_good(struct dim3 d, const int attribute[3], CUdevice device)
{
	unsigned size[3] = { d.x, d.y, d.z };

	for (int i = 0; i < 3; i++) {
		int most = 0;

		if (!size[i] || rt_driver.cuDeviceGetAttribute(&most, (CUdevice_attribute)attribute[i], device) ||
		    size[i] > (unsigned)most)
			return false;
	}
	return true;
}

/* A driver calls many things an invalid value; the runtime has a word of its own for a grid or block that cannot be. */
static cudaError_t refine(cudaError_t e, struct dim3 grid, struct dim3 block)
{
	static const int grid_most[3] = { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
					  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z };
	static const int block_most[3] = { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
					   CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z };
	CUdevice device = 0;
	int most = 0;

	if (e != cudaErrorInvalidValue || rt_driver.cuCtxGetDevice(&device))
		return e;
	rt_driver.cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
	if (!extent_good(grid, grid_most, device) || !extent_good(block, block_most, device) ||
	    (uint64_t)block.x * block.y * block.z > (uint64_t)most)
		return cudaErrorInvalidConfiguration;
	return e;
}

static cudaError_t launch(struct rt_function *f, struct dim3 grid, struct dim3 block, void **args, size_t shared_bytes,
			  cudaStream_t stream)
{
	cudaError_t e = rt_ready();
	CUkernel k;

	if (!e)
		e = rt_function_kernel(f, &k);
	if (e)
		return e;
	if (shared_bytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	e = rt_error(rt_driver.cuLaunchKernel((CUfunction)k, grid.x, grid.y, grid.z, block.x, block.y, block.z,
					      (unsigned)shared_bytes, stream, args, NULL));
	return __builtin_expect(e != cudaSuccess, 0) ? refine(e, grid, block) : e;
}

cudaError_t cudaLaunchKernel(const void *func, struct dim3 gridDim, struct dim3 blockDim, void **args, size_t sharedMem,
			     cudaStream_t stream)
{
	return rt_done(launch(rt_function_find(func), gridDim, blockDim, args, sharedMem, stream));
}

#if CUDART_MAJOR >= 12
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, struct dim3 gridDim, struct dim3 blockDim, void **args,
			       size_t sharedMem, cudaStream_t stream)
{
	return rt_done(launch((struct rt_function *)kernel, gridDim, blockDim, args, sharedMem, stream));
}
#endif

cudaError_t cudaLaunchCooperativeKernel(const void *func, struct dim3 gridDim, struct dim3 blockDim, void **args,
					size_t sharedMem, cudaStream_t stream)
{
	CUkernel k;
	cudaError_t e = rt_kernel(func, &k);

	if (!e && sharedMem > UINT32_MAX)
		e = cudaErrorInvalidValue;
	if (!e)
		e = rt_error(rt_driver.cuLaunchCooperativeKernel((CUfunction)k, gridDim.x, gridDim.y, gridDim.z,
								 blockDim.x, blockDim.y, blockDim.z,
								 (unsigned)sharedMem, stream, args));
	return rt_done(refine(e, gridDim, blockDim));
}

/* Attributes are the driver's, bit for bit: the layout is asserted, the numbers are the same in both APIs. */
_Static_assert(sizeof(struct cudaLaunchAttribute_st) == sizeof(CUlaunchAttribute), "launch attributes");

static cudaError_t config_make(const cudaLaunchConfig_t *config, CUlaunchConfig *ret)
{
	if (!config || config->dynamicSmemBytes > UINT32_MAX || (config->numAttrs && !config->attrs))
		return cudaErrorInvalidValue;
	*ret = (CUlaunchConfig){
		.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned)config->dynamicSmemBytes,
		.hStream = config->stream,
		.attrs = (CUlaunchAttribute *)config->attrs,
		.numAttrs = config->numAttrs,
	};
	return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	CUlaunchConfig c;
	CUkernel k;
	cudaError_t e = config ? rt_kernel(func, &k) : cudaErrorInvalidValue;

	if (!e)
		e = config_make(config, &c);
	if (e)
		return rt_done(e);
	e = rt_error(rt_driver.cuLaunchKernelEx(&c, (CUfunction)k, args, NULL));
	return rt_done(refine(e, config->gridDim, config->blockDim));
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	cudaLaunchConfig_t c;

	if (!config)
		return rt_done(cudaErrorInvalidValue);
	c = *config;
	c.stream = rt_stream_of_thread(c.stream);
	return cudaLaunchKernelExC(&c, func, args);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
	return RT_CALL(cuLaunchHostFunc, stream, fn, userData);
}

/* ---- clusters ---- */

typedef CUresult cluster_fn(int *, CUfunction, const CUlaunchConfig *);

static cudaError_t cluster_count(cluster_fn *ask, int *ret, const void *func, const cudaLaunchConfig_t *config)
{
	CUlaunchConfig c;
	CUfunction f;
	cudaError_t e = ret ? config_make(config, &c) : cudaErrorInvalidValue;

	if (!e)
		e = rt_func(func, &f);
	return rt_done(e ? e : rt_error(ask(ret, f, &c)));
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
						 const cudaLaunchConfig_t *launchConfig)
{
	cudaError_t e = rt_ready();

	return e ? rt_done(e)
		 : cluster_count(rt_driver.cuOccupancyMaxPotentialClusterSize, clusterSize, func, launchConfig);
}

cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, const void *func, const cudaLaunchConfig_t *launchConfig)
{
	cudaError_t e = rt_ready();

	return e ? rt_done(e) : cluster_count(rt_driver.cuOccupancyMaxActiveClusters, numClusters, func, launchConfig);
}
