/*
 * check_test.c: the checker. Each case is a process of its own: a wrong kernel or call, the error that it ends in and
 * stays, what the report says, and that a reset heals.
 */
#include "soft.h"

#include "check_ptx.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define REPORT_BYTES 8192u

static char report_path[128];
static char report[REPORT_BYTES];
static const char *mode = "report";

static void read_report(void)
{
	FILE *f = fopen(report_path, "re");
	size_t n = f ? fread(report, 1, sizeof(report) - 1, f) : 0;

	report[n] = 0;
	if (f)
		fclose(f);
}

static pid_t start(int (*f)(void))
{
	pid_t pid;

	unlink(report_path);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		setenv("METE_SOFT_CHECK", mode, 1);
		setenv("METE_LOG", report_path, 1);
		dup2(STDERR_FILENO, STDOUT_FILENO); /* what kernels print is none of the results */
		exit(f()); /* not _exit(): what happens at the end is part of it */
	}
	return pid;
}

static int finish(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	read_report();
	return status;
}

static void says(const char *what, const char *text)
{
	if (!tap_ok(strstr(report, text) != NULL, "%s: the report says \"%.*s\"", what, (int)strcspn(text, "\n"), text))
		printf("# %s\n", report);
}

/* ---- a kernel and what it does wrong ---- */

struct wrong {
	const char *name; /* of the kernel */
	uint64_t (*pointer)(void);
	uint64_t offset;
	unsigned threads;
	unsigned shared;
	CUresult error;
	const char *text[5]; /* that the report contains */
};

static const struct wrong *wrong;
static CUdeviceptr block[3];

static uint64_t live(void)
{
	return block[1];
}

static uint64_t freed(void)
{
	cuMemFree(block[1]);
	return block[1];
}

static uint64_t freed_in_order(void)
{
	CUdeviceptr p = 0;

	cuMemAllocAsync(&p, 1000, NULL);
	cuMemFreeAsync(p, NULL);
	return p;
}

static uint64_t null(void)
{
	return 0;
}

static uint64_t pinned(void)
{
	void *p = NULL;

	cuMemHostAlloc(&p, 1000, 0);
	return (uintptr_t)p;
}

static uint64_t own(void)
{
	static uint32_t variable[64];

	return (uintptr_t)variable;
}

static uint64_t of_other_device(void)
{
	CUcontext here, other;
	CUdeviceptr p = 0;

	cuCtxGetCurrent(&here);
	cuDevicePrimaryCtxRetain(&other, 1);
	cuCtxSetCurrent(other);
	cuMemAlloc(&p, 4096);
	cuCtxSetCurrent(here);
	return p;
}

static CUresult launch(CUmodule module, const struct wrong *w)
{
	uint64_t p = w->pointer ? w->pointer() : 0, offset = w->offset;
	void *args[] = { &p, &offset };
	CUfunction f;

	if (cuModuleGetFunction(&f, module, w->name))
		return CUDA_ERROR_NOT_FOUND;
	return cuLaunchKernel(f, 1, 1, 1, w->threads ? w->threads : 1, 1, 1, w->shared, NULL, args, NULL);
}

static int no(const char *what, CUresult got)
{
	const char *name = "?";

	cuGetErrorName(got, &name);
	printf("# %s: %s: %s\n", wrong ? wrong->name : "", what, name);
	return 1;
}

/* The device is as new after a reset. */
static int heals(void)
{
	CUcontext c;
	CUmodule module;
	CUdeviceptr p;
	uint32_t value = 0;
	CUresult e = cuDevicePrimaryCtxReset(0);
	uint64_t offset = 0;
	void *args[] = { &p, &offset };
	CUfunction f;

	if (e || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c) || cuModuleLoadData(&module, check_ptx) ||
	    cuMemAlloc(&p, 4) || cuModuleGetFunction(&f, module, "poke") ||
	    cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) || cuMemcpyDtoH(&value, p, 4) || value != 7)
		return no("after a reset", e);
	return 0;
}

