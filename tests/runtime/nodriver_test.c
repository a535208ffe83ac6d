/* nodriver_test.c: a program with the runtime where there is no driver: documented errors, no crash. */
#include "base/tap.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

int main(void)
{
	void *p = NULL;
	int n = 7;
	struct dim3 one = { 1, 1, 1 };

	if (dlopen("libcuda.so.1", RTLD_NOW)) {
		printf("1..0 # SKIP this machine has a driver\n");
		return 0;
	}
	tap_begin();
	is(cudaDriverGetVersion(&n), cudaSuccess);
	is(n, 0);
	is(cudaGetDeviceCount(&n), cudaErrorInsufficientDriver);
	is(n, 0);
	is(cudaGetLastError(), cudaErrorInsufficientDriver);
	is(cudaMalloc(&p, 4), cudaErrorInsufficientDriver);
	is(cudaSetDevice(0), cudaErrorInsufficientDriver);
	is(cudaLaunchKernel(&p, one, one, NULL, 0, NULL), cudaErrorInsufficientDriver);
	is(cudaDeviceSynchronize(), cudaErrorInsufficientDriver);
	is(cudaStreamCreate((cudaStream_t *)&p), cudaErrorInsufficientDriver);
	is(cudaRuntimeGetVersion(&n), cudaSuccess);
	is(n, CUDART_VERSION);
	return tap_end();
}
