/*
 * occupancy.c: occupancy by a function of the program's, and of clusters. What depends on numbers alone is asked once;
 * the search that calls the program's function is made here, out of such answers.
 */
#include "remote/client/context.h"
#include "remote/client/launches.h"

#include "cuda_remote.h"

#define WARP 32

/* The block size that fills a multiprocessor best; from the largest down, so that of equals the largest is taken. */
static CUresult search(CUfunction f, CUoccupancyB2DSize shared_of, size_t dynamic, int most, unsigned int flags,
		       int *ret_block, int *ret_blocks)
{
	int best_block = 0, best_blocks = 0;

	for (int threads = (most + WARP - 1) / WARP * WARP; threads > 0; threads -= WARP) {
		int block = threads < most ? threads : most, blocks = 0;
		CUresult r = client_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
			&blocks, f, block, shared_of ? shared_of(block) : dynamic, flags);

		if (r != CUDA_SUCCESS)
			return r;
		if (blocks * block > best_blocks * best_block) {
			best_blocks = blocks;
			best_block = block;
		}
	}
	*ret_block = best_block;
	*ret_blocks = best_blocks;
	return CUDA_SUCCESS;
}

CUresult client_cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize, CUfunction func,
							  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
							  size_t dynamicSMemSize, int blockSizeLimit,
							  unsigned int flags)
{
	int most = 0, blocks = 0, processors = 0;
	CUdevice device;
	CUresult r = client_cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, func);

	if (r != CUDA_SUCCESS)
		return r;
	if (!minGridSize || !blockSize || blockSizeLimit < 0 ||
	    flags & ~(unsigned int)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		return CUDA_ERROR_INVALID_VALUE;
	if (blockSizeLimit && blockSizeLimit < most)
		most = blockSizeLimit;
	r = client_cuCtxGetDevice(&device);
	if (r == CUDA_SUCCESS)
		r = client_cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
	if (r == CUDA_SUCCESS)
		r = search(func, blockSizeToDynamicSMemSize, dynamicSMemSize, most, flags, blockSize, &blocks);
	if (r == CUDA_SUCCESS)
		*minGridSize = blocks * processors;
	return r;
}

CUresult client_cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
						 CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
						 int blockSizeLimit)
{
	return client_cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
								blockSizeToDynamicSMemSize, dynamicSMemSize,
								blockSizeLimit, 0);
}

/* ---- clusters ---- */

static CUresult clusters(enum cuda_call call, int *ret, CUfunction f, const CUlaunchConfig *config)
{
	struct client_call c;
	struct launch l;
	struct function *function;
	uint64_t stream;
	int32_t n = 0;

	client_call(&c, call);
	client_use_current(&c);
	function = function_use(&c, f);
	if (function && (!ret || !config || (config->numAttrs && !config->attrs) ||
			 config->numAttrs > CODE_LAUNCH_ATTRIBUTES_MOST))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result != CUDA_SUCCESS)
		return client_end(&c);
	stream = client_use_stream(&c, config->hStream);
	l = launch_of(config);
	l.kind = CODE_LAUNCH_EX;
	l.function = function;
	if (client_begin_room(&c, true, launch_room(&l)) && launch_put(&c, &l, stream)) {
		client_send(&c);
		if (c.result == CUDA_SUCCESS)
			remote_get(&c.in, &n, sizeof(n));
	}
	if (client_end(&c) == CUDA_SUCCESS)
		*ret = n;
	return c.result;
}

CUresult client_cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func, const CUlaunchConfig *config)
{
	return clusters(CUDA_CALL_cuOccupancyMaxPotentialClusterSize, clusterSize, func, config);
}

CUresult client_cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func, const CUlaunchConfig *config)
{
	return clusters(CUDA_CALL_cuOccupancyMaxActiveClusters, numClusters, func, config);
}
