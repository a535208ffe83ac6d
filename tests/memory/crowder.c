/*
 * crowder.c: a program with many contexts. In some of them, one after the other, a kernel runs until a line comes on
 * standard input, and then writes to memory of the context. The last line says how many words are wrong.
 */
#include <cuda.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry wait(.param .u64 p, .param .u64 q) {\n"
			  "	.reg .u32 %r; .reg .u64 %d; .reg .u64 %e; .reg .pred %q;\n"
			  "	ld.param.u64 %d, [p]; ld.param.u64 %e, [q];\n"
			  "again: ld.volatile.global.u32 %r, [%d]; setp.eq.u32 %q, %r, 0; @%q bra again;\n"
			  "	st.global.u32 [%e], %r; ret;\n}\n";

#define CONTEXTS 200

static void must(CUresult r, const char *what)
{
	if (!r)
		return;
	printf("%s: %d\n", what, (int)r);
	fflush(stdout);
	exit(1);
}

static unsigned int hang_in(CUcontext context, volatile uint32_t *word)
{
	CUdeviceptr word_at, at;
	uint32_t got = 0;
	CUmodule module;
	CUfunction f;
	void *args[] = { &word_at, &at };

	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&f, module, "wait"), "cuModuleGetFunction");
	must(cuMemHostGetDevicePointer(&word_at, (void *)word, 0), "cuMemHostGetDevicePointer");
	must(cuMemAlloc(&at, 1 << 20), "cuMemAlloc");
	*word = 0;
	must(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), "cuLaunchKernel");
	puts("hangs");
	fflush(stdout);
	if (getchar() == EOF)
		exit(1);
	*word = 7;
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	must(cuMemcpyDtoH(&got, at, sizeof(got)), "cuMemcpyDtoH");
	return got != 7;
}

int main(void)
{
	static CUcontext context[CONTEXTS];
	unsigned int wrong = 0;
	void *word;

	must(cuInit(0), "cuInit");
	for (int i = 0; i < CONTEXTS; i++) {
		must(cuCtxCreate(&context[i], NULL, 0, 0), "cuCtxCreate");
		must(cuCtxPopCurrent(NULL), "cuCtxPopCurrent");
	}
	must(cuCtxSetCurrent(context[0]), "cuCtxSetCurrent");
	must(cuMemHostAlloc(&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	for (int i = 0; i < 4; i++) {
		wrong += hang_in(context[20 + 59 * i], word);
		printf("round %d\n", i);
		fflush(stdout);
	}
	printf("wrong %u\n", wrong);
	return 0;
}
