/*
 * holder.c: a program that holds device memory when told to, for the NVML tests.
 *
 * holder ORDINAL: makes a context, prints "ready", then obeys lines on standard input: "alloc N" and "free" (all),
 * each answered with "ok" or with the driver's error, "work MS", answered at once while a kernel runs that long, and
 * "info", answered with cuMemGetInfo's total, free and the rest; ends with its input.
 */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One thread looks at the clock until the time is over. */
static const char busy_ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
			       ".visible .entry busy(.param .u64 ns)\n{\n"
			       ".reg .u64 %t<4>;\n.reg .pred %p;\n"
			       "ld.param.u64 %t0, [ns];\nmov.u64 %t1, %globaltimer;\nadd.u64 %t0, %t0, %t1;\n"
			       "again:\nmov.u64 %t1, %globaltimer;\nsetp.lt.u64 %p, %t1, %t0;\n@%p bra again;\nret;\n}\n";

static CUresult work(unsigned long long ms)
{
	unsigned long long ns = ms * 1000000;
	void *params[] = { &ns };
	CUfunction function;
	CUmodule module;
	CUresult r;

	r = cuModuleLoadData(&module, busy_ptx);
	if (r == CUDA_SUCCESS)
		r = cuModuleGetFunction(&function, module, "busy");
	return r == CUDA_SUCCESS ? cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) : r;
}

int main(int argc, char **argv)
{
	CUdeviceptr held[64];
	int count = 0, ordinal = argc > 1 ? atoi(argv[1]) : 0;
	size_t free_bytes, total_bytes;
	unsigned long long bytes;
	CUcontext context;
	CUdevice device;
	char line[64];
	CUresult r;

	r = cuInit(0);
	if (r == CUDA_SUCCESS)
		r = cuDeviceGet(&device, ordinal);
	if (r == CUDA_SUCCESS)
		r = cuDevicePrimaryCtxRetain(&context, device);
	if (r == CUDA_SUCCESS)
		r = cuCtxSetCurrent(context);
	if (r != CUDA_SUCCESS) {
		printf("error %d\n", r);
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "alloc %llu", &bytes) == 1 && count < 64) {
			r = cuMemAlloc(&held[count], bytes);
			count += r == CUDA_SUCCESS;
		} else if (!strcmp(line, "free\n")) {
			for (r = CUDA_SUCCESS; count && r == CUDA_SUCCESS; count--)
				r = cuMemFree(held[count - 1]);
		} else if (sscanf(line, "work %llu", &bytes) == 1) {
			r = work(bytes);
		} else if (!strcmp(line, "info\n")) {
			r = cuMemGetInfo(&free_bytes, &total_bytes);
			if (r == CUDA_SUCCESS) {
				printf("%zu %zu %zu\n", total_bytes, free_bytes, total_bytes - free_bytes);
				fflush(stdout);
				continue;
			}
		} else {
			r = CUDA_ERROR_INVALID_VALUE;
		}
		if (r == CUDA_SUCCESS)
			printf("ok\n");
		else
			printf("error %d\n", r);
		fflush(stdout);
	}
	return 0;
}
