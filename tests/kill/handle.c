/*
 * handle.c: memory passed by an interprocess handle.
 *
 *   handle make MIB     takes that much, says the handle as hexadecimal digits and its own number, and waits to
 *                       be killed
 *   handle open DIGITS  opens it and says the result, and what the tenant has in use; waits until its input ends, says
 *                       that again, closes the memory, and says it once more
 */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CUresult begin(void)
{
	CUcontext context;
	CUresult r = cuInit(0);

	if (!r)
		r = cuDevicePrimaryCtxRetain(&context, 0);
	return r ? r : cuCtxSetCurrent(context);
}

static int make(size_t mib)
{
	CUipcMemHandle handle;
	CUdeviceptr p;

	if (begin() || cuMemAlloc(&p, mib << 20) || cuIpcGetMemHandle(&handle, p))
		return 1;
	for (size_t i = 0; i < sizeof handle; i++)
		printf("%02x", ((unsigned char *)&handle)[i]);
	printf(" %d\n", getpid());
	fflush(stdout);
	pause();
	return 0;
}

static void say_used(CUresult r)
{
	size_t unused = 0, total = 0;

	cuMemGetInfo(&unused, &total);
	printf("%d %zu\n", (int)r, total - unused);
	fflush(stdout);
}

static int take(const char *digits)
{
	CUipcMemHandle handle;
	CUdeviceptr p = 0;
	char end;

	for (size_t i = 0; i < sizeof handle; i++) {
		char two[3] = { digits[2 * i], digits[2 * i + 1], 0 };

		((unsigned char *)&handle)[i] = (unsigned char)strtoul(two, NULL, 16);
	}
	if (begin())
		return 1;
	say_used(cuIpcOpenMemHandle(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	while (read(0, &end, 1) > 0)
		;
	say_used(CUDA_SUCCESS);
	say_used(p ? cuIpcCloseMemHandle(p) : CUDA_SUCCESS);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "make"))
		return make(strtoul(argv[2], NULL, 10));
	if (argc == 3 && !strcmp(argv[1], "open") && strlen(argv[2]) == 2 * sizeof(CUipcMemHandle))
		return take(argv[2]);
	return 2;
}
