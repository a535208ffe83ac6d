/*
 * kernels_test.c: how a project tests a kernel without a GPU (docs/ci.md): a program like any other, which needs
 * neither mete nor the CUDA toolkit to be built: cc kernels_test.c -lcuda -o tests
 *
 *   ./tests            the tests, a line for each: all are to pass
 *   ./tests NAME       one of them: add, memory, devices; or one that is to be caught: overrun, leak, endless
 *
 * Status: 0 all passed, 1 one failed.
 */
#include <cuda.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COUNT 1000u

/* y += x for each of n elements, and a kernel without an end. Elements are not counted in `overrun`. */
static const char kernels[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
			      ".visible .entry add(.param .u64 x, .param .u64 y, .param .u32 n)\n"
			      "{\n"
			      "	.reg .pred %p; .reg .b32 %r<5>; .reg .f32 %f<3>; .reg .b64 %d<4>;\n"
			      "	mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;\n"
			      "	mad.lo.u32 %r3, %r0, %r1, %r2;\n"
			      "	ld.param.u32 %r4, [n];\n"
			      "	setp.ge.u32 %p, %r3, %r4;\n"
			      "	@%p ret;\n"
			      "	ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y];\n"
			      "	mul.wide.u32 %d2, %r3, 4;\n"
			      "	add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;\n"
			      "	ld.global.f32 %f0, [%d0]; ld.global.f32 %f1, [%d1];\n"
			      "	add.f32 %f2, %f0, %f1;\n"
			      "	st.global.f32 [%d1], %f2;\n"
			      "	ret;\n"
			      "}\n"
			      ".visible .entry endless()\n"
			      "{\n"
			      "again: bra again;\n"
			      "}\n";

static CUmodule module;

static CUresult launch(const char *name, CUdeviceptr x, CUdeviceptr y, unsigned int n)
{
	void *arguments[] = { &x, &y, &n };
	CUfunction kernel;
	CUresult r = cuModuleGetFunction(&kernel, module, name);

	if (r == CUDA_SUCCESS)
		r = cuLaunchKernel(kernel, (n + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL);
	return r == CUDA_SUCCESS ? cuCtxSynchronize() : r;
}

/* Adds `n` elements of arrays that hold COUNT. */
static bool add(unsigned int n)
{
	static float x[COUNT], y[COUNT];
	CUdeviceptr dx = 0, dy = 0;
	bool good;

	for (unsigned int i = 0; i < COUNT; i++) {
		x[i] = (float)i;
		y[i] = 1;
	}
	good = cuMemAlloc(&dx, sizeof(x)) == CUDA_SUCCESS && cuMemAlloc(&dy, sizeof(y)) == CUDA_SUCCESS &&
	       cuMemcpyHtoD(dx, x, sizeof(x)) == CUDA_SUCCESS && cuMemcpyHtoD(dy, y, sizeof(y)) == CUDA_SUCCESS &&
	       launch("add", dx, dy, n) == CUDA_SUCCESS && cuMemcpyDtoH(y, dy, sizeof(y)) == CUDA_SUCCESS;
	for (unsigned int i = 0; i < COUNT && good; i++)
		good = y[i] == (float)i + 1;
	cuMemFree(dx);
	cuMemFree(dy);
	return good;
}

static bool test_add(void)
{
	return add(COUNT);
}

/* Passes where nobody checks: behind the arrays there is room that belongs to nobody. */
static bool test_overrun(void)
{
	return add(COUNT + 1);
}

static bool test_leak(void)
{
	CUdeviceptr forgotten;

	return cuMemAlloc(&forgotten, 4096) == CUDA_SUCCESS;
}

/* More than there is is refused, and what was held is there again. */
static bool test_memory(void)
{
	size_t before, after, total;
	CUdeviceptr block, none;
	bool good = cuMemGetInfo(&before, &total) == CUDA_SUCCESS && cuMemAlloc(&block, before / 2) == CUDA_SUCCESS &&
		    cuMemAlloc(&none, before) == CUDA_ERROR_OUT_OF_MEMORY && cuMemFree(block) == CUDA_SUCCESS;

	return good && cuMemGetInfo(&after, &total) == CUDA_SUCCESS && after == before;
}

/* From one device to the other, where there are two. */
static bool test_devices(void)
{
	CUcontext here, there;
	CUdeviceptr from = 0, to = 0;
	const char *word = "passed on";
	char text[16] = "";
	CUdevice second;
	int count = 0;
	bool good;

	if (cuDeviceGetCount(&count) != CUDA_SUCCESS || count < 2)
		return count == 1;
	if (cuCtxGetCurrent(&here) != CUDA_SUCCESS || cuMemAlloc(&from, sizeof(text)) != CUDA_SUCCESS ||
	    cuMemcpyHtoD(from, word, strlen(word) + 1) != CUDA_SUCCESS || cuDeviceGet(&second, 1) != CUDA_SUCCESS ||
	    cuDevicePrimaryCtxRetain(&there, second) != CUDA_SUCCESS || cuCtxPushCurrent(there) != CUDA_SUCCESS)
		return false;
	good = cuMemAlloc(&to, sizeof(text)) == CUDA_SUCCESS &&
	       cuMemcpyPeer(to, there, from, here, strlen(word) + 1) == CUDA_SUCCESS &&
	       cuMemcpyDtoH(text, to, strlen(word) + 1) == CUDA_SUCCESS && !strcmp(text, word);
	cuMemFree(to);
	cuCtxPopCurrent(&there);
	cuMemFree(from);
	cuDevicePrimaryCtxRelease(second);
	return good;
}

static bool test_endless(void)
{
	return launch("endless", 0, 0, 1) == CUDA_SUCCESS;
}

static const struct test {
	const char *name;
	bool (*run)(void);
	bool always; /* else only when it is named */
} tests[] = {
	{ "add", test_add, true },	    { "memory", test_memory, true }, { "devices", test_devices, true },
	{ "overrun", test_overrun, false }, { "leak", test_leak, false },    { "endless", test_endless, false },
};

int main(int argc, char **argv)
{
	CUcontext context;
	CUdevice device;
	bool good = true;

	if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
	    cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS ||
	    cuModuleLoadData(&module, kernels) != CUDA_SUCCESS) {
		puts("no device, or the kernels cannot be loaded");
		return 1;
	}
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		const struct test *t = &tests[i];
		bool passed;

		if (argc > 1 ? strcmp(argv[1], t->name) : !t->always)
			continue;
		passed = t->run();
		printf("%s %s\n", passed ? "passed" : "FAILED", t->name);
		good &= passed;
	}
	cuModuleUnload(module);
	cuDevicePrimaryCtxRelease(device);
	return good ? 0 : 1;
}
