/*
 * wall_test.c: a program that begins with cuBLAS, behind a wall or over the network, where the worker's device is the
 * software device: forwarded calls reach the software device's own cuBLAS there.
 */
#include "base/tap.h"
#include "cublas_forward.h"
#include "cuda_table.h"
#include "remote/client/forward.h"

#include <math.h>

extern const struct forward_calls mete_remote_forward;

static const struct cuda_table *cuda;

static CUdeviceptr device_copy(const void *from, size_t bytes)
{
	CUdeviceptr at = 0;

	is(cuda->cuMemAlloc_v2(&at, bytes), CUDA_SUCCESS);
	is(cuda->cuMemcpyHtoD_v2(at, from, bytes), CUDA_SUCCESS);
	return at;
}

static void expect(CUdeviceptr at, const float wanted[4])
{
	float got[4];

	is(cuda->cuMemcpyDtoH_v2(got, at, sizeof(got)), CUDA_SUCCESS);
	for (int i = 0; i < 4; i++)
		tap_ok(fabsf(got[i] - wanted[i]) < 1e-4f, "element %d is %g, expected %g", i, (double)got[i],
		       (double)wanted[i]);
}

/*
 * What the program writes into managed memory is there when a forwarded call reads it, and what that writes comes
 * back.
 */
static void test_managed(cublasHandle_t h)
{
	static const float two = 2;
	CUdeviceptr at = 0;
	float *x, *y;

	is(cuda->cuMemAllocManaged(&at, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
	x = (float *)(uintptr_t)at;
	y = x + 512;
	for (int turn = 1; turn <= 3; turn++) {
		for (int i = 0; i < 4; i++) {
			x[i] = (float)(turn * (i + 1));
			y[i] = 100;
		}
		is(cublasSaxpy_v2(h, 4, &two, x, 1, y, 1), CUBLAS_STATUS_SUCCESS);
		is(cuda->cuCtxSynchronize(), CUDA_SUCCESS);
		for (int i = 0; i < 4; i++)
			tap_ok(y[i] == 100 + 2 * (float)(turn * (i + 1)), "managed memory, turn %d: element %d is %g",
			       turn, i, (double)y[i]);
	}
	is(cuda->cuMemFree_v2(at), CUDA_SUCCESS);
}

int main(void)
{
	static const float ha[4] = { 1, 2, 3, 4 }, hb[4] = { 5, 6, 7, 8 }, ab[4] = { 23, 34, 31, 46 };
	static const float with_bias[4] = { 0, 234, 0, 246 }, hbias[2] = { -100, 200 }, x[2] = { 1, 1 };
	static const float one = 1, zero = 0;
	int epilogue = 6, index = 0, count = 0;
	cublasLtMatmulHeuristicResult_t found;
	cublasLtMatrixLayout_t l = NULL;
	cublasLtMatmulDesc_t desc = NULL;
	cublasHandle_t h = NULL;
	CUdeviceptr a, b, c, bias, y;
	float sum[2] = { 0 };

	cuda = mete_remote_forward.cuda;
	cuda->cuInit(0);
	tap_begin(); /* the session's descriptors stay */
#define AT(p) ((void *)(uintptr_t)(p))
	is(cublasCreate_v2(&h), CUBLAS_STATUS_SUCCESS); /* the program has made no context */
	a = device_copy(ha, sizeof(ha));
	b = device_copy(hb, sizeof(hb));
	c = device_copy(ha, sizeof(ha));
	bias = device_copy(hbias, sizeof(hbias));
	y = device_copy(x, sizeof(x));
	is(cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, AT(a), 2, AT(b), 2, &zero, AT(c), 2),
	   CUBLAS_STATUS_SUCCESS);
	expect(c, ab);
	is(cublasIsamax_v2(h, 4, AT(c), 1, &index), CUBLAS_STATUS_SUCCESS);
	is(index, 4);
	is(cublasSgemv_v2(h, CUBLAS_OP_N, 2, 2, &one, AT(a), 2, AT(bias), 1, &one, AT(y), 1), CUBLAS_STATUS_SUCCESS);
	is(cublasGetVector(2, sizeof(float), AT(y), 1, sum, 1), CUBLAS_STATUS_SUCCESS);
	ok(fabsf(sum[0] - 501) < 1e-3f && fabsf(sum[1] - 601) < 1e-3f);
	is(cublasStrsm_v2(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 2, 1, &one,
			  AT(a), 2, AT(y), 2),
	   CUBLAS_STATUS_SUCCESS);
	is(cublasGetVector(2, sizeof(float), AT(y), 1, sum, 1), CUBLAS_STATUS_SUCCESS);
	ok(fabsf(sum[1] - 150.25f) < 1e-3f && fabsf(sum[0] - (501 - 3 * 150.25f)) < 1e-3f);
	/* cuBLASLt, by the handle of cuBLAS */
	is(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)),
	   CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)),
	   CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatrixLayoutCreate(&l, CUDA_R_32F, 2, 2, 2), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatmulAlgoGetHeuristic((cublasLtHandle_t)h, desc, l, l, l, l, NULL, 1, &found, &count),
	   CUBLAS_STATUS_SUCCESS);
	is(count, 1);
	is(cublasLtMatmul((cublasLtHandle_t)h, desc, &one, AT(a), l, AT(b), l, &zero, AT(c), l, AT(c), l, &found.algo,
			  NULL, 0, NULL),
	   CUBLAS_STATUS_SUCCESS);
	expect(c, with_bias);
	is(cublasLtDestroy((cublasLtHandle_t)h), CUBLAS_STATUS_INVALID_VALUE);
	is(cublasLtMatmulDescDestroy(desc), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatrixLayoutDestroy(l), CUBLAS_STATUS_SUCCESS);
	test_managed(h);
	is(cublasDestroy_v2(h), CUBLAS_STATUS_SUCCESS);
	return tap_end();
}
