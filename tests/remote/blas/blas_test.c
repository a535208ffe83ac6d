/*
 * blas_test.c: a program that uses cuBLAS and cuBLASLt through the remote client, a worker on the software device, and
 * the stand-in at the worker's side.
 *
 * blas_test WORKER DRIVER STANDIN    with a worker of its own, which dies in the end
 * blas_test                          behind what METE_REMOTE names
 */
#include "base/tap.h"
#include "cublas_forward.h"
#include "cuda_table.h"
#include "remote/client/forward.h"

#include <math.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern const struct forward_calls mete_remote_forward;

static const struct cuda_table *cuda;
static char socket_path[64];

static pid_t start_worker(char **argv)
{
	int ends[2];
	char fd[12], byte;
	pid_t pid;

	if (pipe(ends))
		exit(1);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		snprintf(fd, sizeof(fd), "%d", ends[1]);
		setenv("METE_FORWARD_CUBLAS", argv[3], 1);
		setenv("METE_FORWARD_CUBLASLT", argv[3], 1);
		execl(argv[1], argv[1], "--listen", socket_path, "--driver", argv[2], "--ready-fd", fd, NULL);
		_exit(127);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		printf("# the worker did not start\n");
	close(ends[0]);
	return pid;
}

static void *device_copy(const void *from, size_t bytes)
{
	CUdeviceptr at = 0;

	is(cuda->cuMemAlloc_v2(&at, bytes), CUDA_SUCCESS);
	is(cuda->cuMemcpyHtoD_v2(at, from, bytes), CUDA_SUCCESS);
	return (void *)(uintptr_t)at;
}

static void read_back(void *to, const void *at, size_t bytes)
{
	is(cuda->cuMemcpyDtoH_v2(to, (CUdeviceptr)(uintptr_t)at, bytes), CUDA_SUCCESS);
}

static bool near(const float *a, const float *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fabsf(a[i] - b[i]) > 1e-4f)
			return false;
	return true;
}

/* 2 x 3 by 3 x 2, by columns. */
static const float a[6] = { 1, 4, 2, 5, 3, 6 }, b[6] = { 7, 9, 11, 8, 10, 12 }, ab[4] = { 58, 139, 64, 154 };

static void test_handle(cublasHandle_t handle, CUstream stream)
{
	cudaStream_t got = NULL;
	cublasMath_t math = CUBLAS_PEDANTIC_MATH;
	cublasPointerMode_t mode = CUBLAS_POINTER_MODE_DEVICE;
	int version = 0;

	is(cublasGetVersion_v2(handle, &version), CUBLAS_STATUS_SUCCESS);
	is(version, 1); /* the stand-in says so */
	is(cublasGetVersion_v2(NULL, &version), CUBLAS_STATUS_SUCCESS);
	is(version, 130000); /* of the interface */
	is(cublasGetVersion_v2(NULL, NULL), CUBLAS_STATUS_INVALID_VALUE);
	is(cublasSetStream_v2(handle, (cudaStream_t)stream), CUBLAS_STATUS_SUCCESS);
	is(cublasGetStream_v2(handle, &got), CUBLAS_STATUS_SUCCESS);
	ok((CUstream)got == stream);
	is(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_SUCCESS);
	is(cublasGetMathMode(handle, &math), CUBLAS_STATUS_SUCCESS);
	is(math, CUBLAS_TF32_TENSOR_OP_MATH);
	is(cublasGetPointerMode_v2(handle, &mode), CUBLAS_STATUS_SUCCESS);
	is(mode, CUBLAS_POINTER_MODE_HOST);
	is(cublasSetPointerMode_v2(handle, (cublasPointerMode_t)7), CUBLAS_STATUS_INVALID_VALUE);
	is(cublasGetMathMode(NULL, &math), CUBLAS_STATUS_NOT_INITIALIZED);
	is(cublasGetMathMode((cublasHandle_t)stream, &math), CUBLAS_STATUS_NOT_INITIALIZED);
	is_str(cublasGetStatusName(CUBLAS_STATUS_ALLOC_FAILED), "CUBLAS_STATUS_ALLOC_FAILED");
}

