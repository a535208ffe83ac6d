/* What the runtime knows of devices and kernels: properties, attributes, occupancy, and launches that break the limits. */
#include "program.h"

#ifdef __CUDACC__

KERNEL plain(int *p)
{
	p[THREAD] = THREAD;
}

KERNEL __launch_bounds__(64) bounded(int *p)
{
	__shared__ int words[256];

	words[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	p[threadIdx.x] = words[63 - threadIdx.x];
}

CONSTANT int constants[8];

KERNEL hungry(int *p)
{
	extern __shared__ int words[];
	int own[100], i;

	for (i = 0; i < 100; i++)
		own[(i * 7 + p[0]) % 100] = i;
	words[threadIdx.x] = own[p[1] % 100] + constants[p[2] % 8];
	p[threadIdx.x] = words[threadIdx.x ^ 1];
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	struct cudaDeviceProp props;
	struct cudaFuncAttributes a;
	int *p = DEVICE_ALLOC(int, 4096), blocks = 0, fewer = 0, most;
	size_t dynamic = 0;

	CALL(cudaGetDeviceProperties(&props, 0));
	CHECK(props.name[0] && props.totalGlobalMem > 0 && props.warpSize == 32);
	CHECK(props.major == attribute(cudaDevAttrComputeCapabilityMajor) && props.minor == attribute(cudaDevAttrComputeCapabilityMinor));
	CHECK(props.multiProcessorCount == attribute(cudaDevAttrMultiProcessorCount));
	CHECK(props.maxThreadsPerBlock == attribute(cudaDevAttrMaxThreadsPerBlock) && props.maxThreadsPerBlock >= 512);
	most = (int)props.sharedMemPerBlock;
	CALL(cudaFuncGetAttributes(&a, (const void *)plain));
	CHECK(a.sharedSizeBytes == 0 && a.maxThreadsPerBlock >= 512 && a.numRegs > 0);
	CALL(cudaFuncGetAttributes(&a, (const void *)bounded));
	CHECK(a.sharedSizeBytes == 1024 && a.maxThreadsPerBlock == 64);
	CALL(cudaFuncGetAttributes(&a, (const void *)hungry));
	CHECK(a.localSizeBytes >= 400 && a.ptxVersion >= 70 && a.binaryVersion >= 70);
	CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)plain, 128, 0));
	CHECK(blocks >= 1 && blocks * 128 <= props.maxThreadsPerMultiProcessor);
	CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, (const void *)hungry, 32, most));
	CHECK(fewer >= 1 && (size_t)fewer * most <= props.sharedMemPerMultiprocessor);
	CALL(cudaOccupancyAvailableDynamicSMemPerBlock(&dynamic, (const void *)hungry, 1, 64));
	CHECK(dynamic > 0);
	CALL(cudaFuncSetAttribute((const void *)hungry, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
	CALL(cudaFuncSetCacheConfig((const void *)plain, cudaFuncCachePreferL1));

	GIVES(LAUNCH_ON(plain, 1, 4096, 0, 0, p), cudaErrorInvalidConfiguration);
	GIVES(LAUNCH_ON(plain, 0, 32, 0, 0, p), cudaErrorInvalidConfiguration);
	GIVES(LAUNCH_ON(plain, dim(1, 70000, 1), 32, 0, 0, p), cudaErrorInvalidConfiguration);
	GIVES(LAUNCH_ON(plain, 1, dim(1, 1, 128), 0, 0, p), cudaErrorInvalidConfiguration);
	GIVES(LAUNCH_ON(plain, 1, 32, 1 << 20, 0, p), cudaErrorInvalidValue);
	GIVES(LAUNCH_ON(bounded, 1, 128, 0, 0, p), cudaErrorInvalidValue);
	GIVES(cudaGetLastError(), cudaSuccess);
	GIVES(cudaMalloc((void **)&p, (size_t)1 << 50), cudaErrorMemoryAllocation);
	GIVES(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
	GIVES(cudaGetLastError(), cudaErrorMemoryAllocation);
	GIVES(cudaGetLastError(), cudaSuccess);
	GIVES(cudaFree((void *)0x1234500), cudaErrorInvalidValue);
	(void)cudaGetLastError();
	CHECK(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"));
	CHECK(strlen(cudaGetErrorString(cudaErrorMemoryAllocation)) > 5);
	/* nothing of it was sticky */
	CALL(cudaDeviceSynchronize());
	p = DEVICE_ALLOC(int, 64);
	LAUNCH(plain, 1, 64, p);
	LAUNCH(bounded, 1, 64, p);
	SYNC();
	return program_end();
}
