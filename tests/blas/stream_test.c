/*
 * stream_test.c: work of cuBLAS as work of the device: in stream order between kernels, captured and replayed, timed,
 * charged; and calls that are wrong.
 */
#include "blas/blas.h"

#include <pthread.h>

static const char text[] =
	".version 7.0\n.target sm_50\n.address_size 64\n"
	".visible .entry fill(.param .u64 to, .param .f32 value)\n{\n"
	".reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f32 %f<2>;\n"
	"ld.param.u64 %rd1, [to]; ld.param.f32 %f1, [value];\n"
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
	"mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.f32 [%rd3], %f1; ret;\n}\n";

enum { SIZE = 64, COUNT = SIZE * SIZE };

static CUfunction fill_function;
static const float one = 1, zero = 0;

static CUresult fill(CUdeviceptr to, float value, uint32_t count, CUstream stream)
{
	void *params[] = { &to, &value };

	return cuLaunchKernel(fill_function, count / 64, 1, 1, 64, 1, 1, 0, stream, params, NULL);
}

static float first(CUdeviceptr at)
{
	float v[COUNT];

	blas_back(v, at, sizeof(v));
	for (int i = 1; i < COUNT; i++)
		if (v[i] != v[0])
			return NAN;
	return v[0];
}

static cublasStatus_t square(cublasHandle_t h, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, const float *alpha)
{
	return cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, SIZE, SIZE, SIZE, alpha, blas_at(a), SIZE, blas_at(b), SIZE,
			      &zero, blas_at(c), SIZE);
}

/* a = 2, b = 3: c = 64 * 6; then a is overwritten behind the product. */
static void test_order(cublasHandle_t h, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c)
{
	CUdeviceptr scalars = blas_device(NULL, 8);
	CUstream stream;

	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cublasSetStream_v2(h, (cudaStream_t)stream));
	CU(fill(a, 2, COUNT, stream));
	CU(fill(b, 3, COUNT, stream));
	OK(square(h, a, b, c, &one));
	CU(fill(a, 100, COUNT, stream));
	OK(square(h, a, b, b, &zero));
	CU(cuStreamSynchronize(stream));
	is(first(c), SIZE * 6);
	is(first(a), 100);
	is(first(b), 0);
	/* scalars that a kernel writes just before */
	OK(cublasSetPointerMode_v2(h, CUBLAS_POINTER_MODE_DEVICE));
	CU(cuMemsetD32Async(scalars, 0x40a00000, 1, stream)); /* 5 */
	CU(cuMemsetD32Async(scalars + 4, 0, 1, stream));
	CU(fill(a, 1, COUNT, stream));
	CU(fill(b, 1, COUNT, stream));
	OK(cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, SIZE, SIZE, SIZE, blas_at(scalars), blas_at(a), SIZE, blas_at(b),
			  SIZE, blas_at(scalars + 4), blas_at(c), SIZE));
	CU(cuMemsetD32Async(scalars, 0, 1, stream));
	CU(cuStreamSynchronize(stream));
	is(first(c), SIZE * 5);
	OK(cublasSetPointerMode_v2(h, CUBLAS_POINTER_MODE_HOST));
	OK(cublasSetStream_v2(h, NULL));
	CU(cuStreamDestroy(stream));
	cuMemFree(scalars);
}

static void test_graph(cublasHandle_t h, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c)
{
	CUgraphExec exec;
	CUgraph graph;
	CUstream stream;
	size_t nodes = 0;
	float result = 0;

	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cublasSetStream_v2(h, (cudaStream_t)stream));
	CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CU(fill(b, 2, COUNT, stream));
	OK(square(h, a, b, c, &one));
	OK(cublasSscal_v2(h, COUNT, &(float){ 0.5f }, blas_at(c), 1));
	CU(cuStreamEndCapture(stream, &graph));
	CU(cuGraphGetNodes(graph, NULL, &nodes));
	is(nodes, 3);
	CU(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 1; i <= 3; i++) {
		CU(fill(a, (float)i, COUNT, stream));
		CU(cuGraphLaunch(exec, stream));
		CU(cuStreamSynchronize(stream));
		is(first(c), SIZE * i);
	}
	/* what the host waits for cannot be captured */
	CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	tap_ok(cublasSasum_v2(h, COUNT, blas_at(c), 1, &result) != CUBLAS_STATUS_SUCCESS,
	       "a result for the host in a capture");
	cuStreamEndCapture(stream, &graph);
	OK(cublasSetStream_v2(h, NULL));
	CU(cuGraphExecDestroy(exec));
	CU(cuStreamDestroy(stream));
}

