/* globals.cu: variables in global and constant memory, read and written by kernels and by the host. */
extern "C" {
__device__ unsigned int counter = 41;
__device__ unsigned char large[8 << 20];
__constant__ unsigned int table[64] = { 7, 11, 13 };

__global__ void count(unsigned int by)
{
	atomicAdd(&counter, by);
}

__global__ void look_up(unsigned int *out)
{
	out[threadIdx.x] = table[threadIdx.x];
}

__global__ void touch_large(unsigned int value)
{
	large[sizeof large - 1] = (unsigned char)value;
}
}
