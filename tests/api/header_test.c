/*
 * header_test.c: a program over our <cuda.h>: the names that it writes mean the current versions of the calls.
 *
 * Compiled a second time with the per-thread default stream. The functions are the test's own; each says its name.
 */
#include <cuda.h>

#include "base/tap.h"

static const char *called;

#define SAYS(name, ...)                                                                                                \
	CUresult name(__VA_ARGS__)                                                                                     \
	{                                                                                                              \
		called = #name;                                                                                        \
		return CUDA_SUCCESS;                                                                                   \
	}

/* Behind a macro the name in the text is already the symbol. */
#define SAY(name, ...) SAYS(name, __VA_ARGS__)

SAY(cuMemAlloc, CUdeviceptr *dptr, size_t bytesize)
SAY(cuCtxCreate, CUcontext *pctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
SAY(cuMemcpyHtoD, CUdeviceptr dst, const void *src, size_t size)
SAY(cuStreamSynchronize, CUstream stream)
SAY(cuGraphInstantiate, CUgraphExec *exec, CUgraph graph, unsigned long long flags)
SAY(cuStreamGetCtx, CUstream stream, CUcontext *pctx)
SAY(cuProfilerStart, void)

int main(void)
{
	CUdeviceptr address;
	CUcontext context;
	CUgraphExec exec;

	tap_begin();
	is(cuMemAlloc(&address, 1), CUDA_SUCCESS);
	is_str(called, "cuMemAlloc_v2");
	cuCtxCreate(&context, NULL, 0, 0);
	is_str(called, "cuCtxCreate_v4");
	cuGraphInstantiate(&exec, NULL, 0);
	is_str(called, "cuGraphInstantiateWithFlags");
	cuProfilerStart();
	is_str(called, "cuProfilerStart");
	cuMemcpyHtoD(0, NULL, 0);
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
	is_str(called, "cuMemcpyHtoD_v2_ptds");
	cuStreamSynchronize(NULL);
	is_str(called, "cuStreamSynchronize_ptsz");
	cuStreamGetCtx(NULL, &context);
	is_str(called, "cuStreamGetCtx_ptsz");
#else
	is_str(called, "cuMemcpyHtoD_v2");
	cuStreamSynchronize(NULL);
	is_str(called, "cuStreamSynchronize");
	cuStreamGetCtx(NULL, &context);
	is_str(called, "cuStreamGetCtx");
#endif
	is(CUDA_VERSION, 13050);
	is(sizeof(CUtensorMap), 128);
	is(sizeof(CUlaunchConfig), 56);
	return tap_end();
}
