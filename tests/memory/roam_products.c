/* roam_products.c: products by cuBLAS that are captured in a stream to which the handle was set, beside products that
 * are not. */
#include "roamer.h"

#include <dlfcn.h>
#include <stdint.h>

#define SIDE 16

static struct {
	void *blas, *apart;
	CUstream stream, other;
	CUdeviceptr a, b, c;
	CUgraphExec exec;
} t;

static void *routine(const char *name)
{
	void *at = dlsym(RTLD_DEFAULT, name);

	must(at ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND, name);
	return at;
}

/* c = (a x b + c) / 2 */
static void product(void *handle, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c)
{
	static const float half = 0.5f;
	int (*gemm)(void *, int, int, int, int, int, const float *, const void *, int, const void *, int, const float *,
		    void *, int) = (__typeof__(gemm))routine("cublasSgemm_v2");

	must((CUresult)gemm(handle, 0, 0, SIDE, SIDE, SIDE, &half, (void *)(uintptr_t)a, SIDE, (void *)(uintptr_t)b,
			    SIDE, &half, (void *)(uintptr_t)c, SIDE),
	     "a product");
}

static void capture(unsigned int n)
{
	CUgraph graph;

	must(cuStreamBeginCapture(t.stream, CU_STREAM_CAPTURE_MODE_RELAXED), "a capture");
	product(t.blas, t.a, t.b, t.c);
	/* Not part of it: the handle is set to another stream. */
	product(t.apart, t.b, t.b, t.b);
	product(t.blas, t.c, t.b, t.a);
	must(cuMemsetD32Async(t.c, 0x3f000000 + n % 64, SIDE, t.stream), "a fill");
	must(cuStreamEndCapture(t.stream, &graph), "the end of a capture");
	must(cuStreamSynchronize(t.other), "a wait");
	must(cuGraphInstantiate(&t.exec, graph, 0), "an instance");
	must(cuGraphDestroy(graph), "a graph's end");
}

void products_make(void)
{
	int (*create)(void **) = (__typeof__(create))routine("cublasCreate_v2");
	int (*set)(void *, CUstream) = (__typeof__(set))routine("cublasSetStream_v2");
	float start[SIDE * SIDE];

	must(cuStreamCreate(&t.stream, CU_STREAM_NON_BLOCKING), "a stream");
	must(cuStreamCreate(&t.other, CU_STREAM_NON_BLOCKING), "a stream");
	must((CUresult)create(&t.blas), "a handle");
	must((CUresult)create(&t.apart), "a handle");
	must((CUresult)set(t.blas, t.stream), "its stream");
	must((CUresult)set(t.apart, t.other), "its stream");
	for (int i = 0; i < SIDE * SIDE; i++)
		start[i] = (float)(i % 7) / 64;
	must(cuMemAlloc(&t.a, sizeof(start)), "memory");
	must(cuMemAlloc(&t.b, sizeof(start)), "memory");
	must(cuMemAlloc(&t.c, sizeof(start)), "memory");
	must(cuMemcpyHtoD(t.a, start, sizeof(start)), "a copy");
	must(cuMemcpyHtoD(t.b, start, sizeof(start)), "a copy");
	must(cuMemcpyHtoD(t.c, start, sizeof(start)), "a copy");
	capture(0);
}

void products_round(unsigned int n, uint64_t *d)
{
	float back[SIDE * SIDE];

	must(cuGraphLaunch(t.exec, t.stream), "a graph");
	must(cuStreamSynchronize(t.stream), "a wait");
	must(cuMemcpyDtoH(back, t.a, sizeof(back)), "a copy");
	digest(d, back, sizeof(back));
	must(cuMemcpyDtoH(back, t.b, sizeof(back)), "a copy");
	digest(d, back, sizeof(back));
	if (n % 5)
		return;
	must(cuGraphExecDestroy(t.exec), "an instance's end");
	capture(n);
}