static int do_wrong(void)
{
	CUcontext c;
	CUmodule module;
	CUdeviceptr p;
	CUresult e;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c) || cuModuleLoadData(&module, check_ptx))
		return no("the beginning", 0);
	for (int i = 0; i < 3; i++)
		if (cuMemAlloc(&block[i], 1000))
			return no("cuMemAlloc", 0);
	e = launch(module, wrong);
	if (e)
		return no("the launch", e);
	e = cuCtxSynchronize();
	if (e != wrong->error)
		return no("the first error", e);
	if (!e)
		return 0;
	if (cuMemAlloc(&p, 512) != e || cuCtxSynchronize() != e || cuMemFree(block[0]) != e ||
	    cuStreamSynchronize(NULL) != e || cuMemcpyDtoH(&p, block[0], 8) != e)
		return no("the error does not stay", cuCtxSynchronize());
	return heals();
}

#define ILLEGAL CUDA_ERROR_ILLEGAL_ADDRESS

static const struct wrong kernels[] = {
	{ "poke", live, 1000, 1, 0, ILLEGAL, { "mete: check: invalid write of 4 bytes in global memory (CUDA_ERROR_ILLEGAL_ADDRESS)", " is 0 bytes after the end of 1000 bytes at 0x", "by cuMemAlloc, live", "in kernel poke, grid (1,1,1) of blocks (1,1,1)" } },
	{ "poke", live, 998, 1, 0, CUDA_ERROR_MISALIGNED_ADDRESS, { "misaligned write of 4 bytes in global memory" } },
	{ "poke", live, 996, 1, 0, CUDA_SUCCESS, { 0 } },
	{ "poke", live, 900, 32, 0, ILLEGAL, { "by thread (25,0,0) of block (0,0,0), and 6 more of its warp" } },
	{ "poke", live, (uint64_t)-8, 1, 0, ILLEGAL, { " is 8 bytes before the beginning of 1000 bytes" } },
	{ "poke", freed, 16, 1, 0, ILLEGAL, { "is in freed memory: offset 16 of 1000 bytes", "cuMemAlloc, freed" } },
	{ "poke", freed_in_order, 16, 1, 0, ILLEGAL, { "is in freed memory: offset 16 of 1000 bytes", "cuMemAllocAsync, freed" } },
	{ "poke", null, 0, 1, 0, ILLEGAL, { "address 0x0 is the null pointer" } },
	{ "poke", own, 0, 1, 0, ILLEGAL, { "is the program's own memory" } },
	{ "poke", pinned, 1000, 1, 0, ILLEGAL, { " is 0 bytes after the end of 1000 bytes at 0x", "by cuMemHostAlloc, live" } },
	{ "poke", of_other_device, 0, 1, 0, ILLEGAL, { "is in memory of device 1, to which device 0 has no access" } },
	{ "poke_v4", live, 8, 1, 0, CUDA_ERROR_MISALIGNED_ADDRESS, { "misaligned write of 16 bytes", "at st.global.v4.u32 [%rd3], {%r1, %r1, %r1, %r1};" } },
	{ "poke_v4", live, 992, 1, 0, ILLEGAL, { "invalid write of 16 bytes", ": the 16 bytes from there go 8 bytes beyond the end of 1000 bytes" } },
	{ "far_local", live, 1ll << 46, 1, 0, ILLEGAL, { "invalid write of 4 bytes in local memory", "address is far outside the thread's local memory" } },
	{ "release", live, 4, 32, 0, CUDA_SUCCESS, { "free in a kernel: invalid free", " is offset 4 of 1000 bytes" } },
	{ "_Z5scalePfi", live, 1000, 1, 0, ILLEGAL, { "in kernel scale(float*, int), grid", "invalid read of 4 bytes", "at /src/scale.cu:7\n" } },
	{ "_Z5outerPVKfi", live, 1000, 1, 0, ILLEGAL, { "in kernel outer(float const volatile*, int), grid", "  at /src/scale.h:50\n", "  inlined at /src/scale.cu:9\n" } },
	{ "in_function", live, 1000, 1, 0, ILLEGAL, { "in kernel in_function", "in function helper(float*), called by it" } },
	{ "atomic", live, 1000, 1, 0, ILLEGAL, { "invalid atomic operation of 8 bytes" } },
	{ "atomic_local", NULL, 0, 1, 0, CUDA_ERROR_INVALID_ADDRESS_SPACE, { "atomic operation on local memory, where there is none" } },
	{ "share", NULL, 64, 1, 0, ILLEGAL, { "invalid write of 4 bytes in shared memory", "address is 0 bytes after the end of the block's shared memory, 64 bytes (64 static, 0 dynamic)" } },
	{ "share", NULL, (uint64_t)-4, 1, 0, ILLEGAL, { "address is 4 bytes before the beginning of the block's shared memory" } },
	{ "share", NULL, 2, 1, 0, CUDA_ERROR_MISALIGNED_ADDRESS, { "misaligned write of 4 bytes in shared memory", "address is offset 2 of the block's shared memory" } },
	{ "share", NULL, 64, 1, 128, CUDA_SUCCESS, { 0 } },
	{ "share", NULL, 192, 1, 128, ILLEGAL, { "192 bytes (64 static, 128 dynamic)" } },
	{ "share_generic", NULL, 64, 1, 0, ILLEGAL, { "in shared memory", "address is 0 bytes after the end of the block's shared memory" } },
	{ "local", NULL, 28, 33, 0, CUDA_SUCCESS, { 0 } },
	{ "local", NULL, 32, 33, 0, ILLEGAL, { "invalid write of 4 bytes in local memory", "address is 0 bytes after the end of the thread's local memory, 32 bytes", "and 31 more of its warp" } },
	{ "local", NULL, (uint64_t)-4, 33, 0, ILLEGAL, { "address is 4 bytes before the beginning of the thread's local memory" } },
	{ "local", NULL, 2, 1, 0, CUDA_ERROR_MISALIGNED_ADDRESS, { "misaligned write of 4 bytes in local memory" } },
	{ "write_constant", NULL, 0, 1, 0, ILLEGAL, { "is offset 0 of 16 bytes", "(variable table, live), which is read only" } },
	{ "read_constant", NULL, 0, 1, 0, CUDA_SUCCESS, { 0 } },
	{ "read_constant", NULL, 16, 1, 0, ILLEGAL, { "invalid read of 4 bytes in constant memory", " is 0 bytes after the end of 16 bytes" } },
	{ "stop", NULL, 0, 1, 0, CUDA_ERROR_LAUNCH_FAILED, { "trap (CUDA_ERROR_LAUNCH_FAILED)", "at trap;" } },
	{ "doubt", NULL, 0, 1, 0, CUDA_ERROR_ASSERT, { "failed assertion (CUDA_ERROR_ASSERT)" } },
	{ "call_nowhere", NULL, 0x1234, 1, 0, CUDA_ERROR_INVALID_PC, { "call or jump to 0x1234" } },
	{ "deep", NULL, 0, 1, 0, CUDA_ERROR_HARDWARE_STACK_ERROR, { "stack overflow: the calls of a thread need more than its 16384 bytes of stack; CU_LIMIT_STACK_SIZE sets them" } },
	{ "barrier_number", NULL, 16, 32, 0, CUDA_ERROR_ILLEGAL_INSTRUCTION, { "barrier 16, but they are numbered 0 to 15" } },
	{ "barrier_count", NULL, 48, 64, 0, CUDA_ERROR_ILLEGAL_INSTRUCTION, { "barrier for 48 threads, which is no multiple of 32" } },
	{ "barrier_count", NULL, 96, 64, 0, CUDA_ERROR_LAUNCH_TIMEOUT, { "deadlock: 64 threads of the block wait at barriers that cannot complete", "at barrier.sync 1, %r1;" } },
	{ "barrier_divergent", NULL, 0, 64, 0, CUDA_SUCCESS, { 0 } },
	{ "syncthreads_divergent", NULL, 0, 64, 0, CUDA_ERROR_ILLEGAL_INSTRUCTION, { "barrier in divergent code: other threads of the warp wait at another barrier", "at bar.sync 0;" } },
	{ "syncthreads_together", NULL, 0, 64, 0, CUDA_SUCCESS, { 0 } },
};

