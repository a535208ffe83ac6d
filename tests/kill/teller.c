/*
 * teller.c: a program that takes and gives device memory as it is told on its standard input, and tells what is free.
 *
 *   alloc BYTES    -> the CUresult
 *   free           -> of the last allocation
 *   export BYTES   physical memory, of which a descriptor is kept
 *   close          the descriptor
 *   info           -> free and total bytes
 *   time CALLS     -> nanoseconds that a call of cuMemGetInfo takes
 */
#include <cuda.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST 64

static CUdeviceptr held[MOST];
static unsigned int count;
static int fd = -1;

static CUresult export(unsigned long long bytes)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	CUmemGenericAllocationHandle physical;
	CUresult r = cuMemCreate(&physical, bytes, &prop, 0);

	if (!r)
		r = cuMemExportToShareableHandle(&fd, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	return r ? r : cuMemRelease(physical);
}

static unsigned long long info_ns(unsigned long long calls)
{
	struct timespec a, b;
	size_t unused, total;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (unsigned long long i = 0; i < calls; i++)
		cuMemGetInfo(&unused, &total);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((unsigned long long)(b.tv_sec - a.tv_sec) * 1000000000u + (unsigned long long)b.tv_nsec -
		(unsigned long long)a.tv_nsec) /
	       calls;
}

static void obey(const char *word, unsigned long long n)
{
	size_t unused = 0, total = 0;
	CUresult r = CUDA_SUCCESS;

	if (!strcmp(word, "alloc") && count < MOST) {
		r = cuMemAlloc(&held[count], n);
		count += r == CUDA_SUCCESS;
	} else if (!strcmp(word, "free") && count) {
		r = cuMemFree(held[--count]);
	} else if (!strcmp(word, "export")) {
		r = export(n);
	} else if (!strcmp(word, "close")) {
		close(fd);
	} else if (!strcmp(word, "info")) {
		r = cuMemGetInfo(&unused, &total);
		printf("%d %zu %zu\n", r, unused, total);
		return;
	} else if (!strcmp(word, "time") && n) {
		printf("%llu\n", info_ns(n));
		return;
	} else {
		r = CUDA_ERROR_INVALID_VALUE;
	}
	printf("%d\n", r);
}

int main(void)
{
	unsigned long long n;
	CUcontext context;
	char line[64], word[16];
	CUdevice dev;

	if (cuInit(0) || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&context, dev) || cuCtxSetCurrent(context))
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		n = 0;
		if (sscanf(line, "%15s %llu", word, &n) >= 1)
			obey(word, n);
		fflush(stdout);
	}
	return 0;
}
