/* cuda_spin.c: kernels of CUDA's one after another, for so many seconds; prints how many. */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char code[] =
	".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry spin_a()\n{\n	ret;\n}\n";

static void need(CUresult r, const char *what)
{
	if (r == CUDA_SUCCESS)
		return;
	printf("%s: %d\n", what, r);
	exit(3);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	unsigned long n = 0;
	CUcontext context;
	CUmodule module;
	CUfunction f;

	need(cuInit(0), "cuInit");
	need(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	need(cuModuleLoadData(&module, code), "cuModuleLoadData");
	need(cuModuleGetFunction(&f, module, "spin_a"), "cuModuleGetFunction");
	puts("begins");
	fflush(stdout);
	for (; time(NULL) < end; n += 8) {
		for (int i = 0; i < 8; i++)
			need(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
		need(cuCtxSynchronize(), "cuCtxSynchronize");
	}
	printf("%lu\n", n);
	return 0;
}