static void wrong_kernels(void)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		int status;

		wrong = &kernels[i];
		status = finish(start(do_wrong));
		if (!tap_ok(!status, "%s, offset %lld: the documented error stays, a reset heals", wrong->name,
			    (long long)wrong->offset))
			printf("# %s\n", report);
		for (int k = 0; k < 5 && wrong->text[k]; k++)
			says(wrong->name, wrong->text[k]);
		if (!wrong->error && !wrong->text[0])
			tap_ok(!report[0], "%s, offset %lld: no report", wrong->name, (long long)wrong->offset);
	}
	wrong = NULL;
}

/* ---- the other modes ---- */

static const struct wrong past_the_end = { "poke", live, 1000, 1, 0, CUDA_SUCCESS, { 0 } };
static const struct wrong past_the_end_strict = { "poke", live, 1000, 1, 0, ILLEGAL, { 0 } };
static const struct wrong other_device = { "poke", of_other_device, 0, 1, 0, ILLEGAL, { 0 } };

static int bad_mode(void)
{
	return cuInit(0) != CUDA_ERROR_INVALID_VALUE;
}

static void modes(void)
{
	mode = "off";
	wrong = &past_the_end;
	tap_ok(!finish(start(do_wrong)), "off: what a granule holds can be touched, as on hardware");
	wrong = &other_device;
	tap_ok(!finish(start(do_wrong)), "off: another device's memory needs peer access, as on hardware");
	mode = "strict";
	wrong = &past_the_end_strict;
	tap_ok(!finish(start(do_wrong)), "strict: an access behind the end is a fault");
	tap_ok(!strstr(report, "mete: check:"), "strict: no report");
	says("strict", "mete: kernel poke: CUDA_ERROR_ILLEGAL_ADDRESS");
	wrong = NULL;
	mode = "sometimes";
	tap_ok(!finish(start(bad_mode)), "a mode that does not exist is refused");
	says("a bad mode", "METE_SOFT_CHECK=sometimes: give off, strict, report or report,leaks");
	mode = "report";
}

