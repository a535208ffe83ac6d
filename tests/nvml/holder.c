/*
 * holder.c: a program that holds device memory when told to, for the NVML tests.
 *
 * holder ORDINAL: makes a context, prints "ready", then obeys lines on standard input: "alloc N" and "free" (all),
 * each answered with "ok" or with the driver's error, and "info", answered with cuMemGetInfo's total, free and the
 * rest; ends with its input.
 */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
