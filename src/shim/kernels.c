/*
 * kernels.c: the calls that launch kernels. cuLaunchKernel is kept short: a launch within an open turn costs two
 * additions in memory, and nothing but a look at the gate where nothing is limited.
 */
#include "cuda_shim.h"
#include "shim/launches.h"

#include <string.h>

#define GRAPH_SEED 0x6772617068u

/* What names a kind of kernel launch. Independent products: they overlap in the processor. */
static inline uint64_t kind_of(CUfunction f, uint64_t grid_xy, uint64_t grid_z_block_x, uint64_t block_yz,
			       uint64_t shared)
{
	uint64_t h = (uint64_t)(uintptr_t)f * 0x9e3779b97f4a7c15u + grid_xy * 0xc2b2ae3d27d4eb4fu +
		     grid_z_block_x * 0x165667b19e3779f9u + (block_yz ^ shared << 32) * 0xd6e8feb86659fd93u;

	h ^= h >> 32;
	return h * 0xd6e8feb86659fd93u | 1;
}

struct shape {
	unsigned int grid[3], block[3], shared;
};

static inline uint64_t shape_kind(CUfunction f, const struct shape *s)
{
	return kind_of(f, s->grid[0] | (uint64_t)s->grid[1] << 32, s->grid[2] | (uint64_t)s->block[0] << 32,
		       s->block[1] | (uint64_t)s->block[2] << 16, s->shared);
}

static inline struct work kernel_work(CUfunction f, const struct shape *s, CUstream stream, bool per_thread)
{
	uint64_t blocks = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];

	return (struct work){ .engine = WIRE_COMPUTE,
			      .key = shape_kind(f, s),
			      .family = (uint64_t)(uintptr_t)f,
			      .size = blocks,
			      .stream = stream,
			      .per_thread = per_thread,
			      .function = f,
			      .threads = blocks * s->block[0] * s->block[1] * s->block[2] };
}

static __attribute__((noinline)) void begin_slow(struct launch *l, CUfunction f, const struct shape *s, CUstream stream,
						 bool per_thread)
{
	struct work w = kernel_work(f, s, stream, per_thread);

	pace_begin_slow(l, &w);
}

static inline void begin(struct launch *l, CUfunction f, const struct shape *s, CUstream stream, bool per_thread)
{
	if (per_thread || !pace_begin_fast(l, WIRE_COMPUTE, shape_kind(f, s), stream))
		begin_slow(l, f, s, stream, per_thread);
}

static __attribute__((noinline)) CUresult launch_gated(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
						       unsigned int gridDimZ, unsigned int blockDimX,
						       unsigned int blockDimY, unsigned int blockDimZ,
						       unsigned int sharedMemBytes, CUstream hStream,
						       void **kernelParams, void **extra)
{
	struct shape shape = { { gridDimX, gridDimY, gridDimZ }, { blockDimX, blockDimY, blockDimZ }, sharedMemBytes };
	struct launch l;
	CUresult r;

	begin(&l, f, &shape, hStream, false);
	r = shim_real.cuLaunchKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes,
				     hStream, kernelParams, extra);
	pace_end(&l, r == CUDA_SUCCESS);
	return r;
}

CUresult shim_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
			     unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
			     unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
	if (__builtin_expect(pace_gated(WIRE_COMPUTE), 0))
		return launch_gated(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes,
				    hStream, kernelParams, extra);
	return shim_real.cuLaunchKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
					sharedMemBytes, hStream, kernelParams, extra);
}

static __attribute__((noinline)) CUresult launch_gated_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
							    unsigned int gridDimZ, unsigned int blockDimX,
							    unsigned int blockDimY, unsigned int blockDimZ,
							    unsigned int sharedMemBytes, CUstream hStream,
							    void **kernelParams, void **extra)
{
	struct shape shape = { { gridDimX, gridDimY, gridDimZ }, { blockDimX, blockDimY, blockDimZ }, sharedMemBytes };
	struct launch l;
	CUresult r;

	begin(&l, f, &shape, hStream, true);
	r = shim_real.cuLaunchKernel_ptsz(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
					  sharedMemBytes, hStream, kernelParams, extra);
	pace_end(&l, r == CUDA_SUCCESS);
	return r;
}

CUresult shim_cuLaunchKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
				  unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
				  unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
	if (__builtin_expect(pace_gated(WIRE_COMPUTE), 0))
		return launch_gated_ptsz(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
					 sharedMemBytes, hStream, kernelParams, extra);
	return shim_real.cuLaunchKernel_ptsz(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
					     sharedMemBytes, hStream, kernelParams, extra);
}

/* The other ways to launch ---------------------------------------------------------------------------------------- */

static void kernel_begin(struct launch *l, CUfunction f, const struct shape *shape, CUstream stream, bool per_thread)
{
	l->pace = NULL;
	if (pace_gated(WIRE_COMPUTE))
		begin(l, f, shape, stream, per_thread);
}

/* A launch without a description fails in the driver: nothing to wait for, but it is asked all the same. */
static CUstream config_shape(const CUlaunchConfig *c, struct shape *ret)
{
	memset(ret, 0, sizeof *ret);
	if (!c)
		return NULL;
	*ret = (struct shape){ { c->gridDimX, c->gridDimY, c->gridDimZ },
			       { c->blockDimX, c->blockDimY, c->blockDimZ },
			       c->sharedMemBytes };
	return c->hStream;
}

