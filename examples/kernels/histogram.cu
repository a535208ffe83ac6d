/*
 * histogram.cu: how often each of the 256 byte values occurs.
 *
 * Each block counts in shared memory with atomics and adds its counts to the result with atomics at the end.
 */
extern "C" __global__ void histogram(unsigned int *count, const unsigned char *in, unsigned int n)
{
	__shared__ unsigned int own[256];

	for (unsigned int i = threadIdx.x; i < 256; i += blockDim.x)
		own[i] = 0;
	__syncthreads();
	for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&own[in[i]], 1u);
	__syncthreads();
	for (unsigned int i = threadIdx.x; i < 256; i += blockDim.x)
		if (own[i])
			atomicAdd(&count[i], own[i]);
}