/* METE_SOFT_DURATION has 20 ms for cublas_gemm: events see the kernel. */
static void test_time(cublasHandle_t h, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c)
{
	CUevent begin, end;
	float ms = 0;

	CU(cuEventCreate(&begin, 0));
	CU(cuEventCreate(&end, 0));
	CU(cuEventRecord(begin, NULL));
	OK(square(h, a, b, c, &one));
	OK(square(h, a, b, c, &one));
	CU(cuEventRecord(end, NULL));
	CU(cuEventSynchronize(end));
	CU(cuEventElapsedTime(&ms, begin, end));
	tap_ok(ms >= 39 && ms < 2000, "two products of 20 ms took %g ms by the device's clock", (double)ms);
	CU(cuEventDestroy(begin));
	CU(cuEventDestroy(end));
}

static void test_charge(void)
{
	size_t before = soft_free(), left;
	cublasHandle_t h = NULL, other = NULL;
	cublasLtHandle_t lt = NULL;
	CUdeviceptr most = 0;
	int major = 0;

	OK(cublasCreate_v2(&h));
	CU(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	is(before - soft_free(), (major >= 12 ? 12 : 32) << 20);
	OK(cublasLtCreate(&lt));
	is(before - soft_free(), (major >= 12 ? 12 : 32) << 20);
	left = soft_free() - (4 << 20);
	CU(cuMemAlloc(&most, left));
	is(cublasCreate_v2(&other), CUBLAS_STATUS_ALLOC_FAILED);
	CU(cuMemFree(most));
	OK(cublasLtDestroy(lt));
	OK(cublasDestroy_v2(h));
	is(soft_free(), before);
}

static void *one_thread(void *unused)
{
	CUdeviceptr a, b, c;
	cublasHandle_t h = NULL;
	CUcontext context;
	CUstream stream;
	intptr_t bad = 0;

	cuDevicePrimaryCtxRetain(&context, 0);
	cuCtxSetCurrent(context);
	bad += cublasCreate_v2(&h) != CUBLAS_STATUS_SUCCESS;
	bad += cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != 0;
	bad += cublasSetStream_v2(h, (cudaStream_t)stream) != CUBLAS_STATUS_SUCCESS;
	cuMemAlloc(&a, COUNT * 4);
	cuMemAlloc(&b, COUNT * 4);
	cuMemAlloc(&c, COUNT * 4);
	for (int i = 1; i <= 30; i++) {
		float sum = 0;

		bad += fill(a, (float)i, COUNT, stream) != 0;
		bad += fill(b, 1, COUNT, stream) != 0;
		bad += square(h, a, b, c, &one) != CUBLAS_STATUS_SUCCESS;
		bad += cublasSasum_v2(h, SIZE, blas_at(c), 1, &sum) != CUBLAS_STATUS_SUCCESS;
		bad += sum != (float)(SIZE * SIZE * i);
	}
	bad += cublasDestroy_v2(h) != CUBLAS_STATUS_SUCCESS;
	cuMemFree(a);
	cuMemFree(b);
	cuMemFree(c);
	cuStreamDestroy(stream);
	return (void *)bad;
}

static void test_threads(void)
{
	pthread_t threads[2];
	void *bad;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, one_thread, NULL);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &bad);
		is((intptr_t)bad, 0);
	}
}

static void test_wrong(cublasHandle_t h, CUdeviceptr a)
{
	float *p = blas_at(a);
	uint64_t no_handle[64] = { 0 };
	int index = 7;
	float sum = 7;

#define GEMM(m, n, k, lda, ldb, ldc)                                                                                   \
	cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, p, lda, p, ldb, &zero, p, ldc)
	is(GEMM(-1, 1, 1, 1, 1, 1), CUBLAS_STATUS_INVALID_VALUE);
	is(GEMM(4, 4, 4, 3, 4, 4), CUBLAS_STATUS_INVALID_VALUE);
	is(GEMM(4, 4, 4, 4, 3, 4), CUBLAS_STATUS_INVALID_VALUE);
	is(GEMM(4, 4, 4, 4, 4, 3), CUBLAS_STATUS_INVALID_VALUE);
	is(GEMM(0, 4, 4, 1, 4, 1), CUBLAS_STATUS_SUCCESS);
	is(cublasSgemm_v2(h, (cublasOperation_t)9, CUBLAS_OP_N, 1, 1, 1, &one, p, 1, p, 1, &zero, p, 1),
	   CUBLAS_STATUS_INVALID_VALUE);
	is(cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, NULL, p, 1, p, 1, &zero, p, 1),
	   CUBLAS_STATUS_INVALID_VALUE);
	is(cublasSgemm_v2(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, p, 1, p, 1, &zero, p, 1),
	   CUBLAS_STATUS_NOT_INITIALIZED);
	is(cublasSgemm_v2((cublasHandle_t)no_handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, p, 1, p, 1, &zero, p, 1),
	   CUBLAS_STATUS_NOT_INITIALIZED);
	is(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, p, CUDA_R_16F, 1, p, CUDA_R_32F, 1, &zero, p,
			CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
	   CUBLAS_STATUS_NOT_SUPPORTED);
	is(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, p, CUDA_R_32F, 1, p, CUDA_R_32F, 1, &zero, p,
			CUDA_R_32F, 1, (cublasComputeType_t)200, CUBLAS_GEMM_DEFAULT),
	   CUBLAS_STATUS_NOT_SUPPORTED);
	if (!soft_theirs()) /* NVIDIA's 13.1 takes the step that its documentation refuses */
		is(cublasSgemv_v2(h, CUBLAS_OP_N, 2, 2, &one, p, 2, p, 0, &zero, p, 1), CUBLAS_STATUS_INVALID_VALUE);
	is(cublasStrsm_v2(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_FULL, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 2, 2, &one, p, 2,
			  p, 2),
	   CUBLAS_STATUS_INVALID_VALUE);
	is(cublasIsamax_v2(h, 0, p, 1, &index), CUBLAS_STATUS_SUCCESS);
	is(index, 0);
	is(cublasSnrm2_v2(h, -5, p, 1, &sum), CUBLAS_STATUS_SUCCESS);
	is(sum, 0);
	is(cublasSetPointerMode_v2(h, (cublasPointerMode_t)3), CUBLAS_STATUS_INVALID_VALUE);
	is(cublasCreate_v2(NULL), CUBLAS_STATUS_INVALID_VALUE);
	is(cublasDestroy_v2(NULL), CUBLAS_STATUS_NOT_INITIALIZED);
	is_str(cublasGetStatusName(CUBLAS_STATUS_ALLOC_FAILED), "CUBLAS_STATUS_ALLOC_FAILED");
}

