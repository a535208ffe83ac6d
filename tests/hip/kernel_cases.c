/* kernel_cases.c: kernels, and the order of what a stream does. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

#ifndef SHAPE_PREFIX
#define SHAPE_PREFIX "hip"
#endif

static const char code[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			   ".visible .entry square(.param .u64 p)\n{\n"
			   "	.reg .b32 %r<4>;\n	.reg .b64 %rd<4>;\n"
			   "	ld.param.u64 %rd1, [p];\n"
			   "	mov.u32 %r1, %tid.x;\n"
			   "	mul.lo.s32 %r2, %r1, %r1;\n"
			   "	mul.wide.s32 %rd2, %r1, 4;\n"
			   "	add.s64 %rd3, %rd1, %rd2;\n"
			   "	st.global.u32 [%rd3], %r2;\n"
			   "	ret;\n}\n"
			   ".visible .entry spin_a()\n{\n	ret;\n}\n";

static hipFunction_t function_of(const char *name)
{
	hipModule_t module;
	hipFunction_t f;

	need(hip.hipModuleLoadData(&module, code), "hipModuleLoadData");
	need(hip.hipModuleGetFunction(&f, module, name), "hipModuleGetFunction");
	return f;
}

int sum(unsigned int n)
{
	static const struct {
		uint32_t magic, version;
		const void *image, *unused;
	} wrapper = { 0x48495046, 1, code, NULL };
	static const char kernel; /* its address stands for the kernel, as a compiler's function does */
	int *host = calloc(n, sizeof *host);
	void **program, *device, *args[] = { &device };
	long long total = 0, again = 0;

	need(hip.hipMalloc(&device, n * sizeof *host), "hipMalloc");
	need(hip.hipModuleLaunchKernel(function_of("square"), 1, 1, 1, n, 1, 1, 0, NULL, args, NULL),
	     "hipModuleLaunchKernel");
	need(hip.hipMemcpy(host, device, n * sizeof *host, hipMemcpyDefault), "hipMemcpy");
	for (unsigned int i = 0; i < n; i++)
		total += host[i];
	need(hip.hipMemset(device, 0, n * sizeof *host), "hipMemset");
	program = hip.__hipRegisterFatBinary(&wrapper);
	hip.__hipRegisterFunction(program, &kernel, NULL, "square", 0, NULL, NULL, NULL, NULL, NULL);
	need(hip.hipLaunchKernel(&kernel, (dim3){ 1, 1, 1 }, (dim3){ n, 1, 1 }, args, 0, NULL), "hipLaunchKernel");
	need(hip.hipMemcpy(host, device, n * sizeof *host, hipMemcpyDefault), "hipMemcpy");
	for (unsigned int i = 0; i < n; i++)
		again += host[i];
	printf("%lld %lld\n", total, again);
	free(host);
	return 0;
}

int spin(double seconds)
{
	hipFunction_t f = function_of("spin_a");
	hipStream_t stream;
	unsigned long n = 0;
	double end;

	need(hip.hipStreamCreate(&stream), "hipStreamCreate");
	puts("begins");
	fflush(stdout);
	end = now() + seconds;
	while (now() < end) {
		for (int i = 0; i < 8; i++)
			need(hip.hipModuleLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL),
			     "hipModuleLaunchKernel");
		need(hip.hipStreamSynchronize(stream), "hipStreamSynchronize");
		n += 8;
	}
	printf("%lu\n", n);
	return 0;
}

int order(void)
{
	hipFunction_t f = function_of("square");
	int host[64] = { 0 };
	hipEvent_t begin, end;
	hipGraphExec_t exec;
	hipStream_t stream;
	hipGraph_t graph;
	float ms = -1;
	void *device, *args[] = { &device }, *function = NULL;
	int version = 0;

	need(hip.hipMalloc(&device, sizeof host), "hipMalloc");
	need(hip.hipStreamCreate(&stream), "hipStreamCreate");
	need(hip.hipEventCreate(&begin), "hipEventCreate");
	need(hip.hipEventCreate(&end), "hipEventCreate");
	need(hip.hipEventRecord(begin, stream), "hipEventRecord");
	need(hip.hipMemsetAsync(device, 0xff, sizeof host, stream), "hipMemsetAsync");
	need(hip.hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, stream, args, NULL), "hipModuleLaunchKernel");
	need(hip.hipMemcpyAsync(host, device, sizeof host, hipMemcpyDefault, stream), "hipMemcpyAsync");
	need(hip.hipEventRecord(end, stream), "hipEventRecord");
	need(hip.hipEventSynchronize(end), "hipEventSynchronize");
	ok(host[0] == 0 && host[63] == 63 * 63, "fill, kernel and copy are done in order: %d %d", host[0], host[63]);
	ok(hip.hipEventElapsedTime(&ms, begin, end) == hipSuccess && ms >= 0, "between two events there is time");
	need(hip.hipStreamBeginCapture(stream, 0), "hipStreamBeginCapture");
	need(hip.hipMemsetAsync(device, 0, sizeof host, stream), "hipMemsetAsync");
	need(hip.hipModuleLaunchKernel(f, 1, 1, 1, 8, 1, 1, 0, stream, args, NULL), "hipModuleLaunchKernel");
	ok(!getenv("METE_SOCKET") || hip.hipMallocAsync(&function, 4096, stream) == hipErrorNotSupported,
	   "a graph that takes memory is refused under a grant");
	need(hip.hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
	need(hip.hipGraphInstantiate(&exec, graph, NULL, NULL, 0), "hipGraphInstantiate");
	for (int i = 0; i < 20; i++)
		need(hip.hipGraphLaunch(exec, stream), "hipGraphLaunch");
	need(hip.hipStreamSynchronize(stream), "hipStreamSynchronize");
	need(hip.hipMemcpy(host, device, sizeof host, hipMemcpyDefault), "hipMemcpy");
	ok(host[7] == 49 && host[63] == 0, "a graph runs: %d %d", host[7], host[63]);
	need(hip.hipGraphExecDestroy(exec), "hipGraphExecDestroy");
	need(hip.hipGraphDestroy(graph), "hipGraphDestroy");
	need(hip.hipStreamDestroy(stream), "hipStreamDestroy");
	function = NULL;
	ok(hip.hipGetProcAddress(SHAPE_PREFIX "Malloc", &function, 60200, 0, NULL) == hipSuccess && function,
	   "calls are found by name");
	need(((hipError_t(*)(void **, size_t))function)(&device, 1 << 20), "hipMalloc by name");
	ok(!getenv("METE_SOCKET") ||
		   ((hipError_t(*)(void **, size_t))function)(&function, 1ull << 40) == hipErrorOutOfMemory,
	   "and are metered");
	ok(hip.hipRuntimeGetVersion(&version) == hipSuccess && version > 0, "the library says its version");
	return done();
}
