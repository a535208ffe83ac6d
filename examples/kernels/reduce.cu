/*
 * reduce.cu: the sum of n unsigned integers.
 *
 * Each thread sums a stride, each warp adds its 32 values by shuffles, the first warp adds the warps' sums, and one
 * thread per block adds the block's sum to *total with an atomic. blockDim.x must be a multiple of 32.
 */
static __device__ unsigned int warp_sum(unsigned int v)
{
	for (int d = 16; d > 0; d /= 2)
		v += __shfl_down_sync(0xffffffffu, v, d);
	return v;
}

extern "C" __global__ void reduce(unsigned long long *total, const unsigned int *in, unsigned int n)
{
	__shared__ unsigned int part[32];
	unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, v = 0;

	for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += in[i];
	v = warp_sum(v);
	if (lane == 0)
		part[warp] = v;
	__syncthreads();
	if (warp == 0) {
		v = warp_sum(lane < blockDim.x / 32 ? part[lane] : 0);
		if (lane == 0)
			atomicAdd(total, (unsigned long long)v);
	}
}
