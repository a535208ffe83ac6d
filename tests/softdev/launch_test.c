/* launch_test.c: modules, libraries, launches of every kind, and what happens when a kernel faults. */
#include "softdev/soft.h"

#include <stdint.h>
#include <string.h>

static const char ptx[] = ".version 7.0\n"
			  ".target sm_70\n"
			  ".address_size 64\n"
			  ".visible .global .align 4 .u32 counter = 5;\n"
			  ".visible .const .align 4 .b8 table[600];\n"
			  ".visible .entry add(.param .u64 p, .param .u32 n, .param .u32 x)\n"
			  "{\n"
			  ".reg .pred %p;\n"
			  ".reg .b32 %r<8>;\n"
			  ".reg .b64 %d<4>;\n"
			  "ld.param.u64 %d1, [p];\n"
			  "ld.param.u32 %r1, [n];\n"
			  "ld.param.u32 %r2, [x];\n"
			  "mov.u32 %r3, %ctaid.x;\n"
			  "mov.u32 %r4, %ntid.x;\n"
			  "mov.u32 %r5, %tid.x;\n"
			  "mad.lo.s32 %r6, %r3, %r4, %r5;\n"
			  "setp.ge.u32 %p, %r6, %r1;\n"
			  "@%p bra DONE;\n"
			  "cvta.to.global.u64 %d2, %d1;\n"
			  "mul.wide.u32 %d3, %r6, 4;\n"
			  "add.s64 %d2, %d2, %d3;\n"
			  "ld.global.u32 %r7, [%d2];\n"
			  "add.s32 %r7, %r7, %r2;\n"
			  "st.global.u32 [%d2], %r7;\n"
			  "DONE: ret;\n"
			  "}\n"
			  ".visible .entry count()\n"
			  "{\n"
			  ".reg .b32 %r;\n"
			  "atom.global.add.u32 %r, [counter], 1;\n"
			  "ret;\n"
			  "}\n"
			  ".visible .entry wild(.param .u64 p)\n"
			  "{\n"
			  ".reg .b64 %d;\n"
			  "ld.param.u64 %d, [p];\n"
			  "st.global.u32 [%d], 1;\n"
			  "ret;\n"
			  "}\n"
			  ".visible .entry stop()\n"
			  "{\n"
			  "trap;\n"
			  "}\n";

static CUfunction function(CUmodule m, const char *name)
{
	CUfunction f = NULL;

	CU(cuModuleGetFunction(&f, m, name));
	return f;
}

static unsigned first(CUdeviceptr d)
{
	unsigned n = ~0u;

	cuMemcpyDtoH(&n, d, 4);
	return n;
}

