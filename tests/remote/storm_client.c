/*
 * storm_client.c: a program that uses the device in whatever ways it can until it is killed or has done enough.
 *
 *   storm_client SEED STEPS
 *
 * Exit status: 0; 1: the device answered what it must not; 3: it could not begin, 4: it lost its device.
 */
#include "basic_ptx.h"

#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 16
#define BYTES 65536

static CUdeviceptr block[BLOCKS];
static size_t size[BLOCKS];
static CUstream stream;
static CUfunction fill;
static unsigned char host[BYTES], back[BYTES];
static uint64_t state;

static unsigned int any(unsigned int below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(state >> 33) % below;
}

static CUresult begin(void)
{
	CUcontext context;
	CUmodule module;
	CUdevice device;
	CUresult r = cuInit(0);

	if (!r)
		r = cuDeviceGet(&device, 0);
	if (!r)
		r = cuDevicePrimaryCtxRetain(&context, device);
	if (!r)
		r = cuCtxSetCurrent(context);
	if (!r)
		r = cuStreamCreate(&stream, 0);
	if (!r && any(2)) {
		r = cuModuleLoadData(&module, basic_ptx);
		if (!r)
			r = cuModuleGetFunction(&fill, module, "fill");
	}
	return r;
}

static CUresult copy(unsigned int i)
{
	size_t n = size[i] < BYTES ? size[i] : BYTES;
	CUresult r;

	memset(host, (int)any(256), n);
	r = any(2) ? cuMemcpyHtoD(block[i], host, n) : cuMemcpyHtoDAsync(block[i], host, n, stream);
	if (!r)
		r = cuStreamSynchronize(stream);
	if (!r)
		r = cuMemcpyDtoH(back, block[i], n);
	if (!r && memcmp(host, back, n))
		exit(1);
	return r;
}

/* Some words of a block by a kernel. */
static CUresult launch(unsigned int i)
{
	unsigned int n = (unsigned int)(size[i] / 4), value = any(1000);
	void *args[] = { &block[i], &n, &value };
	unsigned int word;
	CUresult r;

	if (n > 256)
		n = 256;
	if (!n)
		return CUDA_SUCCESS;
	r = cuLaunchKernel(fill, 1, 1, 1, 256, 1, 1, 0, stream, args, NULL);
	if (!r)
		r = cuMemcpyDtoHAsync(back, block[i], sizeof(word), stream);
	if (!r)
		r = cuStreamSynchronize(stream);
	memcpy(&word, back, sizeof(word));
	if (!r && word != value)
		exit(1);
	return r;
}

static CUresult step(void)
{
	unsigned int i = any(BLOCKS);
	CUresult r;

	if (!block[i]) {
		size[i] = 1 + any(BYTES * 4);
		r = any(2) ? cuMemAlloc(&block[i], size[i]) : cuMemAllocAsync(&block[i], size[i], stream);
		if (!r)
			r = cuStreamSynchronize(stream);
		if (r)
			block[i] = 0;
		return r == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : r;
	}
	switch (any(5)) {
	case 0:
		r = cuMemFree(block[i]);
		block[i] = 0;
		return r;
	case 1:
		return fill ? launch(i) : copy(i);
	case 2:
		return cuMemsetD8Async(block[i], 7, size[i], stream);
	default:
		return copy(i);
	}
}

int main(int argc, char **argv)
{
	unsigned int steps;
	CUresult r;

	if (argc != 3)
		return 2;
	state = strtoull(argv[1], NULL, 10) * 2 + 1;
	steps = (unsigned int)atoi(argv[2]);
	r = begin();
	if (r) {
		fprintf(stderr, "storm_client: begins with error %d\n", (int)r);
		return r == CUDA_ERROR_DEVICE_UNAVAILABLE ? 4 : 3;
	}
	while (steps-- && !r)
		r = step();
	if (r && r != CUDA_ERROR_DEVICE_UNAVAILABLE)
		fprintf(stderr, "storm_client: error %d\n", (int)r);
	return !r ? 0 : r == CUDA_ERROR_DEVICE_UNAVAILABLE ? 4 : 1;
}