/* The limit is what recursion may use. */
static int deep_enough(void)
{
	static const struct wrong deep = { .name = "deep" };
	CUcontext c;
	CUmodule module;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c) || cuModuleLoadData(&module, check_ptx))
		return no("the beginning", 0);
	return cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 128 << 10) || launch(module, &deep) || cuCtxSynchronize();
}

static void stack(void)
{
	tap_ok(!finish(start(deep_enough)), "CU_LIMIT_STACK_SIZE gives recursion more stack");
	tap_ok(!report[0], "and nothing is reported");
}

/* ---- calls ---- */

static int wrong_calls(void)
{
	CUcontext c;
	CUdeviceptr p, q;
	char buffer[2048];
	int bad = 0;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c) || cuMemAlloc(&p, 1000) ||
	    cuMemAlloc(&q, 2000))
		return 1;
	bad += cuMemFree(p + 8) != CUDA_ERROR_INVALID_VALUE;
	bad += cuMemcpyDtoH(buffer, p, 1001) != CUDA_ERROR_INVALID_VALUE;
	bad += cuMemcpyHtoD(q + 1000, buffer, 1500) != CUDA_ERROR_INVALID_VALUE;
	bad += cuMemsetD8(p, 1, 1004) != CUDA_ERROR_INVALID_VALUE;
	bad += cuMemFreeHost(buffer) != CUDA_ERROR_INVALID_VALUE;
	bad += cuMemFree(p) != CUDA_SUCCESS;
	bad += cuMemFree(p) != CUDA_ERROR_INVALID_VALUE;
	bad += cuCtxSynchronize() != CUDA_SUCCESS;
	bad += cuMemFree(q) != CUDA_SUCCESS;
	return bad;
}

static int leaky(void)
{
	CUcontext c, other;
	CUdeviceptr p;

	if (cuInit(0) || cuCtxCreate(&other, NULL, 0, 0) || cuMemAlloc(&p, 300) || cuCtxDestroy(other))
		return 1;
	return cuDevicePrimaryCtxRetain(&c, 1) || cuCtxSetCurrent(c) || cuMemAlloc(&p, 1000) || cuMemAlloc(&p, 2000);
}

