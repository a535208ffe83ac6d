/*
 * null_test.c: the skeleton of a driver, as a library: it exports every call and each one succeeds.
 *
 * Calls with many arguments get plausible ones; what a call gives out is zero, or not zero for a handle that it
 * creates.
 */
#include "base/tap.h"
#include "cuda_table.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	struct cuda_table driver;
	int missing = 0, count = 9;
	CUdeviceptr address = 0;
	CUstream stream = NULL;

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	tap_begin();
	for (int i = 0; i < CUDA_CALL_COUNT; i++) {
		((void **)&driver)[i] = dlsym(lib, cuda_call_name[i]);
		if (!((void **)&driver)[i])
			printf("# %s is not exported\n", cuda_call_name[i]), missing++;
	}
	is(missing, 0);
	is(driver.cuInit(0), CUDA_SUCCESS);
	is(driver.cuDeviceGetCount(&count), CUDA_SUCCESS);
	is(count, 0);
	is(driver.cuMemAlloc_v2(&address, 64), CUDA_SUCCESS);
	ok(address != 0);
	is(driver.cuMemAlloc_v2(NULL, 64), CUDA_SUCCESS);
	is(driver.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
	ok(stream != NULL);
	is(driver.cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL), CUDA_SUCCESS);
	is(driver.cuMemcpyHtoDAsync_v2_ptsz(address, &count, sizeof(count), stream), CUDA_SUCCESS);
	dlclose(lib);
	return tap_end();
}
