/*
 * hoarder.c: a program that has as many shared allocations as one process can have, and then keeps more memory by
 * descriptors alone, or by what it has imported again by them: hoarder BYTES COUNT
 *
 * Says how many it has after that.
 */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>

#define TABLE 1024 /* src/wire/page.h */
#define PAGE 4096

static CUresult fill_table(void)
{
	CUipcMemHandle handle;
	CUresult r = CUDA_SUCCESS;
	CUdeviceptr p;

	for (unsigned int i = 0; !r && i < TABLE; i++) {
		r = cuMemAlloc(&p, PAGE);
		if (!r)
			r = cuIpcGetMemHandle(&handle, p);
	}
	return r;
}

static CUresult keep_one(size_t bytes, int import)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	CUmemGenericAllocationHandle h, other;
	CUresult r = cuMemCreate(&h, bytes, &prop, 0);
	int fd;

	if (!r)
		r = cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	if (!r && import)
		r = cuMemImportFromShareableHandle(&other, (void *)(intptr_t)fd,
						   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	return r ? r : cuMemRelease(h);
}

int main(int argc, char **argv)
{
	unsigned int kept = 0, count = argc == 3 ? (unsigned int)atoi(argv[2]) : 0;
	CUcontext context;
	CUresult r = argc == 3 ? cuInit(0) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		r = cuDevicePrimaryCtxRetain(&context, 0);
	if (!r)
		r = cuCtxSetCurrent(context);
	if (!r)
		r = fill_table();
	if (r)
		return 1;
	for (int import = 0; import < 2; import++)
		for (unsigned int i = 0; i < count && !(r = keep_one(strtoull(argv[1], NULL, 10), import)); i++)
			kept++;
	printf("%u %d\n", kept, (int)r);
	fflush(stdout);
	getchar();
	return 0;
}