static void test_products(cublasHandle_t handle)
{
	const float alpha = 2, beta = 1, start[4] = { 1, 1, 1, 1 }, twice[4] = { 117, 279, 129, 309 };
	const double alpha_d = 1, beta_d = 0, one[1] = { 3 }, two[1] = { 5 };
	void *da = device_copy(a, sizeof(a)), *db = device_copy(b, sizeof(b)), *dc = device_copy(start, sizeof(start));
	void *d_alpha = device_copy(&alpha, sizeof(alpha)), *d_beta = device_copy(&beta, sizeof(beta));
	void *d_one = device_copy(one, sizeof(one)), *d_two = device_copy(two, sizeof(two)), *batch[3], *lists[3];
	float c[4] = { 0 };
	double product = 0;
	_Float16 ha[6], hb[6], hc[4] = { 0 };
	void *dha, *dhb, *dhc;

	is(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &alpha, da, 2, db, 3, &beta, dc, 2),
	   CUBLAS_STATUS_SUCCESS);
	read_back(c, dc, sizeof(c));
	ok(near(c, twice, 4));
	/* b' a' with both turned: the transposed product. */
	is(cublasSgemm_v2(handle, CUBLAS_OP_T, CUBLAS_OP_T, 2, 2, 3, &beta, db, 3, da, 2, &(float){ 0 }, dc, 2),
	   CUBLAS_STATUS_SUCCESS);
	read_back(c, dc, sizeof(c));
	ok(near(c, (const float[]){ 58, 64, 139, 154 }, 4));
	/* Scalars in the device's memory. */
	is(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
	is(cuda->cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)dc, start, sizeof(start)), CUDA_SUCCESS);
	is(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, d_alpha, da, 2, db, 3, d_beta, dc, 2),
	   CUBLAS_STATUS_SUCCESS);
	read_back(c, dc, sizeof(c));
	ok(near(c, twice, 4));
	is(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST), CUBLAS_STATUS_SUCCESS);
	is(cublasDgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha_d, d_one, 1, d_two, 1, &beta_d, d_two, 1),
	   CUBLAS_STATUS_SUCCESS);
	read_back(&product, d_two, sizeof(product));
	ok(product == 15);
	/* Half precision with scalars of single; two products of a batch; a batch by addresses. */
	for (int i = 0; i < 6; i++) {
		ha[i] = (_Float16)a[i];
		hb[i] = (_Float16)b[i];
	}
	dha = device_copy(ha, sizeof(ha));
	dhb = device_copy(hb, sizeof(hb));
	dhc = device_copy(hc, sizeof(hc));
	is(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &beta, dha, CUDA_R_16F, 2, dhb, CUDA_R_16F, 3,
			&(float){ 0 }, dhc, CUDA_R_16F, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
	   CUBLAS_STATUS_SUCCESS);
	read_back(hc, dhc, sizeof(hc));
	ok(hc[0] == 58 && hc[3] == 154);
	is(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &beta, da, 1, 1, db, 1, 1,
				     &(float){ 0 }, dc, 1, 1, 4),
	   CUBLAS_STATUS_SUCCESS);
	read_back(c, dc, sizeof(c));
	ok(near(c, (const float[]){ 7, 36, 22, 40 }, 4));
	for (int i = 0; i < 3; i++) {
		batch[0] = (float *)(i == 0 ? da : i == 1 ? db : dc);
		batch[1] = (float *)batch[0] + 1;
		lists[i] = device_copy(batch, 2 * sizeof(batch[0]));
	}
	is(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &beta, lists[0], 1, lists[1], 1, &(float){ 0 },
			      lists[2], 1, 2),
	   CUBLAS_STATUS_SUCCESS);
	read_back(c, dc, sizeof(c));
	ok(near(c, (const float[]){ 7, 36, 22, 40 }, 4));
	is(cublasSgemv_v2(handle, CUBLAS_OP_T, 2, 3, &beta, da, 2, d_alpha, 1, &(float){ 0 }, dc, 2),
	   CUBLAS_STATUS_SUCCESS); /* refused there: a step of 2 */
	is(cuda->cuCtxSynchronize(), CUDA_ERROR_NOT_SUPPORTED);
	is(cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	/* Wrong arguments are answered at once; what is not forwarded, too. */
	is(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &alpha, da, 1, db, 3, &beta, dc, 2),
	   CUBLAS_STATUS_INVALID_VALUE);
	is(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, -2, 2, 3, &alpha, da, 2, db, 3, &beta, dc, 2),
	   CUBLAS_STATUS_INVALID_VALUE);
	is(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, NULL, da, 2, db, 3, &beta, dc, 2),
	   CUBLAS_STATUS_INVALID_VALUE);
	is(cublasSgemm_v2((cublasHandle_t)da, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &alpha, da, 2, db, 3, &beta, dc, 2),
	   CUBLAS_STATUS_NOT_INITIALIZED);
	is(cublasSrotm_v2(handle, 1, da, 1, db, 1, (const void *)a), CUBLAS_STATUS_NOT_SUPPORTED);
	is(cublasDgemv_v2(handle, CUBLAS_OP_N, 1, 1, &alpha_d, d_one, 1, d_one, 1, &beta_d, d_two, 1),
	   CUBLAS_STATUS_SUCCESS); /* the stand-in lacks it */
	is(cuda->cuCtxSynchronize(), CUDA_ERROR_NOT_SUPPORTED);
}

