/*
 * moved.c: a program whose moves are measured: moved BYTES
 *
 * Holds BYTES in one block. First it says how long a plain copy of them takes, out and back ("plain OUT BACK", the
 * least of five). Then it works without a pause, a short kernel at a time, and waits for each. For each line on
 * standard input it says how long the longest of these took since the line before ("longest SECONDS"). At the end of
 * standard input it says how many words are not what they have to be.
 */
#include <cuda.h>

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry add(.param .u64 p) {\n"
	"	.reg .u64 %d; .reg .u32 %r;\n"
	"	ld.param.u64 %d, [p]; ld.global.u32 %r, [%d]; add.u32 %r, %r, 1; st.global.u32 [%d], %r; ret;\n}\n";

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(CUresult r, const char *what)
{
	if (!r)
		return;
	printf("failed %s: %d\n", what, (int)r);
	exit(1);
}

static double lesser(double a, double b)
{
	return a < b ? a : b;
}

/* Standard input has a line: 1; it has ended: -1. */
static int asked(void)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };
	char c = 0;

	if (poll(&p, 1, 0) <= 0)
		return 0;
	return read(0, &c, 1) == 1 ? c == '\n' : -1;
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, wrong = 0;
	double out = 1e9, back = 1e9, began, longest = 0;
	uint32_t *host = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUcontext context;
	CUfunction add;
	CUmodule module;
	uint32_t steps = 0;
	CUdeviceptr at;
	void *args[] = { &at };
	int r;

	if (bytes < 8 || host == MAP_FAILED)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&add, module, "add"), "cuModuleGetFunction");
	must(cuMemAlloc(&at, bytes), "cuMemAlloc");
	for (size_t i = 0; i < bytes / 4; i++)
		host[i] = (uint32_t)i;
	for (int i = 0; i < 5; i++) {
		began = now();
		must(cuMemcpyHtoD(at, host, bytes), "cuMemcpyHtoD");
		must(cuCtxSynchronize(), "cuCtxSynchronize"); /* the program has its memory back by then */
		back = lesser(back, now() - began);
		began = now();
		must(cuMemcpyDtoH(host, at, bytes), "cuMemcpyDtoH");
		out = lesser(out, now() - began);
	}
	printf("plain %.6f %.6f\n", out, back);
	while ((r = asked()) >= 0) {
		if (r) {
			printf("longest %.6f\n", longest);
			longest = 0;
		}
		began = now();
		must(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), "cuLaunchKernel");
		must(cuCtxSynchronize(), "cuCtxSynchronize");
		longest = now() - began > longest ? now() - began : longest;
		steps++;
	}
	must(cuMemcpyDtoH(host, at, bytes), "cuMemcpyDtoH");
	for (size_t i = 1; i < bytes / 4; i++)
		wrong += host[i] != (uint32_t)i;
	printf("wrong %zu longest 0\n", wrong + (host[0] != steps));
	return 0;
}
