// kernels.cu: what nvcc makes of kernels, variables and launches; linked with device.cu where device code is relocatable.
#include <cstdio>

#ifdef RELOCATABLE
extern __device__ int twice(int);
#else
__device__ int twice(int x)
{
	return 2 * x;
}
#endif

__constant__ int offsets[4];
__device__ int calls;
__managed__ int shared_words[4];

template <typename T> __global__ void map(T *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] = twice(p[i]) + offsets[i & 3];
	if (i == 0) {
		atomicAdd(&calls, 1);
		shared_words[1] = 77;
	}
}

__global__ void __launch_bounds__(128) reverse(int *p)
{
	extern __shared__ int s[];

	s[threadIdx.x] = threadIdx.x;
	__syncthreads();
	p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

static int failed;

static void check(bool good, int line, const char *what)
{
	if (!good)
		printf("line %d: %s (last error %s)\n", line, what, cudaGetErrorName(cudaPeekAtLastError()));
	failed |= !good;
}

#define CHECK(condition) check(condition, __LINE__, #condition)
#define CALL(call) check((call) == cudaSuccess, __LINE__, #call)

int main()
{
	int host[100], offset[4] = { 1, 2, 3, 4 }, *p = nullptr, value = -1, good = 0, blocks, threads;
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute[1];

	for (int i = 0; i < 100; i++)
		host[i] = i;
	shared_words[0] = 5;
	CALL(cudaMemcpyToSymbol(offsets, offset, sizeof(offset)));
	CALL(cudaMalloc(&p, sizeof(host)));
	CALL(cudaMemcpy(p, host, sizeof(host), cudaMemcpyHostToDevice));
	map<<<2, 64>>>(p, 100);
	CALL(cudaGetLastError());
	CALL(cudaDeviceSynchronize());
	CALL(cudaMemcpy(host, p, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 100; i++)
		good += host[i] == 2 * i + offset[i & 3];
	CHECK(good == 100);
	CALL(cudaMemcpyFromSymbol(&value, calls, sizeof(value)));
	CHECK(value == 1 && shared_words[0] == 5 && shared_words[1] == 77);
	CALL(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, map<int>, 0, 0));
	CHECK(threads > 0);
	CALL(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
	reverse<<<1, 100, 60000>>>(p);
	CALL(cudaMemcpy(&value, p, sizeof(value), cudaMemcpyDefault));
	CHECK(value == 99);
	reverse<<<1, 2000>>>(p);
	CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
	config.gridDim = 1;
	config.blockDim = 50;
	config.dynamicSmemBytes = 1000;
	attribute[0].id = cudaLaunchAttributeCooperative;
	attribute[0].val.cooperative = 1;
	config.attrs = attribute;
	config.numAttrs = 1;
	CALL(cudaLaunchKernelEx(&config, reverse, p));
	CALL(cudaMemcpy(&value, p, sizeof(value), cudaMemcpyDefault));
	CHECK(value == 49);
	if (!failed)
		printf("PASS\n");
	return failed;
}