/* NaN goes through products, and beta 0 keeps what was there out. */
static void test_nan(cublasHandle_t h, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c)
{
	CU(fill(a, NAN, COUNT, NULL));
	CU(fill(b, 1, COUNT, NULL));
	CU(fill(c, NAN, COUNT, NULL));
	OK(square(h, b, b, c, &one));
	is(first(c), SIZE);
	OK(square(h, a, b, c, &one));
	ok(isnan(first(c)));
}

/* An address that is nobody's ends as on a device: an illegal address, and the process lives. */
static void test_stray(cublasHandle_t h, CUdeviceptr a)
{
	OK(square(h, a, 0x1000, a, &one));
	FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	ok(square(h, a, a, a, &one) != CUBLAS_STATUS_SUCCESS);
}

/* Pools grow by mapping more behind what they have: a matrix may lie over two mappings, not over what is unmapped. */
static void test_mappings(cublasHandle_t h, CUdeviceptr b, CUdeviceptr c)
{
	const CUmemAllocationProp props = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					    .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	const CUmemAccessDesc access = { { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
					 CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	const size_t piece = (size_t)2 << 20;
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at, a;

	CU(cuMemAddressReserve(&at, 3 * piece, 0, 0, 0));
	for (size_t i = 0; i < 2; i++) {
		CU(cuMemCreate(&handle, piece, &props, 0));
		CU(cuMemMap(at + i * piece, piece, 0, handle, 0));
		CU(cuMemRelease(handle));
		CU(cuMemSetAccess(at + i * piece, piece, &access, 1));
	}
	a = at + piece - COUNT * 2;
	CU(fill(a, 2, COUNT, NULL));
	CU(fill(b, 3, COUNT, NULL));
	OK(square(h, a, b, c, &one));
	is(first(c), SIZE * 6);
	OK(square(h, c, b, a, &one));
	is(first(a), SIZE * SIZE * 18);
	for (size_t i = 0; i < 2; i++)
		CU(cuMemUnmap(at + i * piece, piece));
	CU(cuMemAddressFree(at, 3 * piece));
}

int main(int argc, char **argv)
{
	CUdeviceptr a, b, c;
	CUmodule module;
	cublasHandle_t h = NULL;

	if (argc > 1)
		setenv("METE_OPENBLAS", argv[1], 1);
	setenv("METE_SOFT_DURATION", "cublas_gemm=20ms", 1);
	soft_begin("1", "256M");
	soft_context();
	CU(cuModuleLoadData(&module, text));
	CU(cuModuleGetFunction(&fill_function, module, "fill"));
	OK(cublasCreate_v2(&h));
	a = blas_device(NULL, COUNT * 4);
	b = blas_device(NULL, COUNT * 4);
	c = blas_device(NULL, COUNT * 4);
	test_order(h, a, b, c);
	test_mappings(h, b, c);
	test_graph(h, a, b, c);
	if (!soft_theirs()) { /* there is no duration to declare, and others allocate on the same device */
		test_time(h, a, b, c);
		test_charge();
	}
	test_threads();
	test_wrong(h, a);
	test_nan(h, a, b, c);
	test_stray(h, a);
	cublasDestroy_v2(h); /* its device is in error: what it says does not matter */
	return soft_end();
}