CUresult shim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
	struct shape shape;
	CUstream stream = config_shape(config, &shape);
	struct launch l;
	CUresult r;

	kernel_begin(&l, f, &shape, stream, false);
	r = shim_real.cuLaunchKernelEx(config, f, kernelParams, extra);
	pace_end(&l, r == CUDA_SUCCESS);
	return r;
}

CUresult shim_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
	struct shape shape;
	CUstream stream = config_shape(config, &shape);
	struct launch l;
	CUresult r;

	kernel_begin(&l, f, &shape, stream, true);
	r = shim_real.cuLaunchKernelEx_ptsz(config, f, kernelParams, extra);
	pace_end(&l, r == CUDA_SUCCESS);
	return r;
}

CUresult shim_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
					unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
					unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
					void **kernelParams)
{
	struct shape shape = { { gridDimX, gridDimY, gridDimZ }, { blockDimX, blockDimY, blockDimZ }, sharedMemBytes };
	struct launch l;
	CUresult r;

	kernel_begin(&l, f, &shape, hStream, false);
	r = shim_real.cuLaunchCooperativeKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
						sharedMemBytes, hStream, kernelParams);
	pace_end(&l, r == CUDA_SUCCESS);
	return r;
}

CUresult shim_cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
					     unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
					     unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
					     void **kernelParams)
{
	struct shape shape = { { gridDimX, gridDimY, gridDimZ }, { blockDimX, blockDimY, blockDimZ }, sharedMemBytes };
	struct launch l;
	CUresult r;

	kernel_begin(&l, f, &shape, hStream, true);
	r = shim_real.cuLaunchCooperativeKernel_ptsz(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
						     sharedMemBytes, hStream, kernelParams);
	pace_end(&l, r == CUDA_SUCCESS);
	return r;
}

/*
 * One kernel on several devices: it goes when each part has its device's turn. Parts beyond SPREAD_PARTS pass
 * uncounted.
 */
CUresult shim_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launchParamsList, unsigned int numDevices,
						   unsigned int flags)
{
	unsigned int parts = launchParamsList && pace_gated(WIRE_COMPUTE) ? numDevices : 0;
	struct work work[SPREAD_PARTS];
	struct launch l[SPREAD_PARTS];
	CUresult r;

	if (parts > SPREAD_PARTS)
		parts = SPREAD_PARTS;
	for (unsigned int i = 0; i < parts; i++) {
		const CUDA_LAUNCH_PARAMS *p = &launchParamsList[i];
		struct shape shape = { { p->gridDimX, p->gridDimY, p->gridDimZ },
				       { p->blockDimX, p->blockDimY, p->blockDimZ },
				       p->sharedMemBytes };

		work[i] = kernel_work(p->function, &shape, p->hStream, false);
	}
	if (parts)
		spread_parts_begin(l, work, parts);
	r = shim_real.cuLaunchCooperativeKernelMultiDevice(launchParamsList, numDevices, flags);
	for (unsigned int i = 0; i < parts; i++)
		pace_end(&l[i], r == CUDA_SUCCESS);
	return r;
}

/* The block's shape was set by earlier calls: one estimate for all of a function's. */
CUresult shim_cuLaunch(CUfunction f)
{
	struct shape shape = { { 1, 1, 1 }, { 0, 0, 0 }, 0 };
	struct launch l;
	CUresult r;

	kernel_begin(&l, f, &shape, NULL, false);
	r = shim_real.cuLaunch(f);
	pace_end(&l, r == CUDA_SUCCESS);
	return r;
}

CUresult shim_cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
	struct shape shape = { { (unsigned int)grid_width, (unsigned int)grid_height, 1 }, { 0, 0, 0 }, 0 };
	struct launch l;
	CUresult r;

	kernel_begin(&l, f, &shape, NULL, false);
	r = shim_real.cuLaunchGrid(f, grid_width, grid_height);
	pace_end(&l, r == CUDA_SUCCESS);
	return r;
}

CUresult shim_cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream)
{
	struct shape shape = { { (unsigned int)grid_width, (unsigned int)grid_height, 1 }, { 0, 0, 0 }, 0 };
	struct launch l;
	CUresult r;

	kernel_begin(&l, f, &shape, hStream, false);
	r = shim_real.cuLaunchGridAsync(f, grid_width, grid_height, hStream);
	pace_end(&l, r == CUDA_SUCCESS);
	return r;
}

/* A graph is one unit: it cannot be cut, and its nodes are not seen. */
static inline struct work graph_work(CUgraphExec exec, CUstream stream, bool per_thread)
{
	return (struct work){ .engine = WIRE_COMPUTE,
			      .key = estimate_mix(GRAPH_SEED, (uint64_t)(uintptr_t)exec) | 1,
			      .stream = stream,
			      .per_thread = per_thread,
			      .what = "graph" };
}

void graph_begin_spread(struct spread *s, CUgraphExec exec, CUstream stream, bool per_thread, uint32_t devices)
{
	struct work w = graph_work(exec, stream, per_thread);

	s->count = 0;
	if (pace_gated(WIRE_COMPUTE))
		spread_begin(s, &w, devices);
}

void graph_begin(struct launch *l, CUgraphExec exec, CUstream stream, bool per_thread)
{
	struct work w = graph_work(exec, stream, per_thread);

	l->pace = NULL;
	if (pace_gated(WIRE_COMPUTE) && (per_thread || !pace_begin_fast(l, WIRE_COMPUTE, w.key, stream)))
		pace_begin_slow(l, &w);
}
