/* function.c: attributes and settings of kernels, and occupancy. */
#include "runtime/rt.h"

#include <string.h>

static cudaError_t attributes(CUfunction f, struct cudaFuncAttributes *a)
{
	struct {
		CUfunction_attribute attribute;
		int *to;
	} ints[] = {
		{ CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &a->maxThreadsPerBlock },
		{ CU_FUNC_ATTRIBUTE_NUM_REGS, &a->numRegs },
		{ CU_FUNC_ATTRIBUTE_PTX_VERSION, &a->ptxVersion },
		{ CU_FUNC_ATTRIBUTE_BINARY_VERSION, &a->binaryVersion },
		{ CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &a->cacheModeCA },
		{ CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &a->maxDynamicSharedSizeBytes },
		{ CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &a->preferredShmemCarveout },
#if CUDART_MAJOR >= 12
		{ CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &a->clusterDimMustBeSet },
		{ CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &a->requiredClusterWidth },
		{ CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &a->requiredClusterHeight },
		{ CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &a->requiredClusterDepth },
		{ CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, &a->clusterSchedulingPolicyPreference },
		{ CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &a->nonPortableClusterSizeAllowed },
#endif
	};
	struct {
		CUfunction_attribute attribute;
		size_t *to;
	} sizes[] = {
		{ CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &a->sharedSizeBytes },
		{ CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &a->constSizeBytes },
		{ CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &a->localSizeBytes },
	};
	int value;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		cudaError_t e = rt_error(rt_driver.cuFuncGetAttribute(&value, sizes[i].attribute, f));

		if (e)
			return e;
		*sizes[i].to = (size_t)value;
	}
	/* Those of clusters are younger than some drivers; what one does not know is zero. */
	for (size_t i = 0; i < sizeof(ints) / sizeof(*ints); i++)
		if (!rt_driver.cuFuncGetAttribute(&value, ints[i].attribute, f))
			*ints[i].to = value;
	return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
	struct cudaFuncAttributes a;
	CUfunction f;
	cudaError_t e = attr ? rt_func(func, &f) : cudaErrorInvalidValue;

	memset(&a, 0, sizeof(a));
	if (!e)
		e = attributes(f, &a);
	if (!e)
		*attr = a;
	return rt_done(e);
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
	CUfunction f;
	cudaError_t e = rt_func(func, &f);

	return rt_done(e ? e : rt_error(rt_driver.cuFuncSetAttribute(f, (CUfunction_attribute)attr, value)));
}

cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
	CUfunction f;
	cudaError_t e = rt_func(func, &f);

	return rt_done(e ? e : rt_error(rt_driver.cuFuncSetCacheConfig(f, (CUfunc_cache)cacheConfig)));
}

cudaError_t cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
	CUfunction f;
	cudaError_t e = rt_func(func, &f);

	return rt_done(e ? e : rt_error(rt_driver.cuFuncSetSharedMemConfig(f, (CUsharedconfig)config)));
}

#if CUDART_MAJOR >= 12
cudaError_t cudaFuncGetName(const char **name, const void *func)
{
	CUkernel k;
	cudaError_t e = name ? rt_kernel(func, &k) : cudaErrorInvalidValue;

	return rt_done(e ? e : rt_error(rt_driver.cuKernelGetName(name, k)));
}

cudaError_t cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
	CUkernel k;
	cudaError_t e = rt_kernel(func, &k);

	return rt_done(e ? e : rt_error(rt_driver.cuKernelGetParamInfo(k, paramIndex, paramOffset, paramSize)));
}
#endif

/* ---- occupancy ---- */

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func, int blockSize,
							  size_t dynamicSMemSize)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, 0);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func, int blockSize,
								   size_t dynamicSMemSize, unsigned int flags)
{
	CUfunction f;
	cudaError_t e = numBlocks ? rt_func(func, &f) : cudaErrorInvalidValue;

	return rt_done(e ? e
			 : rt_error(rt_driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
				   numBlocks, f, blockSize, dynamicSMemSize, flags)));
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func, int numBlocks,
						      int blockSize)
{
	CUfunction f;
	cudaError_t e = dynamicSmemSize ? rt_func(func, &f) : cudaErrorInvalidValue;

	return rt_done(e ? e
			 : rt_error(rt_driver.cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, f, numBlocks,
										      blockSize)));
}
