/* The driver API: contexts, modules, functions, globals, launches in both forms, and the errors for what is not there. */
#define PROGRAM_DRIVER
#include "program.h"

enum { N = 1000 };

#ifdef __CUDACC__

VARIABLE int offset = 17;

KERNEL affine(int *p, int n, int factor)
{
	if (THREAD < n)
		p[THREAD] = p[THREAD] * factor + offset;
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	CUdevice device;
	CUcontext context, current;
	CUmodule module;
	CUfunction affine;
	CUdeviceptr p, offset;
	size_t bytes = 0, size = 0, at = 0;
	static int x[N], z[N];
	int n = N, factor = 3, value = 0, i;
	void *args[] = { &p, &n, &factor }, *extra[5];
	struct {
		CUdeviceptr p;
		int n, factor;
	} packed;
	CUlaunchConfig config;
	char words[512] = "";
	enum CUjit_option_enum options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_MAX_REGISTERS };
	void *values[] = { words, (void *)(uintptr_t)sizeof(words), (void *)(uintptr_t)64 };

	CALL(cuInit(0));
	CALL(cuDeviceGet(&device, 0));
	CALL(cuDevicePrimaryCtxRetain(&context, device));
	CALL(cuCtxSetCurrent(context));
	CALL(cuCtxGetCurrent(&current));
	CHECK(current == context);
	CALL(cuModuleLoadDataEx(&module, program_ptx, 3, options, values));
	CALL(cuModuleGetFunction(&affine, module, "affine"));
	GIVES(cuModuleGetFunction(&affine, module, "nothing"), CUDA_ERROR_NOT_FOUND);
	CALL(cuModuleGetFunction(&affine, module, "affine"));
	CALL(cuFuncGetParamInfo(affine, 1, &at, &size));
	CHECK(at == 8 && size == 4);
	CALL(cuModuleGetGlobal(&offset, &bytes, module, "offset"));
	CHECK(bytes == 4);
	CALL(cuMemcpyDtoH(&value, offset, 4));
	CHECK(value == 17);
	CALL(cuMemAlloc(&p, sizeof(x)));
	for (i = 0; i < N; i++)
		x[i] = i * i;
	CALL(cuMemcpyHtoD(p, x, sizeof(x)));
	CALL(cuLaunchKernel(affine, N / 256 + 1, 1, 1, 256, 1, 1, 0, 0, args, NULL));
	CALL(cuMemsetD32(offset, 5, 1));
	packed.p = p;
	packed.n = N;
	packed.factor = 2;
	bytes = sizeof(packed);
	extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	extra[1] = &packed;
	extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	extra[3] = &bytes;
	extra[4] = CU_LAUNCH_PARAM_END;
	CALL(cuLaunchKernel(affine, N / 256 + 1, 1, 1, 256, 1, 1, 0, 0, NULL, extra));
	memset(&config, 0, sizeof(config));
	config.gridDimX = N / 128 + 1;
	config.blockDimX = 128;
	config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
	CALL(cuLaunchKernelEx(&config, affine, args, NULL));
	CALL(cuCtxSynchronize());
	CALL(cuMemcpyDtoH(z, p, sizeof(z)));
	for (i = 0; i < N; i++)
		CHECK(z[i] == ((i * i * 3 + 17) * 2 + 5) * 3 + 5);
	GIVES(cuLaunchKernel(affine, 1, 1, 1, 5000, 1, 1, 0, 0, args, NULL), CUDA_ERROR_INVALID_VALUE);
	GIVES(cuMemcpyDtoH(z, p, (size_t)1 << 50), CUDA_ERROR_INVALID_VALUE);
	values[1] = (void *)(uintptr_t)sizeof(words); /* it was an answer, too */
	GIVES(cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_70\n.address_size 64\n.entry k() { nonsense.u32 1; }\n", 2, options, values),
	      CUDA_ERROR_INVALID_PTX);
	CHECK(strlen(words) > 0);
	CALL(cuMemFree(p));
	GIVES(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
	CALL(cuDevicePrimaryCtxRelease(device));
	return program_end();
}
