/*
 * cluster.c: see cluster.h. Also what programs ask beforehand: how large clusters may be, and how many fit.
 *
 * As on real devices a cluster has at most 8 blocks, and 16 for functions that ask for it.
 */
#include "softdev/cluster.h"

#include <string.h>

#define CLUSTER_PORTABLE 8u
#define CLUSTER_MOST 16u

static unsigned most_blocks(const struct function *f)
{
	return f->settings.non_portable ? CLUSTER_MOST : CLUSTER_PORTABLE;
}

/* What the launch asks for, or what the kernel was compiled for. */
static const uint32_t *cluster_size(const struct launch *l, const struct function *f)
{
	return l->cluster[0] ? l->cluster : f->kernel->cluster;
}

static CUresult size_check(const uint32_t size[3], const struct function *f)
{
	const uint32_t *own = f->kernel->cluster;
	uint64_t count = 1;

	if (!size[0])
		return CUDA_SUCCESS;
	for (int i = 0; i < 3; i++) {
		if (!size[i] || size[i] > CLUSTER_MOST || (own[0] && size[i] != own[i]))
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
		count *= size[i];
	}
	return count > most_blocks(f) ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
}

CUresult cluster_check(const struct launch *l, const struct function *f)
{
	const uint32_t *size = cluster_size(l, f);
	CUresult e = size_check(size, f);

	if (e || !size[0])
		return e;
	for (int i = 0; i < 3; i++)
		if (l->grid[i] % size[i])
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult function_here(CUfunction h, struct function **ret)
{
	struct context *c;
	CUresult e = context_current(&c);

	return e ? e : function_find(h, c, ret);
}

/* Blocks of the launch that all SMs together hold. */
static CUresult resident_blocks(const CUlaunchConfig *config, const struct function *f, uint64_t *ret)
{
	uint64_t threads;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
	if (!threads || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (uint64_t)function_blocks_per_sm(f->kernel, (uint32_t)threads, config->sharedMemBytes) *
	       f->module->context->device->config->sm_count;
	return CUDA_SUCCESS;
}

CUresult soft_cuOccupancyMaxActiveClusters(int *ret, CUfunction h, const CUlaunchConfig *config)
{
	MODULES_STAY;
	struct launch l = { 0 };
	const uint32_t *size;
	CUevent event = NULL;
	struct function *f;
	uint64_t blocks;
	CUresult e = function_here(h, &f);

	if (e)
		return e;
	e = ret ? resident_blocks(config, f, &blocks) : CUDA_ERROR_INVALID_VALUE;
	if (!e)
		e = launch_attributes(config, &l, &event);
	if (e)
		return e;
	size = cluster_size(&l, f);
	e = size_check(size, f);
	if (!e)
		*ret = (int)(size[0] ? blocks / ((uint64_t)size[0] * size[1] * size[2]) : blocks);
	return e;
}

CUresult soft_cuOccupancyMaxPotentialClusterSize(int *ret, CUfunction h, const CUlaunchConfig *config)
{
	MODULES_STAY;
	struct function *f;
	uint64_t blocks;
	unsigned most;
	CUresult e = function_here(h, &f);

	if (e)
		return e;
	e = ret ? resident_blocks(config, f, &blocks) : CUDA_ERROR_INVALID_VALUE;
	if (e)
		return e;
	for (most = most_blocks(f); most > blocks; most /= 2)
		;
	*ret = (int)most;
	return CUDA_SUCCESS;
}