static void test_vectors(cublasHandle_t handle)
{
	const float x[4] = { 1, -2, 3, -4 }, y[4] = { 10, 20, 30, 40 }, two = 2;
	void *dx = device_copy(x, sizeof(x)), *dy = device_copy(y, sizeof(y)),
	     *d_result = device_copy(&two, sizeof(two));
	float got[4] = { 0 }, result = 0, rotation[4] = { 3, 4, 0, 0 };
	double wide = 0;
	int largest = 0;

	is(cublasSaxpy_v2(handle, 4, &two, dx, 1, dy, 1), CUBLAS_STATUS_SUCCESS);
	read_back(got, dy, sizeof(got));
	ok(near(got, (const float[]){ 12, 16, 36, 32 }, 4));
	is(cublasSdot_v2(handle, 4, dx, 1, dy, 1, &result), CUBLAS_STATUS_SUCCESS);
	ok(result == 12 - 32 + 108 - 128);
	is(cublasSnrm2_v2(handle, 2, dx, 2, &result), CUBLAS_STATUS_SUCCESS);
	ok(fabsf(result - sqrtf(10)) < 1e-5f);
	is(cublasNrm2Ex(handle, 2, dx, CUDA_R_32F, 2, &wide, CUDA_R_64F, CUDA_R_64F), CUBLAS_STATUS_SUCCESS);
	ok(fabs(wide - sqrt(10)) < 1e-5);
	is(cublasIsamax_v2(handle, 4, dx, 1, &largest), CUBLAS_STATUS_SUCCESS);
	is(largest, 4);
	is(cublasSscal_v2(handle, 4, &two, dx, 1), CUBLAS_STATUS_SUCCESS);
	is(cublasScopy_v2(handle, 4, dx, 1, dy, 1), CUBLAS_STATUS_SUCCESS);
	read_back(got, dy, sizeof(got));
	ok(near(got, (const float[]){ 2, -4, 6, -8 }, 4));
	is(cublasSrotg_v2(handle, &rotation[0], &rotation[1], &rotation[2], &rotation[3]), CUBLAS_STATUS_SUCCESS);
	ok(near(rotation, (const float[]){ 5, 0, 0.6f, 0.8f }, 4));
	/* A result in the device's memory is not waited for. */
	is(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
	is(cublasSdot_v2(handle, 4, dx, 1, dx, 1, d_result), CUBLAS_STATUS_SUCCESS);
	read_back(&result, d_result, sizeof(result));
	ok(result == 120);
	is(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST), CUBLAS_STATUS_SUCCESS);
	/* What the worker's library says of a call that is waited for. */
	is(cublasSdot_v2(handle, 4, dx, 0, dx, 1, &result), CUBLAS_STATUS_NOT_SUPPORTED);
	is(cublasSnrm2_v2(handle, 4, (const float *)8, 1, &result), CUBLAS_STATUS_EXECUTION_FAILED);
	is(cublasSetVector(2, 4, y, 2, dx, 1), CUBLAS_STATUS_SUCCESS);
	is(cublasGetVector(2, 4, dx, 1, got, 1), CUBLAS_STATUS_SUCCESS);
	ok(got[0] == 10 && got[1] == 30);
	is(cublasSetMatrix(1, 2, 4, y + 1, 2, dx, 1), CUBLAS_STATUS_SUCCESS);
	read_back(got, dx, 8);
	ok(got[0] == 20 && got[1] == 40);
}

