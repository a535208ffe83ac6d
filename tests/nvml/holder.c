/*
 * holder.c: a program that holds device memory and keeps the device busy when told to, for the NVML tests.
 *
 * holder ORDINAL: makes a context, prints "ready", then obeys lines on standard input: "alloc N" and "free" (all),
 * each answered with "ok" or with the driver's error; ends with its input.
 */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	CUdeviceptr held[64];
	int count = 0, ordinal = argc > 1 ? atoi(argv[1]) : 0;
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
