/* jit_test.c: options of loading and linking: logs, sizes, times; links from memory and files; what is refused. */
#include "softdev/soft.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static char good[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
		     ".visible .entry first(.param .u64 p) { .shared .align 4 .b8 s[512]; .reg .b32 %r;\n"
		     "st.shared.u32 [s], %r; ret; }\n"
		     ".visible .entry second() { ret; }\n";
static char bad[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() { frobnicate.u32 1; }\n";
static char caller[] = ".version 7.0\n.target sm_70\n.address_size 64\n.extern .func help();\n"
		       ".visible .entry run() { call.uni help, (); ret; }\n";
static char helper[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .func help() { ret; }\n";

struct logs {
	char error[512], info[512];
	CUjit_option option[8];
	void *value[8];
};

static struct logs logs_new(void)
{
	return (struct logs){
		.error = "x",
		.info = "x",
		.option = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
			    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_WALL_TIME, CU_JIT_LOG_VERBOSE,
			    CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_MAX_REGISTERS },
		.value = { NULL, (void *)512, NULL, (void *)512, NULL, (void *)1, (void *)3, (void *)32 },
	};
}

static float wall(const struct logs *l)
{
	float ms;

	memcpy(&ms, &l->value[4], sizeof(ms));
	return ms;
}

static void loading(void)
{
	struct logs l = logs_new();
	CUfunction f[3] = { NULL };
	CUlibrary library;
	unsigned count;
	CUmodule m;

	l.value[0] = l.error;
	l.value[2] = l.info;
	CU(cuModuleLoadDataEx(&m, good, 8, l.option, l.value));
	is_str(l.error, "");
	is((uintptr_t)l.value[1], 0);
	ok(strstr(l.info, "kernel first: ") && strstr(l.info, "512 bytes shared") && strstr(l.info, "kernel second: "));
	is((uintptr_t)l.value[3], strlen(l.info) + 1);
	ok(wall(&l) > 0 && wall(&l) < 10000);
	CU(cuModuleGetFunctionCount(&count, m));
	is(count, 2);
	CU(cuModuleEnumerateFunctions(f, 3, m));
	ok(f[0] && f[1] && f[0] != f[1] && !f[2]);
	CU(cuModuleUnload(m));
	/* Without the wish to know, nothing is told. */
	l.value[5] = NULL;
	l.value[3] = (void *)512;
	CU(cuModuleLoadDataEx(&m, good, 8, l.option, l.value));
	is_str(l.info, "");
	CU(cuModuleUnload(m));
	/* A buffer that is too small gets what fits, with its end. */
	l.value[5] = (void *)1;
	l.value[3] = (void *)16;
	CU(cuModuleLoadDataEx(&m, good, 8, l.option, l.value));
	is(strlen(l.info), 15);
	CU(cuModuleUnload(m));
	l.value[1] = (void *)10;
	FAILS(cuModuleLoadDataEx(&m, bad, 8, l.option, l.value), CUDA_ERROR_INVALID_PTX);
	is(strlen(l.error), 9);
	is((uintptr_t)l.value[1], 10);
	l.value[1] = (void *)512;
	l.value[3] = (void *)512;
	FAILS(cuLibraryLoadData(&library, bad, l.option, l.value, 8, NULL, NULL, 0), CUDA_ERROR_INVALID_PTX);
	ok(strstr(l.error, "frobnicate") != NULL);
	l.value[1] = (void *)512;
	l.value[3] = (void *)512;
	CU(cuLibraryLoadData(&library, good, l.option, l.value, 8, NULL, NULL, 0));
	ok(strstr(l.info, "kernel second") != NULL && wall(&l) > 0);
	CU(cuLibraryUnload(library));
	l.option[7] = (CUjit_option)1000;
	FAILS(cuModuleLoadDataEx(&m, good, 8, l.option, l.value), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuModuleLoadDataEx(&m, good, 1, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void file_write(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "w");

	ok(f && fwrite(data, 1, bytes, f) == bytes);
	if (f)
		fclose(f);
}

static void linking(void)
{
	/* An ELF header for a GPU and nothing else: machine code without PTX. */
	static const unsigned char cubin[128] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, 0x33, 7, [16] = 2, 0, 190, 0, 1 };
	struct logs l = logs_new();
	char path[100];
	CUlinkState link;
	CUfunction f;
	void *image;
	size_t bytes;
	CUmodule m;

	snprintf(path, sizeof(path), "%s/helper.ptx", soft_dir);
	file_write(path, helper, sizeof(helper) - 1);
	l.value[0] = l.error;
	l.value[2] = l.info;
	CU(cuLinkCreate(8, l.option, l.value, &link));
	CU(cuLinkAddData(link, CU_JIT_INPUT_PTX, caller, sizeof(caller), "caller", 0, NULL, NULL));
	FAILS(cuLinkComplete(link, &image, &bytes), CUDA_ERROR_INVALID_PTX);
	ok(strstr(l.error, "help") != NULL);
	CU(cuLinkAddFile(link, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
	FAILS(cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/nonexistent.ptx", 0, NULL, NULL), CUDA_ERROR_FILE_NOT_FOUND);
	FAILS(cuLinkAddFile(link, CU_JIT_INPUT_PTX, NULL, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLinkAddData(link, CU_JIT_INPUT_CUBIN, (void *)(uintptr_t)cubin, sizeof(cubin), "c", 0, NULL, NULL),
	      CUDA_ERROR_NO_BINARY_FOR_GPU);
	FAILS(cuLinkAddData(link, (CUjitInputType)99, helper, sizeof(helper), "h", 0, NULL, NULL),
	      CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLinkAddData(link, CU_JIT_INPUT_PTX, NULL, 5, "h", 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuLinkComplete(link, &image, &bytes));
	ok(strstr(l.info, "kernel run: ") != NULL && wall(&l) > 0);
	CU(cuModuleLoadData(&m, image));
	CU(cuModuleGetFunction(&f, m, "run"));
	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CU(cuCtxSynchronize());
	CU(cuModuleUnload(m));
	/* The image is the link's: kept in a file it is one that can be loaded and linked again. */
	snprintf(path, sizeof(path), "%s/linked.fatbin", soft_dir);
	file_write(path, image, bytes);
	CU(cuLinkDestroy(link));
	CU(cuModuleLoad(&m, path));
	CU(cuModuleGetFunction(&f, m, "run"));
	CU(cuModuleUnload(m));
	CU(cuLinkCreate(0, NULL, NULL, &link));
	CU(cuLinkAddFile(link, CU_JIT_INPUT_FATBINARY, path, 0, NULL, NULL));
	CU(cuLinkComplete(link, &image, &bytes));
	FAILS(cuLinkAddData(link, CU_JIT_INPUT_PTX, helper, sizeof(helper), "late", 0, NULL, NULL),
	      CUDA_ERROR_INVALID_VALUE);
	CU(cuModuleLoadFatBinary(&m, image));
	CU(cuModuleUnload(m));
	CU(cuLinkDestroy(link));
	CU(cuLinkCreate(0, NULL, NULL, &link));
	FAILS(cuLinkComplete(link, &image, &bytes), CUDA_ERROR_INVALID_VALUE); /* nothing to link */
	CU(cuLinkDestroy(link));
	unlink(path);
	snprintf(path, sizeof(path), "%s/helper.ptx", soft_dir);
	unlink(path);
}

/* A kernel that holds 60 values at once; `tuning` stands before its body. */
static char *heavy(const char *tuning)
{
	static char text[16384];
	size_t n = (size_t)snprintf(text, sizeof(text),
				    ".version 7.0\n.target sm_70\n.address_size 64\n"
				    ".visible .entry heavy(.param .u64 p) %s { .reg .u32 %%r<64>; .reg .u64 %%p;\n"
				    "ld.param.u64 %%p, [p];\n",
				    tuning);

	for (int i = 0; i < 60; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "ld.global.u32 %%r%d, [%%p+%d];\n", i, 4 * i);
	for (int i = 0; i < 60; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "st.global.u32 [%%p+%d], %%r%d;\n", 4 * i, 59 - i);
	snprintf(text + n, sizeof(text) - n, "ret; }\n");
	return text;
}

static int registers_of(CUmodule m)
{
	CUfunction f;
	int n = -1;

	CU(cuModuleGetFunction(&f, m, "heavy"));
	CU(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
	CU(cuModuleUnload(m));
	return n;
}

/* The limit of registers that a load, a link, or the text itself sets is what the attribute says at most. */
static void registers(void)
{
	CUjit_option option = CU_JIT_MAX_REGISTERS;
	void *value = (void *)32, *image;
	CUlinkState link;
	CUlibrary library;
	CUkernel kernel;
	CUfunction f;
	size_t bytes;
	CUmodule m;
	int n;

	CU(cuModuleLoadData(&m, heavy("")));
	ok(registers_of(m) > 60);
	CU(cuModuleLoadDataEx(&m, heavy(""), 1, &option, &value));
	is(registers_of(m), 32);
	CU(cuModuleLoadData(&m, heavy(".maxnreg 40")));
	is(registers_of(m), 40);
	CU(cuModuleLoadDataEx(&m, heavy(".maxnreg 24"), 1, &option, &value));
	is(registers_of(m), 24);
	CU(cuLibraryLoadData(&library, heavy(""), &option, &value, 1, NULL, NULL, 0));
	CU(cuLibraryGetKernel(&kernel, library, "heavy"));
	CU(cuKernelGetFunction(&f, kernel));
	CU(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
	is(n, 32);
	CU(cuLibraryUnload(library));
	CU(cuLinkCreate(1, &option, &value, &link));
	CU(cuLinkAddData(link, CU_JIT_INPUT_PTX, heavy(""), strlen(heavy("")) + 1, "h", 0, NULL, NULL));
	CU(cuLinkComplete(link, &image, &bytes));
	CU(cuModuleLoadData(&m, image));
	is(registers_of(m), 32);
	CU(cuLinkDestroy(link));
}

int main(void)
{
	CUmoduleLoadingMode mode;

	soft_begin("1", "64M");
	soft_context();
	CU(cuModuleGetLoadingMode(&mode));
	ok(mode == CU_MODULE_EAGER_LOADING || mode == CU_MODULE_LAZY_LOADING);
	loading();
	linking();
	registers();
	return soft_end();
}
