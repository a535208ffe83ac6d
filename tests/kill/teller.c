/*
 * teller.c: a program that takes and gives device memory as it is told on its standard input, and tells what is free.
 *
 *   alloc BYTES    -> the CUresult
 *   free           -> of the last allocation
 *   export BYTES   physical memory, of which a descriptor is kept
 *   close          the descriptor
 *   offer BYTES    -> the CUresult and the handle of memory that other processes may open
 *   open HANDLE    another process's
 *   leave          what was opened last
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

static CUdeviceptr held[MOST], opened[MOST];
static unsigned int count, opened_count;
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

static CUresult offer(unsigned long long bytes, CUipcMemHandle *ret)
{
	CUresult r = count < MOST ? cuMemAlloc(&held[count], bytes) : CUDA_ERROR_INVALID_VALUE;

	count += r == CUDA_SUCCESS;
	return r ? r : cuIpcGetMemHandle(ret, held[count - 1]);
}

static CUresult open_handle(const char *hex)
{
	CUipcMemHandle handle;
	CUresult r;

	for (size_t i = 0; i < sizeof handle.reserved; i++) {
		unsigned int byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1 || opened_count == MOST)
			return CUDA_ERROR_INVALID_VALUE;
		handle.reserved[i] = (char)byte;
	}
	r = cuIpcOpenMemHandle(&opened[opened_count], handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	opened_count += r == CUDA_SUCCESS;
	return r;
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

static void obey(const char *word, unsigned long long n, const char *hex)
{
	size_t unused = 0, total = 0;
	CUipcMemHandle handle = { { 0 } };
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
	} else if (!strcmp(word, "offer")) {
		printf("%d ", offer(n, &handle));
		for (size_t i = 0; i < sizeof handle.reserved; i++)
			printf("%02x", (unsigned char)handle.reserved[i]);
		puts("");
		return;
	} else if (!strcmp(word, "open")) {
		r = open_handle(hex);
	} else if (!strcmp(word, "leave") && opened_count) {
		r = cuIpcCloseMemHandle(opened[--opened_count]);
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
	char line[256], word[16], hex[160];
	CUdevice dev;

	if (cuInit(0) || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&context, dev) || cuCtxSetCurrent(context))
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		n = 0;
		*hex = 0;
		sscanf(line, "%*s %159s", hex);
		if (sscanf(line, "%15s %llu", word, &n) >= 1)
			obey(word, n, hex);
		fflush(stdout);
	}
	return 0;
}
