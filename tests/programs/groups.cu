/* nvcc only, -arch=compute_80: cooperative groups as the toolkit has them: the grid's barrier, tiles, coalesced threads; functions of its math. */
#include "program.h"
#include <math.h>

#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

KERNEL grid_sum(const unsigned *x, unsigned *parts, unsigned *total)
{
	cg::grid_group grid = cg::this_grid();
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
	unsigned sum = x[grid.thread_rank()];

	for (int step = 8; step; step /= 2)
		sum += tile.shfl_down(sum, step);
	if (tile.thread_rank() == 0)
		parts[grid.thread_rank() / 16] = sum;
	grid.sync();
	if (grid.thread_rank() == 0)
		for (unsigned i = 0; i < grid.size() / 16; i++)
			*total += parts[i];
	grid.sync();
	if (threadIdx.x % 3 == 0) {
		cg::coalesced_group some = cg::coalesced_threads();

		if (some.thread_rank() == 0)
			atomicAdd(total + 1, some.size());
	}
}

/* Tiles of several warps meet in shared memory that the device keeps for them. */
KERNEL tiles(const unsigned *x, unsigned *z)
{
	__shared__ cg::block_tile_memory<128> room;
	__shared__ unsigned own[128];
	extern __shared__ unsigned more[];
	cg::thread_block block = cg::this_thread_block(room);
	auto tile = cg::tiled_partition<64>(block);

	own[threadIdx.x] = more[threadIdx.x] = x[THREAD];
	z[THREAD] = cg::reduce(tile, x[THREAD], cg::plus<unsigned>()) + tile.shfl(x[THREAD], 63);
	tile.sync();
	z[THREAD] += own[threadIdx.x ^ 1] + more[threadIdx.x ^ 33];
}

KERNEL functions(const float *x, float *z, double *w)
{
	float a = x[THREAD];

	z[THREAD] = sinf(a) + expf(-a * a) * powf(fabsf(a), 0.3f) + atan2f(a, 2) + erff(a) + logf(1 + a * a);
	w[THREAD] = sin((double)a) + exp(-(double)a * a) * pow(fabs((double)a), 0.3) + cbrt((double)a) + tgamma(2 + fabs((double)a));
}
#endif

enum { N = 512 };

int main(void)
{
	static unsigned x[N];
	static float f[N], z[N];
	static double w[N];
	unsigned *dx, *dt = DEVICE_ALLOC(unsigned, N), tile[N], *parts = DEVICE_ALLOC(unsigned, N), *total = DEVICE_ALLOC(unsigned, 2), sum[2], wanted = 0, i;
	float *dz = DEVICE_ALLOC(float, N);
	double *dw = DEVICE_ALLOC(double, N);
	void *args[3];

	for (i = 0; i < N; i++) {
		wanted += x[i] = random32();
		f[i] = (float)(int32_t)random32() / 3e8f;
	}
	dx = DEVICE_COPY(unsigned, x);
	args[0] = &dx;
	args[1] = &parts;
	args[2] = &total;
	CALL(cudaLaunchCooperativeKernel((const void *)grid_sum, dim(N / 128, 1, 1), dim(128, 1, 1), args, 0, 0));
	BRING(sum, total);
	CHECK(sum[0] == wanted);
	CHECK(sum[1] == N / 128 * 43);
	CALL(LAUNCH_ON(tiles, N / 128, 128, 512, 0, dx, dt));
	BRING(tile, dt);
	for (i = 0; i < N; i++) {
		unsigned v = x[i / 64 * 64 + 63] + x[i ^ 1] + x[i ^ 33], k;

		for (k = 0; k < 64; k++)
			v += x[i / 64 * 64 + k];
		CHECK(tile[i] == v);
	}
	LAUNCH(functions, N / 128, 128, DEVICE_COPY(float, f), dz, dw);
	BRING(z, dz);
	BRING(w, dw);
	for (i = 0; i < N; i++) {
		double a = f[i], v = sin(a) + exp(-a * a) * pow(fabs(a), 0.3) + atan2(a, 2) + erf(a) + log(1 + a * a);

		CHECK(fabs(z[i] - v) < 1e-5);
		v = sin(a) + exp(-a * a) * pow(fabs(a), 0.3) + cbrt(a) + tgamma(2 + fabs(a));
		CHECK(fabs(w[i] - v) < 1e-12 * (1 + fabs(v)));
	}
	return program_end();
}
