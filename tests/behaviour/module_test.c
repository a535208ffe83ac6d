/* module_test.c: modules and libraries from PTX, their kernels and variables, and what they take from the device. */
#include "kit.h"
#include "basic_ptx.h"
#include "globals_ptx.h"

#define LARGE (8 * MIB)

static void variables(void)
{
	unsigned int v = 0, by = 2, host[64] = { 0 }, table[64];
	CUdeviceptr counter = 0, large = 0, constant = 0, out;
	void *count_args[] = { &by }, *look_args[] = { &out };
	size_t size = 0, before = kit_free();
	CUmodule m;

	needs(cuModuleLoadData(&m, globals_ptx));
	ok(before - kit_free() >= LARGE);
	if (kit.soft)
		is(before - kit_free(), LARGE + 512 + 512);
	works(cuModuleGetGlobal(&counter, &size, m, "counter"));
	is(size, 4);
	works(cuMemcpyDtoH(&v, counter, 4));
	is(v, 41);
	works(cuLaunchKernel(kit_kernel(m, "count"), 4, 1, 1, 32, 1, 1, 0, NULL, count_args, NULL));
	works(cuMemcpyDtoH(&v, counter, 4));
	is(v, 41 + 4 * 32 * 2);

	works(cuModuleGetGlobal(&constant, &size, m, "table"));
	is(size, 256);
	works(cuMemcpyDtoH(host, constant, 256));
	ok(host[0] == 7 && host[1] == 11 && host[2] == 13 && host[3] == 0);
	for (unsigned int i = 0; i < 64; i++)
		table[i] = i * i;
	works(cuMemcpyHtoD(constant, table, 256));
	needs(cuMemAlloc(&out, 256));
	works(cuLaunchKernel(kit_kernel(m, "look_up"), 1, 1, 1, 64, 1, 1, 0, NULL, look_args, NULL));
	works(cuMemcpyDtoH(host, out, 256));
	ok(!memcmp(host, table, 256));
	works(cuMemFree(out));

	works(cuModuleGetGlobal(&large, &size, m, "large"));
	is(size, LARGE);
	answers(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&large, &size, m, "no_such_variable"));
	works(cuModuleUnload(m));
	if (kit.soft)
		is(kit_free(), before);
}

static const char managed_ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
				  ".visible .global .attribute(.managed) .align 4 .b8 both[256];\n"
				  ".visible .entry twice()\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<3>;\n"
				  "mov.u64 %rd1, both;\nld.global.u32 %r1, [%rd1];\nadd.u32 %r2, %r1, %r1;\n"
				  "st.global.u32 [%rd1], %r2;\nret;\n}\n";

/* A variable of a module that the program's own instructions reach. */
static void managed_variable(void)
{
	volatile unsigned int *both;
	unsigned int managed = 0;
	CUdeviceptr at = 0;
	size_t bytes = 0;
	CUfunction f;
	CUmodule m;

	needs(cuModuleLoadData(&m, managed_ptx));
	needs(cuModuleGetGlobal(&at, &bytes, m, "both"));
	needs(cuModuleGetFunction(&f, m, "twice"));
	is(bytes, 256);
	works(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at));
	is(managed, 1);
	both = (volatile unsigned int *)(uintptr_t)at;
	is(both[0], 0);
	both[0] = 21;
	works(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	works(cuCtxSynchronize());
	is(both[0], 42);
	works(cuModuleUnload(m));
}

static void functions(void)
{
	CUmodule m;
	CUfunction f = NULL;
	int value = -1;

	needs(cuModuleLoadData(&m, basic_ptx));
	answers(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, m, "no_such_kernel"));
	answers(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(&f, m, NULL));
	works(cuModuleGetFunction(&f, m, "reverse"));
	works(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
	ok(value >= 32 && value <= 1024);
	works(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
	ok(value > 0);
	works(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 16384));
	works(cuModuleUnload(m));
}

static void from_file(void)
{
	char path[] = "/tmp/mete-module-XXXXXX";
	int fd = mkstemp(path);
	CUmodule m;

	needs(fd < 0 ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS);
	ok(write(fd, basic_ptx, sizeof basic_ptx - 1) == (ssize_t)sizeof basic_ptx - 1);
	close(fd);
	works(cuModuleLoad(&m, path));
	kit_kernel(m, "fill");
	works(cuModuleUnload(m));
	unlink(path);
	answers(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&m, path));
}

/* Wrong PTX is refused with the documented error, and the log that was asked for says where. */
static void bad_text(void)
{
	static const char bad[] =
		".version 6.5\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n\tfrobnicate.u32;\n}\n";
	char log[1000] = "", info[1000] = "";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
				   CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)(uintptr_t)sizeof log, info, (void *)(uintptr_t)sizeof info };
	CUmodule m = (CUmodule)0x77;
	size_t before = kit_free();

	answers(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&m, bad));
	answers(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&m, bad, 4, options, values));
	tap_ok(log[0] != 0, "the error log says something: %.60s", strtok(log, "\n"));
	values[1] = (void *)(uintptr_t)sizeof log; /* the driver put there how much it wrote */
	values[3] = (void *)(uintptr_t)sizeof info;
	works(cuModuleLoadDataEx(&m, basic_ptx, 4, options, values));
	works(cuModuleUnload(m));
	answers(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&m, NULL));
	if (kit.soft)
		is(kit_free(), before);
}