/* Attributes that are addresses: the session's memory, or nothing is computed. matrices: a, b, c, alpha, beta, any. */
static void test_lt_addresses(cublasLtHandle_t lt, cublasLtMatmulDesc_t desc, const void *const matrices[6],
			      cublasLtMatrixLayout_t first, cublasLtMatrixLayout_t second, cublasLtMatrixLayout_t to)
{
	static const cublasLtMatmulDescAttributes_t attributes[] = {
		CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
		CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
		CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
		CUBLASLT_MATMUL_DESC_C_SCALE_POINTER,
		CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
		CUBLASLT_MATMUL_DESC_AMAX_D_POINTER,
		CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER,
		CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER,
		CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER,
		CUBLASLT_MATMUL_DESC_BIAS_POINTER,
	};
	void *c = (void *)(uintptr_t)matrices[2];

	for (size_t i = 0; i < 2 * sizeof(attributes) / sizeof(attributes[0]); i++) {
		bool good = i & 1;
		uint64_t at = good ? (uintptr_t)matrices[5] : 4096;

		is(cublasLtMatmulDescSetAttribute(desc, attributes[i / 2], &at, sizeof(at)), CUBLAS_STATUS_SUCCESS);
		is(cublasLtMatmul(lt, desc, matrices[3], matrices[1], first, matrices[0], second, matrices[4], c, to, c,
				  to, NULL, NULL, 0, NULL),
		   CUBLAS_STATUS_SUCCESS);
		tap_ok((cuda->cuCtxSynchronize() == CUDA_SUCCESS) == good, "attribute %d, %s", attributes[i / 2],
		       good ? "memory of the session" : "none of the session's");
	}
	is(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &(uint32_t){ 0 }, 4),
	   CUBLAS_STATUS_INVALID_VALUE);
	/* A workspace that ends beyond what was allocated. */
	is(cublasLtMatmul(lt, desc, matrices[3], matrices[1], first, matrices[0], second, matrices[4], c, to, c, to,
			  NULL, c, (size_t)1 << 40, NULL),
	   CUBLAS_STATUS_SUCCESS);
	ok(cuda->cuCtxSynchronize() != CUDA_SUCCESS);
	is(cuda->cuCtxSynchronize(), CUDA_SUCCESS);
}

