/* relocatable: two texts of PTX linked by the driver: a function that one of them only declares, logs, and what is missing. */
#define PROGRAM_DRIVER
#include "program.h"

#ifdef __CUDACC__

extern "C" __device__ __noinline__ int supplied(int x)
{
	return x * x + 3;
}

#else
#include PROGRAM_STUBS
#endif

static const char user[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			   ".extern .func (.param .b32 r) supplied(.param .b32 x);\n"
			   ".visible .entry use(.param .u64 p)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<3>;\n"
			   "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\n"
			   "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r1;\n"
			   "call.uni (b), supplied, (a);\nld.param.b32 %r2, [b];\n}\n"
			   "mul.wide.u32 %d2, %r1, 4;\nadd.s64 %d1, %d1, %d2;\nst.global.u32 [%d1], %r2;\nret;\n}\n";

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUlinkState link;
	CUmodule module;
	CUfunction use;
	CUdeviceptr p;
	void *image = NULL, *args[] = { &p };
	size_t bytes = 0;
	int z[32], i;

	CALL(cuInit(0));
	CALL(cuDeviceGet(&device, 0));
	CALL(cuDevicePrimaryCtxRetain(&context, device));
	CALL(cuCtxSetCurrent(context));
	CALL(cuLinkCreate(0, NULL, NULL, &link));
	CALL(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)user, sizeof(user), "user", 0, NULL, NULL));
	CALL(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)program_ptx, sizeof(program_ptx), "supplier", 0, NULL, NULL));
	CALL(cuLinkComplete(link, &image, &bytes));
	CHECK(image && bytes);
	CALL(cuModuleLoadData(&module, image));
	CALL(cuLinkDestroy(link));
	CALL(cuModuleGetFunction(&use, module, "use"));
	CALL(cuMemAlloc(&p, sizeof(z)));
	CALL(cuLaunchKernel(use, 1, 1, 1, 32, 1, 1, 0, 0, args, NULL));
	CALL(cuMemcpyDtoH(z, p, sizeof(z)));
	for (i = 0; i < 32; i++)
		CHECK(z[i] == i * i + 3);
	CALL(cuModuleUnload(module));
	/* without the other half */
	CALL(cuLinkCreate(0, NULL, NULL, &link));
	CALL(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)user, sizeof(user), "user", 0, NULL, NULL));
	CHECK(cuLinkComplete(link, &image, &bytes) != CUDA_SUCCESS);
	CALL(cuLinkDestroy(link));
	CALL(cuMemFree(p));
	CALL(cuDevicePrimaryCtxRelease(device));
	return program_end();
}