/* A library belongs to no context; its kernels are launched by their handle, as the CUDA runtime does it. */
static void libraries(CUdeviceptr p)
{
	CUresult (*load)(CUlibrary *, const void *, CUjit_option *, void **, unsigned int, CUlibraryOption *, void **,
			 unsigned int);
	CUresult (*unload)(CUlibrary), (*get)(CUkernel *, CUlibrary, const char *), (*function)(CUfunction *, CUkernel);
	CUresult (*module)(CUmodule *, CUlibrary), (*global)(CUdeviceptr *, size_t *, CUlibrary, const char *);
	CUresult (*name_of)(const char **, CUfunction);
	unsigned int host[256], wrong = 0;
	size_t before = kit_free(), size;
	const char *name = NULL;
	CUfunction f = NULL;
	CUmodule m = NULL;
	CUlibrary library;
	CUdeviceptr v;
	CUkernel k;

	*(void **)&load = kit_find("cuLibraryLoadData", 12000);
	*(void **)&unload = kit_find("cuLibraryUnload", 12000);
	*(void **)&get = kit_find("cuLibraryGetKernel", 12000);
	*(void **)&function = kit_find("cuKernelGetFunction", 12000);
	*(void **)&module = kit_find("cuLibraryGetModule", 12000);
	*(void **)&global = kit_find("cuLibraryGetGlobal", 12000);
	if (!load) {
		kit_skip("libraries", "this driver is older than CUDA 12");
		return;
	}
	needs(load(&library, basic_ptx, NULL, NULL, 0, NULL, NULL, 0));
	needs(get(&k, library, "add"));
	answers(CUDA_ERROR_NOT_FOUND, get(&k, library, "no_such_kernel"));
	works(cuMemsetD32(p, 5, 256));
	works(kit_launch((CUfunction)k, p, 256, 6, NULL));
	works(function(&f, k));
	*(void **)&name_of = kit_find("cuFuncGetName", 12030);
	ok(!name_of || (name_of(&name, f) == CUDA_SUCCESS && !strcmp(name, "add")));
	works(kit_launch(f, p, 256, 7, NULL));
	works(cuMemcpyDtoH(host, p, sizeof host));
	for (int i = 0; i < 256; i++)
		wrong += host[i] != 18;
	is(wrong, 0);
	works(module(&m, library));
	if (kit.soft) /* the library's, not the program's */
		answers(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(m));
	ok(kit_kernel(m, "fill") != NULL);
	works(unload(library));

	needs(load(&library, globals_ptx, NULL, NULL, 0, NULL, NULL, 0));
	works(global(&v, &size, library, "large"));
	is(size, LARGE);
	if (kit.soft) /* NVIDIA's may have room for it in what it took before */
		ok(before - kit_free() >= LARGE);
	works(unload(library));
	if (kit.soft)
		is(kit_free(), before);
}

/* Loading code waits for no work of others: here work that waits for a kernel that is yet to be loaded. */
static void loaded_beside_work(CUdeviceptr p)
{
	CUresult (*load)(CUlibrary *, const void *, CUjit_option *, void **, unsigned int, CUlibraryOption *, void **,
			 unsigned int);
	CUresult (*unload)(CUlibrary);
	CUlibrary library;
	CUmodule m;
	CUstream s;

	*(void **)&load = kit_find("cuLibraryLoadData", 12000);
	*(void **)&unload = kit_find("cuLibraryUnload", 12000);
	if (!load || !kit.soft) {
		kit_skip("loading beside work that waits", "this driver may wait for it");
		return;
	}
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	works(cuMemsetD32(p, 0, 1));
	works(cuCtxSynchronize());
	needs(cuStreamWaitValue32(s, p, 1, CU_STREAM_WAIT_VALUE_EQ));
	works(load(&library, globals_ptx, NULL, NULL, 0, NULL, NULL, 0));
	works(cuModuleLoadData(&m, basic_ptx));
	answers(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	works(cuMemcpyHtoDAsync(p, &(unsigned int){ 1 }, 4, CU_STREAM_PER_THREAD));
	works(cuStreamSynchronize(s));
	works(unload(library));
	works(cuModuleUnload(m));
	works(cuStreamDestroy(s));
}

int main(void)
{
	CUdeviceptr p;

	kit_begin();
	needs(cuMemAlloc(&p, 4096));
	variables();
	managed_variable();
	functions();
	from_file();
	bad_text();
	libraries(p);
	loaded_beside_work(p);
	works(cuMemFree(p));
	return kit_end();
}
