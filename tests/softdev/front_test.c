/*
 * front_test.c: kernels that read a little before the first allocation of a device. On hardware there is memory of the
 * driver's, and programs have such reads without knowing; the checker finds them.
 */
#include "soft.h"

#include <sys/wait.h>

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			   ".visible .entry peek(.param .u64 p) {\n"
			   "  .reg .u64 %r<2>;\n"
			   "  .reg .u32 %v<2>;\n"
			   "  ld.param.u64 %r1, [p];\n"
			   "  ld.global.u32 %v1, [%r1+-4];\n"
			   "  st.global.u32 [%r1], %v1;\n"
			   "  ret;\n"
			   "}\n";

/* The first allocation of so many bytes. Value: what became of the kernel, below 200; else what went wrong before. */
static int peek_main(size_t bytes)
{
	CUcontext c;
	CUmodule m;
	CUfunction f;
	CUdeviceptr p;
	uint32_t v = 1;
	void *params[] = { &p };
	CUresult e;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c) || cuMemAlloc(&p, bytes) ||
	    cuModuleLoadData(&m, text) || cuModuleGetFunction(&f, m, "peek"))
		return 200;
	if (cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL))
		return 201;
	e = cuCtxSynchronize();
	if (e)
		return e == CUDA_ERROR_ILLEGAL_ADDRESS ? 1 : 202;
	return cuMemcpyDtoH(&v, p, 4) || v ? 203 : 0;
}

static int peek(const char *check, const char *bytes)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		setenv("METE_SOFT_CHECK", check, 1);
		execl("/proc/self/exe", "front_test", bytes, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

int main(int argc, char **argv)
{
	static const char *const sizes[] = { "64", "1000000" };

	if (argc == 2)
		return peek_main(strtoull(argv[1], NULL, 10));
	soft_begin("1", "64M");
	ok(!mkdir(soft_dir, 0700));
	for (int i = 0; i < 2; i++) {
		is(peek("off", sizes[i]), 0);
		is(peek("strict", sizes[i]), 1);
	}
	return soft_end();
}
