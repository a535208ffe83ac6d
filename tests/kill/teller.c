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
 *   pool BYTES     -> the CUresult, a descriptor's path and what names memory of a pool that other processes may open
 *   drop           the pool and the memory
 *   pull PATH NAME another process's, without a current context
 *   info           -> free and total bytes
 *   time CALLS     -> nanoseconds that a call of cuMemGetInfo takes
 */
#include <cuda.h>

#include <fcntl.h>
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

static CUmemoryPool pool;
static CUdeviceptr pooled;

static void print_hex(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		printf("%02x", ((const unsigned char *)bytes)[i]);
	puts("");
}

static CUresult make_pool(unsigned long long bytes, CUmemPoolPtrExportData *ret)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	CUresult r = cuMemPoolCreate(&pool, &props);

	if (!r)
		r = cuMemAllocFromPoolAsync(&pooled, bytes, pool, NULL);
	if (!r)
		r = cuStreamSynchronize(NULL);
	if (!r)
		r = cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	return r ? r : cuMemPoolExportPointer(ret, pooled);
}

static CUresult drop_pool(void)
{
	CUresult r = cuMemFreeAsync(pooled, NULL);

	close(fd);
	if (!r)
		r = cuStreamSynchronize(NULL);
	return r ? r : cuMemPoolDestroy(pool);
}

static CUresult pull(const char *path, const char *hex)
{
	CUmemPoolPtrExportData data;
	CUmemoryPool theirs;
	CUcontext context;
	CUdeviceptr p;
	int there = open(path, O_RDWR | O_CLOEXEC);
	CUresult r;

	for (size_t i = 0; i < sizeof data.reserved; i++) {
		unsigned int byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return CUDA_ERROR_INVALID_VALUE;
		data.reserved[i] = (unsigned char)byte;
	}
	r = cuMemPoolImportFromShareableHandle(&theirs, (void *)(intptr_t)there,
					       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	close(there);
	if (r)
		return r;
	cuCtxGetCurrent(&context);
	cuCtxSetCurrent(NULL);
	r = cuMemPoolImportPointer(&p, theirs, &data);
	cuCtxSetCurrent(context);
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

static void obey(const char *word, unsigned long long n, const char *text, const char *hex)
{
	size_t unused = 0, total = 0;
	CUmemPoolPtrExportData data = { { 0 } };
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
		print_hex(handle.reserved, sizeof handle.reserved);
		return;
	} else if (!strcmp(word, "pool")) {
		r = make_pool(n, &data);
		printf("%d /proc/%d/fd/%d ", r, (int)getpid(), fd);
		print_hex(data.reserved, sizeof data.reserved);
		return;
	} else if (!strcmp(word, "drop")) {
		r = drop_pool();
	} else if (!strcmp(word, "open")) {
		r = open_handle(text);
	} else if (!strcmp(word, "pull")) {
		r = pull(text, hex);
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
	char line[512], word[16], text[160], hex[160];
	CUdevice dev;

	if (cuInit(0) || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&context, dev) || cuCtxSetCurrent(context))
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		n = 0;
		*text = *hex = 0;
		sscanf(line, "%*s %159s %159s", text, hex);
		if (sscanf(line, "%15s %llu", word, &n) >= 1)
			obey(word, n, text, hex);
		fflush(stdout);
	}
	return 0;
}