static void test_lt(CUstream stream)
{
	const float one = 1, zero = 0, bias[2] = { 100, 200 };
	void *da = device_copy(a, sizeof(a)), *db = device_copy(b, sizeof(b)), *dc = device_copy(ab, sizeof(ab)),
	     *d_bias = device_copy(bias, sizeof(bias)), *d_one = device_copy(&one, sizeof(one)),
	     *d_zero = device_copy(&zero, sizeof(zero));
	cublasLtMatmulHeuristicResult_t found[4];
	cublasLtMatrixLayout_t la = NULL, lb = NULL, lc = NULL;
	cublasLtMatmulPreference_t preference = NULL;
	cublasLtMatmulDesc_t desc = NULL;
	cublasLtHandle_t lt = NULL;
	uint64_t workspace = 1 << 20, rows = 0, bias_at = (uintptr_t)d_bias;
	int32_t turned = CUBLAS_OP_T, mode = 1;
	size_t written = 0;
	float c[4] = { 0 };
	int count = 0;

	is(cublasLtCreate(&lt), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatrixLayoutCreate(&la, CUDA_R_32F, 2, 3, 2), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatrixLayoutCreate(&lb, CUDA_R_32F, 3, 2, 3), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatrixLayoutCreate(&lc, CUDA_R_32F, 2, 2, 2), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatrixLayoutGetAttribute(la, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof(rows), &written),
	   CUBLAS_STATUS_SUCCESS);
	ok(rows == 2 && written == 8);
	is(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
						sizeof(workspace)),
	   CUBLAS_STATUS_SUCCESS);
	for (int i = 0; i < 2; i++) {
		memset(found, 0, sizeof(found));
		is(cublasLtMatmulAlgoGetHeuristic(lt, desc, la, lb, lc, lc, preference, 4, found, &count),
		   CUBLAS_STATUS_SUCCESS);
		ok(count == 1 && found[0].workspaceSize == workspace && found[0].state == CUBLAS_STATUS_SUCCESS);
	}
	is(cublasLtMatmul(lt, desc, &one, da, la, db, lb, &zero, dc, lc, dc, lc, &found[0].algo, NULL, 0,
			  (cudaStream_t)stream),
	   CUBLAS_STATUS_SUCCESS);
	read_back(c, dc, sizeof(c));
	ok(near(c, ab, 4));
	/* Another description, made of the same one: turned, with a bias. */
	is(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof(turned)),
	   CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &turned, sizeof(turned)),
	   CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_at, sizeof(bias_at)),
	   CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatmul(lt, desc, &one, db, lb, da, la, &zero, dc, lc, dc, lc, NULL, NULL, 0, (cudaStream_t)stream),
	   CUBLAS_STATUS_SUCCESS);
	read_back(c, dc, sizeof(c));
	ok(near(c, (const float[]){ 158, 264, 239, 354 }, 4));
	is(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode, sizeof(mode)),
	   CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatmul(lt, desc, d_one, db, lb, da, la, d_zero, dc, lc, dc, lc, NULL, NULL, 0, (cudaStream_t)stream),
	   CUBLAS_STATUS_SUCCESS);
	read_back(c, dc, sizeof(c));
	ok(near(c, (const float[]){ 158, 264, 239, 354 }, 4));
	test_lt_addresses(lt, desc, (const void *const[]){ da, db, dc, d_one, d_zero, d_bias }, lb, la, lc);
	/* What is not forwarded, and what no heuristic gave out. */
	is(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, &workspace, 8),
	   CUBLAS_STATUS_NOT_SUPPORTED);
	found[0].algo.data[0] = 1;
	is(cublasLtMatmul(lt, desc, d_one, db, lb, da, la, d_zero, dc, lc, dc, lc, &found[0].algo, NULL, 0,
			  (cudaStream_t)stream),
	   CUBLAS_STATUS_INVALID_VALUE);
	is(cublasLtMatmul((cublasLtHandle_t)dc, desc, d_one, db, lb, da, la, d_zero, dc, lc, dc, lc, NULL, NULL, 0,
			  NULL),
	   CUBLAS_STATUS_NOT_INITIALIZED);
	is(cublasLtMatmulDescDestroy(desc), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatrixLayoutDestroy(la), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatrixLayoutDestroy(lb), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatrixLayoutDestroy(lc), CUBLAS_STATUS_SUCCESS);
	is(cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
	is(cublasLtDestroy(lt), CUBLAS_STATUS_SUCCESS);
	is(cublasLtDestroy(lt), CUBLAS_STATUS_NOT_INITIALIZED);
}

int main(int argc, char **argv)
{
	cublasHandle_t handle = NULL;
	CUcontext context = NULL;
	CUstream stream = NULL;
	pid_t worker = 0;
	int status;

	if (argc == 4) {
		snprintf(socket_path, sizeof(socket_path), "/tmp/mete-blas-%d.sock", (int)getpid());
		worker = start_worker(argv);
		setenv("METE_REMOTE", socket_path, 1);
	}
	cuda = mete_remote_forward.cuda;
	status = (int)cuda->cuInit(0);
	tap_begin(); /* the session's descriptors stay */
	is(status, CUDA_SUCCESS);
	is(cublasCreate_v2(&handle), CUBLAS_STATUS_SUCCESS); /* without a context: it takes the first primary one */
	is(cublasDestroy_v2(handle), CUBLAS_STATUS_SUCCESS);
	is(cuda->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	is(cuda->cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	is(cuda->cuCtxSetCurrent(context), CUDA_SUCCESS);
	is(cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	is(cublasCreate_v2(&handle), CUBLAS_STATUS_SUCCESS);
	test_handle(handle, stream);
	test_products(handle);
	test_vectors(handle);
	test_lt(stream);
	is(cublasDestroy_v2(handle), CUBLAS_STATUS_SUCCESS);
	is(cublasDestroy_v2(handle), CUBLAS_STATUS_NOT_INITIALIZED);
	if (worker) {
		/* The worker is gone: each call says so, none hangs. */
		is(cublasCreate_v2(&handle), CUBLAS_STATUS_SUCCESS);
		kill(worker, SIGKILL);
		waitpid(worker, &status, 0);
		is(cublasSnrm2_v2(handle, 1, (const float *)4096, 1, &(float){ 0 }), CUBLAS_STATUS_EXECUTION_FAILED);
	}
	return tap_end();
}