static void launches(CUmodule m)
{
	CUfunction f = function(m, "add");
	struct {
		CUdeviceptr p;
		unsigned n, x;
	} packed = { 0, 1000, 2 };
	size_t bytes = sizeof(packed), offset, size;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			  CU_LAUNCH_PARAM_END };
	unsigned n = 1000, x = 3, back[1000], wrong = 0;
	CUlaunchConfig config = {
		.gridDimX = 8, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 128, .blockDimY = 1, .blockDimZ = 1
	};
	CUdeviceptr d;
	void *params[] = { &d, &n, &x };
	const char *name;
	int value;

	CU(cuMemAlloc(&d, 4000));
	packed.p = d;
	CU(cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
	CU(cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
	CU(cuLaunchKernelEx(&config, f, params, NULL));
	CU(cuLaunchCooperativeKernel(f, 8, 1, 1, 128, 1, 1, 0, NULL, params));
	CU(cuMemcpyDtoH(back, d, sizeof(back)));
	for (int i = 0; i < 1000; i++)
		wrong += back[i] != 11;
	is(wrong, 0);
	FAILS(cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, NULL, params, extra), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 0, 1, 1, 128, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 49 << 10, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
	CU(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 100 << 10, NULL, params, NULL));
	FAILS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 228 << 10),
	      CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchCooperativeKernel(f, 100000, 1, 1, 128, 1, 1, 0, NULL, params),
	      CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	FAILS(cuLaunchKernel((CUfunction)m, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
	CU(cuFuncGetParamInfo(f, 1, &offset, &size));
	ok(offset == 8 && size == 4);
	FAILS(cuFuncGetParamInfo(f, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
	CU(cuFuncGetParamCount(f, &size));
	is(size, 3);
	FAILS(cuFuncGetParamCount(f, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuFuncGetName(&name, f));
	is_str(name, "add");
	CU(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
	is(value, 1024);
	CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 1024, 0));
	is(value, 2);
	CU(cuMemFree(d));
}

static void oldest(CUmodule m)
{
	CUfunction f = function(m, "add");
	CUdeviceptr d;

	CU(cuMemAlloc(&d, 4));
	CU(cuFuncSetBlockShape(f, 4, 1, 1));
	CU(cuParamSetSize(f, 16));
	CU(cuParamSetv(f, 0, &d, 8));
	CU(cuParamSeti(f, 8, 1));
	CU(cuParamSeti(f, 12, 9));
	CU(cuLaunchGrid(f, 2, 1));
	is(first(d), 9);
	CU(cuMemFree(d));
}

/* A module takes its variables, each rounded up to 512 bytes, and nothing else. */
static void variables(void)
{
	size_t all = soft_free(), size;
	CUfunction f;
	CUdeviceptr d;
	CUmodule m;

	CU(cuModuleLoadData(&m, ptx));
	is(all - soft_free(), 512 + 1024);
	CU(cuModuleGetGlobal(&d, &size, m, "counter"));
	is(size, 4);
	f = function(m, "count");
	CU(cuLaunchKernel(f, 10, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	is(first(d), 5 + 320);
	FAILS(cuModuleGetGlobal(&d, &size, m, "nothing"), CUDA_ERROR_NOT_FOUND);
	FAILS(cuModuleGetFunction(&f, m, "nothing"), CUDA_ERROR_NOT_FOUND);
	CU(cuModuleUnload(m));
	is(soft_free(), all);
	FAILS(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
}

static void library(void)
{
	size_t all = soft_free(), size;
	CUdeviceptr d;
	CUfunction f;
	CUkernel k;
	CUlibrary l;
	unsigned count;

	CU(cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
	is(soft_free(), all);
	CU(cuLibraryGetKernelCount(&count, l));
	is(count, 4);
	CU(cuLibraryGetKernel(&k, l, "count"));
	CU(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL,
			  NULL)); /* a kernel where a function is asked for */
	is(all - soft_free(), 512 + 1024);
	CU(cuLibraryGetGlobal(&d, &size, l, "counter"));
	is(first(d), 6);
	CU(cuKernelGetFunction(&f, k));
	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	is(first(d), 7);
	FAILS(cuLibraryGetKernel(&k, l, "nothing"), CUDA_ERROR_NOT_FOUND);
	CU(cuLibraryUnload(l));
	is(soft_free(), all);
	FAILS(cuLibraryUnload(l), CUDA_ERROR_INVALID_HANDLE);
}

/* Two texts that need each other become one image. */
static void linked(void)
{
	static char caller[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			       ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
			       ".visible .entry run(.param .u64 p)\n{\n"
			       ".reg .b64 %d;\n.reg .b32 %r;\n"
			       "ld.param.u64 %d, [p];\n"
			       "ld.global.u32 %r, [%d];\n"
			       "{\n.param .b32 a;\n.param .b32 b;\n"
			       "st.param.b32 [a], %r;\n"
			       "call.uni (b), twice, (a);\n"
			       "ld.param.b32 %r, [b];\n}\n"
			       "st.global.u32 [%d], %r;\n"
			       "ret;\n}\n";
	static char callee[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			       ".visible .func (.param .b32 r) twice(.param .b32 x)\n{\n"
			       ".reg .b32 %r;\n"
			       "ld.param.b32 %r, [x];\n"
			       "shl.b32 %r, %r, 1;\n"
			       "st.param.b32 [r], %r;\n"
			       "ret;\n}\n";
	CUlinkState l;
	CUdeviceptr d;
	void *params[] = { &d }, *image;
	size_t bytes;
	CUmodule m;

	CU(cuLinkCreate(0, NULL, NULL, &l));
	CU(cuLinkAddData(l, CU_JIT_INPUT_PTX, caller, sizeof(caller), "caller", 0, NULL, NULL));
	FAILS(cuLinkComplete(l, &image, &bytes), CUDA_ERROR_INVALID_PTX); /* one half is missing */
	CU(cuLinkAddData(l, CU_JIT_INPUT_PTX, callee, sizeof(callee), "callee", 0, NULL, NULL));
	CU(cuLinkComplete(l, &image, &bytes));
	CU(cuModuleLoadData(&m, image));
	CU(cuLinkDestroy(l));
	FAILS(cuLinkDestroy(l), CUDA_ERROR_INVALID_HANDLE);
	CU(cuMemAlloc(&d, 4));
	CU(cuMemsetD32(d, 21, 1));
	CU(cuLaunchKernel(function(m, "run"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	is(first(d), 42);
	CU(cuMemFree(d));
	CU(cuModuleUnload(m));
}

static void bad_images(void)
{
	static const unsigned char random_bytes[64] = { 0x13, 0x99, 0x01, 0xfe, 0x77 };
	char log[256] = "";
	CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *value[] = { log, (void *)(uintptr_t)sizeof(log) };
	size_t all = soft_free();
	CUmodule m;

	FAILS(cuModuleLoadData(&m, random_bytes), CUDA_ERROR_INVALID_IMAGE);
	FAILS(cuModuleLoadData(&m, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuModuleLoad(&m, "/nonexistent.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
	FAILS(cuModuleLoadDataEx(
		      &m, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() { frobnicate.u32 1; }\n",
		      2, option, value),
	      CUDA_ERROR_INVALID_PTX);
	ok(strstr(log, "frobnicate") != NULL);
	is((uintptr_t)value[1], strlen(log) + 1);
	FAILS(cuModuleLoadData(&m, ".version 99.0\n.target sm_70\n.address_size 64\n"),
	      CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
	is(soft_free(), all);
}

/* A fault is answered by every call in the context until the context goes; other contexts live on. */
static void faults(CUcontext primary)
{
	struct {
		const char *kernel;
		CUresult error;
	} const cases[] = { { "wild", CUDA_ERROR_ILLEGAL_ADDRESS }, { "stop", CUDA_ERROR_LAUNCH_FAILED } };
	CUdeviceptr nowhere = 16, d;
	void *params[] = { &nowhere };
	size_t all = soft_free();
	CUcontext c;
	CUmodule m;

	for (int i = 0; i < 2; i++) {
		CU(cuCtxCreate(&c, NULL, 0, 0));
		CU(cuModuleLoadData(&m, ptx));
		CU(cuMemAlloc(&d, 4));
		CU(cuLaunchKernel(function(m, cases[i].kernel), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		FAILS(cuCtxSynchronize(), cases[i].error);
		FAILS(cuMemAlloc(&d, 4), cases[i].error);
		FAILS(cuMemcpyHtoD(d, params, 4), cases[i].error);
		FAILS(cuStreamSynchronize(NULL), cases[i].error);
		CU(cuCtxDestroy(c));
		CU(cuCtxSetCurrent(primary));
		is(soft_free(), all);
		CU(cuCtxSynchronize());
	}
}

int main(void)
{
	CUcontext c;
	CUmodule m;

	soft_begin("1", "64M");
	c = soft_context();
	CU(cuModuleLoadData(&m, ptx));
	launches(m);
	oldest(m);
	CU(cuModuleUnload(m));
	variables();
	library();
	linked();
	bad_images();
	faults(c);
	return soft_end();
}
