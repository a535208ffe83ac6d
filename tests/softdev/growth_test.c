/*
 * growth_test.c: what stays behind: memory of this process after many launches and module loads, and what a large
 * device costs that is hardly touched.
 */
#include "softdev/soft.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LAUNCHES 10000
#define LOADS 1000
#define MIB ((size_t)1 << 20)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			   ".visible .global .align 4 .b8 table[64];\n"
			   ".visible .entry k(.param .u64 p)\n{\n"
			   ".reg .b64 %rd<4>; .reg .b32 %r<4>; .shared .align 4 .b8 s[4096];\n"
			   "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
			   "add.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r2, [%rd3];\nadd.s32 %r2, %r2, 1;\n"
			   "st.global.u32 [%rd3], %r2;\nret;\n}\n";

/* Bytes of this process that are in memory and its own; the device's memory is shared or not, as it likes. */
static size_t resident(void)
{
	unsigned long size = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu %lu", &size, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A sanitizer keeps what has been freed, and finds what has not by itself. */
static void grew_little(size_t before, size_t most, const char *what)
{
	const size_t after = resident();
	const size_t grown = after > before ? after - before : 0;

#ifdef SANITIZED
	tap_ok(true, "%s: %zu KiB more, under a sanitizer", what, grown >> 10);
#else
	tap_ok(grown <= most, "%s: %zu KiB more, at most %zu", what, grown >> 10, most >> 10);
#endif
}

static bool module_turn(void)
{
	CUfunction f;
	CUmodule m;

	return !cuModuleLoadData(&m, text) && !cuModuleGetFunction(&f, m, "k") && !cuModuleUnload(m);
}

static void loads(void)
{
	unsigned failed = 0;
	size_t before, all;

	for (int i = 0; i < LOADS / 10; i++) /* pools and tables fill up */
		failed += !module_turn();
	before = resident();
	all = soft_free();
	for (int i = 0; i < LOADS; i++)
		failed += !module_turn();
	is(failed, 0);
	is(soft_free(), all);
	grew_little(before, MIB, "1000 modules loaded and unloaded");
}

static void launches(void)
{
	CUdeviceptr p;
	unsigned failed = 0, value = 0;
	void *params[] = { &p };
	CUfunction f;
	CUmodule m;
	size_t before;

	CU(cuModuleLoadData(&m, text));
	CU(cuModuleGetFunction(&f, m, "k"));
	CU(cuMemAlloc(&p, 4096));
	CU(cuMemsetD32(p, 0, 1024));
	for (int i = 0; i < LAUNCHES / 10; i++)
		failed += cuLaunchKernel(f, 1, 1, 1, 1024, 1, 1, 0, NULL, params, NULL) != CUDA_SUCCESS;
	CU(cuCtxSynchronize());
	before = resident();
	for (int i = 0; i < LAUNCHES; i++) {
		/* queued by the hundred, of many shapes */
		failed += cuLaunchKernel(f, 1, 1, 1, i % 7 ? 1024 : 32, 1, 1, 0, NULL, params, NULL) != CUDA_SUCCESS;
		if (i % 100 == 99)
			failed += cuCtxSynchronize() != CUDA_SUCCESS;
	}
	is(failed, 0);
	grew_little(before, MIB, "10000 launches");
	CU(cuMemcpyDtoH(&value, p, sizeof(value)));
	is(value, LAUNCHES / 10 + LAUNCHES);
	CU(cuMemFree(p));
	CU(cuModuleUnload(m));
}

/* 12 GiB of a device of 16 are taken and one is touched here and there. */
static void touched(void)
{
	const size_t before = resident();
	CUdeviceptr p;

	CU(cuMemAlloc(&p, 12288 * MIB));
	for (int i = 0; i < 12; i++)
		CU(cuMemsetD8(p + (size_t)i * 1024 * MIB, 1, 4096));
	grew_little(before, 4 * MIB, "12 GiB with 12 pages touched");
	CU(cuMemFree(p));
}

int main(void)
{
	soft_begin("1", "16G");
	soft_context();
	touched();
	loads();
	launches();
	return soft_end();
}