static void calls(void)
{
	tap_ok(!finish(start(wrong_calls)), "wrong calls are refused and nothing stays");
	says("a free", "cuMemFree: invalid free\n");
	says("a free", " is offset 8 of 1000 bytes");
	says("a copy", "invalid copy: what is read lies outside memory that a copy may read");
	says("a copy", "invalid copy: what is written lies outside");
	says("a copy", ": the 1500 bytes from there go 500 bytes beyond the end of 2000 bytes");
	says("a fill", "invalid fill: it goes beyond memory");
	says("a free of host memory", "cuMemFreeHost: invalid free\nmete: check:   address 0x");
	says("a second free", "is in freed memory: offset 0 of 1000 bytes");
	tap_ok(!finish(start(leaky)), "what is not freed is no error");
	tap_ok(!report[0], "leaks are not reported unless asked for");
	mode = "report,leaks";
	tap_ok(!finish(start(leaky)), "with leaks reported, too");
	says("a context that is destroyed", "leak: 300 bytes in 1 allocation on device 0 was not freed");
	says("exit", "leak: 3000 bytes in 2 allocations on device 1 were not freed");
	mode = "report";
}

/* ---- kernels without end ---- */

static const struct wrong endless = { .name = "endless", .threads = 64 };
static CUmodule endless_module;

static int begin_endless(void)
{
	CUcontext c;

	return cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c) ||
	       cuModuleLoadData(&endless_module, check_ptx) || launch(endless_module, &endless);
}

static int wait_endless(void)
{
	return begin_endless() || cuCtxSynchronize();
}

static int limit_endless(void)
{
	setenv("METE_SOFT_TIMEOUT", "0.2", 1);
	if (begin_endless() || cuCtxSynchronize() != CUDA_ERROR_LAUNCH_TIMEOUT ||
	    cuCtxSynchronize() != CUDA_ERROR_LAUNCH_TIMEOUT)
		return no("with a limit", cuCtxSynchronize());
	return heals();
}

static void unload_endless(void)
{
	if (cuCtxSynchronize() != CUDA_ERROR_DEINITIALIZED)
		_exit(no("at the exit, what was cut", CUDA_SUCCESS));
	cuModuleUnload(endless_module);
	cuDevicePrimaryCtxReset(0);
}

/* The program's own handler comes later than the device's. It neither waits for ever nor is told that all is done. */
static int exit_endless(void)
{
	atexit(unload_endless);
	return begin_endless();
}

static void kernels_without_end(void)
{
	static const int deadly[] = { SIGINT, SIGTERM };
	struct timespec a, b;
	int status;
	pid_t pid;

	tap_ok(!finish(start(limit_endless)), "METE_SOFT_TIMEOUT ends a kernel, and a reset heals");
	says("a limit", "the kernel ran for longer than METE_SOFT_TIMEOUT allows (CUDA_ERROR_LAUNCH_TIMEOUT)");
	says("a limit", "in kernel endless");
	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++) {
		pid = start(wait_endless);
		nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
		kill(pid, deadly[i]);
		status = finish(pid);
		tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == deadly[i], "signal %d ends a process that waits for one",
		       deadly[i]);
	}
	clock_gettime(CLOCK_MONOTONIC, &a);
	status = finish(start(exit_endless));
	clock_gettime(CLOCK_MONOTONIC, &b);
	tap_ok(!status, "exit() while it runs: the exit status is the program's");
	tap_ok(b.tv_sec - a.tv_sec < 20, "exit() ends it");
	tap_ok(!report[0], "and nothing is reported");
}

/* ---- the file of reports ---- */

static void report_file(void)
{
	char path[160], line[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s.more", report_path);
	unlink(path);
	setenv("METE_SOFT_REPORT", path, 1);
	wrong = &kernels[0];
	tap_ok(!finish(start(do_wrong)), "a wrong kernel with METE_SOFT_REPORT");
	unsetenv("METE_SOFT_REPORT");
	f = fopen(path, "re");
	tap_ok(f && fgets(line, sizeof(line), f) && !strncmp(line, "mete: check: invalid write", 26),
	       "the file has the report");
	if (f)
		fclose(f);
	unlink(path);
	wrong = NULL;
}

int main(void)
{
	soft_begin("2", "64M");
	mkdir(soft_dir, 0700);
	snprintf(report_path, sizeof(report_path), "%s/report", soft_dir);
	wrong_kernels();
	modes();
	stack();
	calls();
	kernels_without_end();
	report_file();
	unlink(report_path);
	return soft_end();
}
