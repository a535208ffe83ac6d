/*
 * standin.c: a stand-in for cuBLAS and cuBLASLt at the worker, for tests on machines that have none. It says so: its
 * version is 1.
 *
 * Everything is computed by this processor, naively: operands are copied from the device, results back to it, when the
 * handle's stream has come to rest. It trusts its caller as the real one does: scalars are read where the pointer mode
 * says.
 */
#include "cublas_forward.h"
#include "cuda_table.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

struct cublasContext {
	CUstream stream;
	cublasPointerMode_t mode;
	void *workspace;
	size_t workspace_bytes;
};

struct cublasLtContext {
	int unused;
};

struct description {
	uint64_t made_with[4];
	uint64_t attributes[64];
	bool set[64];
};

static CUresult (*from_device)(void *, CUdeviceptr, size_t);
static CUresult (*to_device)(CUdeviceptr, const void *, size_t);
static CUresult (*rest)(CUstream);

static bool find_driver(void)
{
	void *driver = from_device ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	if (driver) {
		from_device = (__typeof__(from_device))dlsym(driver, "cuMemcpyDtoH_v2");
		to_device = (__typeof__(to_device))dlsym(driver, "cuMemcpyHtoD_v2");
		rest = (__typeof__(rest))dlsym(driver, "cuStreamSynchronize");
	}
	return from_device && to_device && rest;
}

/* Elements. */

static size_t element_bytes(cudaDataType type)
{
	return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : type == CUDA_R_16F || type == CUDA_R_16BF ? 2 : 0;
}

static double element(const void *at, cudaDataType type, int64_t i)
{
	if (type == CUDA_R_64F)
		return ((const double *)at)[i];
	if (type == CUDA_R_32F)
		return ((const float *)at)[i];
	if (type == CUDA_R_16F) {
		_Float16 h;

		memcpy(&h, (const char *)at + 2 * i, 2);
		return (double)h;
	}
	uint32_t bits = (uint32_t)((const uint16_t *)at)[i] << 16;
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static void put_element(void *at, cudaDataType type, int64_t i, double value)
{
	if (type == CUDA_R_64F) {
		((double *)at)[i] = value;
	} else if (type == CUDA_R_32F) {
		((float *)at)[i] = (float)value;
	} else if (type == CUDA_R_16F) {
		_Float16 h = (_Float16)value;

		memcpy((char *)at + 2 * i, &h, 2);
	} else {
		float f = (float)value;
		uint32_t bits;

		memcpy(&bits, &f, 4);
		((uint16_t *)at)[i] = (uint16_t)(bits >> 16);
	}
}

/* A copy of device memory, which the caller frees. */
static void *fetch(const void *device, size_t bytes)
{
	void *copy = malloc(bytes ? bytes : 1);

	if (copy && from_device(copy, (CUdeviceptr)(uintptr_t)device, bytes) != CUDA_SUCCESS) {
		free(copy);
		return NULL;
	}
	return copy;
}

static bool store(const void *device, const void *copy, size_t bytes)
{
	return to_device((CUdeviceptr)(uintptr_t)device, copy, bytes) == CUDA_SUCCESS;
}

static double scalar(cublasPointerMode_t mode, const void *at, cudaDataType type)
{
	uint64_t bytes[2] = { 0 };

	if (mode == CUBLAS_POINTER_MODE_HOST)
		return element(at, type, 0);
	from_device(bytes, (CUdeviceptr)(uintptr_t)at, element_bytes(type));
	return element(bytes, type, 0);
}

static void put_scalar(cublasPointerMode_t mode, void *at, cudaDataType type, double value)
{
	uint64_t bytes[2] = { 0 };

	if (mode == CUBLAS_POINTER_MODE_HOST) {
		put_element(at, type, 0, value);
		return;
	}
	put_element(bytes, type, 0, value);
	to_device((CUdeviceptr)(uintptr_t)at, bytes, element_bytes(type));
}

/* Products. */

struct matrix {
	const void *at;
	cudaDataType type;
	int64_t leading;
	bool turned;
};

static size_t matrix_bytes(const struct matrix *m, int64_t rows, int64_t columns)
{
	int64_t down = m->turned ? columns : rows, across = m->turned ? rows : columns;

	return across && down ? (size_t)((across - 1) * m->leading + down) * element_bytes(m->type) : 0;
}

static double entry(const void *copy, const struct matrix *m, int64_t row, int64_t column)
{
	return element(copy, m->type, m->turned ? row * m->leading + column : column * m->leading + row);
}

/* d = alpha a b + beta c + bias by rows */
static cublasStatus_t multiply(int64_t m, int64_t n, int64_t k, double alpha, struct matrix a, struct matrix b,
			       double beta, struct matrix c, struct matrix d, const float *bias)
{
	void *a_copy, *b_copy, *c_copy, *d_copy;
	bool done = false;

	if (!element_bytes(a.type) || !element_bytes(b.type) || !element_bytes(c.type) || !element_bytes(d.type))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	a_copy = fetch(a.at, matrix_bytes(&a, m, k));
	b_copy = fetch(b.at, matrix_bytes(&b, k, n));
	c_copy = fetch(c.at, matrix_bytes(&c, m, n));
	d_copy = fetch(d.at, matrix_bytes(&d, m, n));
	for (int64_t j = 0; a_copy && b_copy && c_copy && d_copy && j < n; j++)
		for (int64_t i = 0; i < m; i++) {
			double sum = 0;

			for (int64_t l = 0; l < k; l++)
				sum += entry(a_copy, &a, i, l) * entry(b_copy, &b, l, j);
			put_element(d_copy, d.type, j * d.leading + i,
				    alpha * sum + (beta != 0 ? beta * entry(c_copy, &c, i, j) : 0) +
					    (bias ? bias[i] : 0));
		}
	done = a_copy && b_copy && c_copy && d_copy && store(d.at, d_copy, matrix_bytes(&d, m, n));
	free(a_copy);
	free(b_copy);
	free(c_copy);
	free(d_copy);
	return done ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

static cudaDataType scalar_type(cublasComputeType_t compute)
{
	return compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F : compute == CUBLAS_COMPUTE_16F ? CUDA_R_16F : CUDA_R_32F;
}

/* Handles. */

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	*handle = find_driver() ? calloc(1, sizeof(**handle)) : NULL;
	return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
	*version = VERSION;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
	handle->stream = (CUstream)stream;
	handle->workspace = NULL;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
	handle->mode = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
	return mode == CUBLAS_TF32_TENSOR_OP_MATH || mode == CUBLAS_DEFAULT_MATH ? CUBLAS_STATUS_SUCCESS
										 : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
	handle->workspace = workspace;
	handle->workspace_bytes = bytes;
	return CUBLAS_STATUS_SUCCESS;
}

#define REST(handle)                                                                                                   \
	if (rest((handle)->stream) != CUDA_SUCCESS)                                                                    \
	return CUBLAS_STATUS_EXECUTION_FAILED

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
					  int m, int n, int k, const void *alpha, const void *A, cudaDataType Atype,
					  int lda, long long strideA, const void *B, cudaDataType Btype, int ldb,
					  long long strideB, const void *beta, void *C, cudaDataType Ctype, int ldc,
					  long long strideC, int batchCount, cublasComputeType_t computeType,
					  cublasGemmAlgo_t algo)
{
	double a = scalar(handle->mode, alpha, scalar_type(computeType)),
	       b = scalar(handle->mode, beta, scalar_type(computeType));
	cublasStatus_t s = CUBLAS_STATUS_SUCCESS;

	REST(handle);
	for (long long i = 0; i < batchCount && s == CUBLAS_STATUS_SUCCESS; i++) {
		struct matrix first = { (const char *)A + i * strideA * (long long)element_bytes(Atype), Atype, lda,
					transa != CUBLAS_OP_N },
			      second = { (const char *)B + i * strideB * (long long)element_bytes(Btype), Btype, ldb,
					 transb != CUBLAS_OP_N },
			      third = { (char *)C + i * strideC * (long long)element_bytes(Ctype), Ctype, ldc, false };

		s = multiply(m, n, k, a, first, second, b, third, third, NULL);
	}
	return s;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
			    int k, const void *alpha, const void *A, cudaDataType Atype, int lda, const void *B,
			    cudaDataType Btype, int ldb, const void *beta, void *C, cudaDataType Ctype, int ldc,
			    cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
	return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, 0, B, Btype, ldb, 0,
					  beta, C, Ctype, ldc, 0, 1, computeType, algo);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
					 int m, int n, int k, const float *alpha, const float *A, int lda,
					 long long strideA, const float *B, int ldb, long long strideB,
					 const float *beta, float *C, int ldc, long long strideC, int batchCount)
{
	return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, CUDA_R_32F, lda, strideA, B,
					  CUDA_R_32F, ldb, strideB, beta, C, CUDA_R_32F, ldc, strideC, batchCount,
					  CUBLAS_COMPUTE_32F, (cublasGemmAlgo_t)-1);
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
			      int k, const float *alpha, const float *A, int lda, const float *B, int ldb,
			      const float *beta, float *C, int ldc)
{
	return cublasSgemmStridedBatched(handle, transa, transb, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta, C, ldc, 0,
					 1);
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
			      int k, const double *alpha, const double *A, int lda, const double *B, int ldb,
			      const double *beta, double *C, int ldc)
{
	return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, CUDA_R_64F, lda, 0, B, CUDA_R_64F,
					  ldb, 0, beta, C, CUDA_R_64F, ldc, 0, 1, CUBLAS_COMPUTE_64F,
					  (cublasGemmAlgo_t)-1);
}

cublasStatus_t cublasSgemmBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
				  int n, int k, const float *alpha, const void *Aarray, int lda, const void *Barray,
				  int ldb, const float *beta, const void *Carray, int ldc, int batchCount)
{
	size_t bytes = (size_t)batchCount * sizeof(void *);
	const float **a = fetch(Aarray, bytes), **b = fetch(Barray, bytes);
	float **c = fetch(Carray, bytes);
	cublasStatus_t s = a && b && c ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;

	for (int i = 0; i < batchCount && s == CUBLAS_STATUS_SUCCESS; i++)
		s = cublasSgemm_v2(handle, transa, transb, m, n, k, alpha, a[i], lda, b[i], ldb, beta, c[i], ldc);
	free(a);
	free(b);
	free(c);
	return s;
}

cublasStatus_t cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const float *alpha,
			      const float *A, int lda, const float *x, int incx, const float *beta, float *y, int incy)
{
	int rows = trans == CUBLAS_OP_N ? m : n, columns = trans == CUBLAS_OP_N ? n : m;

	if (incx != 1 || incy != 1)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return cublasSgemm_v2(handle, trans, CUBLAS_OP_N, rows, 1, columns, alpha, A, lda, x, columns, beta, y, rows);
}

/* Vectors: f sees every element of x and y, and may change them. */
static cublasStatus_t vectors(cublasHandle_t handle, int n, const float *x, int incx, const float *y, int incy,
			      bool write_x, bool write_y, void (*f)(float *x, float *y, double *state), double *state)
{
	size_t x_bytes = n > 0 ? ((size_t)(n - 1) * (size_t)incx + 1) * 4 : 0,
	       y_bytes = y && n > 0 ? ((size_t)(n - 1) * (size_t)incy + 1) * 4 : 0;
	float *a, *b, nothing = 0;
	bool done;

	if (incx < 1 || (y && incy < 1))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	REST(handle);
	a = fetch(x, x_bytes);
	b = y ? fetch(y, y_bytes) : NULL;
	for (int i = 0; a && (b || !y) && i < n; i++)
		f(a + (ptrdiff_t)i * incx, b ? b + (ptrdiff_t)i * incy : &nothing, state);
	done = a && (b || !y) && (!write_x || store(x, a, x_bytes)) && (!write_y || store(y, b, y_bytes));
	free(a);
	free(b);
	return done ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

static void add_scaled(float *x, float *y, double *state)
{
	*y += (float)(*state * *x);
}

static void scale(float *x, float *y, double *state)
{
	*x *= (float)*state;
}

static void take_over(float *x, float *y, double *state)
{
	*y = *x;
}

static void add_product(float *x, float *y, double *state)
{
	*state += (double)*x * *y;
}

static void add_square(float *x, float *y, double *state)
{
	*state += (double)*x * *x;
}

static void find_largest(float *x, float *y, double *state)
{
	state[1]++;
	if (fabsf(*x) > state[2]) {
		state[2] = fabsf(*x);
		state[0] = state[1];
	}
}

cublasStatus_t cublasSaxpy_v2(cublasHandle_t handle, int n, const float *alpha, const float *x, int incx, float *y,
			      int incy)
{
	double a = scalar(handle->mode, alpha, CUDA_R_32F);

	return vectors(handle, n, x, incx, y, incy, false, true, add_scaled, &a);
}

cublasStatus_t cublasSscal_v2(cublasHandle_t handle, int n, const float *alpha, float *x, int incx)
{
	double a = scalar(handle->mode, alpha, CUDA_R_32F);

	return vectors(handle, n, x, incx, NULL, 0, true, false, scale, &a);
}

cublasStatus_t cublasScopy_v2(cublasHandle_t handle, int n, const float *x, int incx, float *y, int incy)
{
	return vectors(handle, n, x, incx, y, incy, false, true, take_over, NULL);
}

cublasStatus_t cublasSdot_v2(cublasHandle_t handle, int n, const float *x, int incx, const float *y, int incy,
			     float *result)
{
	double sum = 0;
	cublasStatus_t s = vectors(handle, n, x, incx, y, incy, false, false, add_product, &sum);

	if (s == CUBLAS_STATUS_SUCCESS)
		put_scalar(handle->mode, result, CUDA_R_32F, sum);
	return s;
}

cublasStatus_t cublasSnrm2_v2(cublasHandle_t handle, int n, const float *x, int incx, float *result)
{
	double sum = 0;
	cublasStatus_t s = vectors(handle, n, x, incx, NULL, 0, false, false, add_square, &sum);

	if (s == CUBLAS_STATUS_SUCCESS)
		put_scalar(handle->mode, result, CUDA_R_32F, sqrt(sum));
	return s;
}

cublasStatus_t cublasNrm2Ex(cublasHandle_t handle, int n, const void *x, cudaDataType xType, int incx, void *result,
			    cudaDataType resultType, cudaDataType executionType)
{
	double sum = 0;
	cublasStatus_t s;

	if (xType != CUDA_R_32F)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	s = vectors(handle, n, x, incx, NULL, 0, false, false, add_square, &sum);
	if (s == CUBLAS_STATUS_SUCCESS)
		put_scalar(handle->mode, result, resultType, sqrt(sum));
	return s;
}

cublasStatus_t cublasIsamax_v2(cublasHandle_t handle, int n, const float *x, int incx, int *result)
{
	double state[3] = { 0, 0, -1 };
	cublasStatus_t s = vectors(handle, n, x, incx, NULL, 0, false, false, find_largest, state);
	int found = (int)state[0];

	if (s != CUBLAS_STATUS_SUCCESS)
		return s;
	if (handle->mode == CUBLAS_POINTER_MODE_HOST)
		*result = found;
	else
		store(result, &found, sizeof(found));
	return s;
}

cublasStatus_t cublasSrotg_v2(cublasHandle_t handle, float *a, float *b, float *c, float *s)
{
	double r, x = scalar(handle->mode, a, CUDA_R_32F), y = scalar(handle->mode, b, CUDA_R_32F);

	r = sqrt(x * x + y * y);
	put_scalar(handle->mode, a, CUDA_R_32F, r);
	put_scalar(handle->mode, b, CUDA_R_32F, 0);
	put_scalar(handle->mode, c, CUDA_R_32F, x / r);
	put_scalar(handle->mode, s, CUDA_R_32F, y / r);
	return CUBLAS_STATUS_SUCCESS;
}

/* cuBLASLt. */

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
	*handle = find_driver() ? calloc(1, sizeof(**handle)) : NULL;
	return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t describe(void **to, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct description *new = calloc(1, sizeof(*new));

	*new = (struct description){ .made_with = { a, b, c, d } };
	*to = new;
	return CUBLAS_STATUS_SUCCESS;
}

#define DESCRIPTION(name, type, attribute)                                                                             \
	cublasStatus_t cublasLt##name##Destroy(type d)                                                                 \
	{                                                                                                              \
		free(d);                                                                                               \
		return CUBLAS_STATUS_SUCCESS;                                                                          \
	}                                                                                                              \
	cublasStatus_t cublasLt##name##SetAttribute(type d, attribute number, const void *value, size_t bytes)         \
	{                                                                                                              \
		struct description *given = (struct description *)d;                                                   \
														       \
		if ((unsigned int)number >= 64 || bytes > 8)                                                           \
			return CUBLAS_STATUS_INVALID_VALUE;                                                            \
		given->set[number] = true;                                                                             \
		memcpy(&given->attributes[number], value, bytes);                                                      \
		return CUBLAS_STATUS_SUCCESS;                                                                          \
	}

DESCRIPTION(MatmulDesc, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t)
DESCRIPTION(MatrixLayout, cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t)
DESCRIPTION(MatmulPreference, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t)
DESCRIPTION(MatrixTransformDesc, cublasLtMatrixTransformDesc_t, cublasLtMatrixTransformDescAttributes_t)

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute, cudaDataType_t scale_type)
{
	return describe((void **)d, compute, scale_type, 0, 0);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *d, cudaDataType type, uint64_t rows, uint64_t columns,
					  int64_t leading)
{
	return describe((void **)d, type, rows, columns, (uint64_t)leading);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *d)
{
	return describe((void **)d, 0, 0, 0, 0);
}

cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t *d, cudaDataType scale_type)
{
	return describe((void **)d, scale_type, 0, 0, 0);
}

static struct matrix layout(const void *at, cublasLtMatrixLayout_t l, bool turned)
{
	const struct description *d = (const struct description *)l;

	return (struct matrix){ at, (cudaDataType)d->made_with[0], (int64_t)d->made_with[3], turned };
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *A,
			      cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc,
			      const void *beta, const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
			      cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo, void *workspace,
			      size_t bytes, cudaStream_t stream)
{
	const struct description *d = (const struct description *)desc, *to = (const struct description *)Ddesc,
				 *from = (const struct description *)Adesc;
	bool turn_a = d->attributes[CUBLASLT_MATMUL_DESC_TRANSA], turn_b = d->attributes[CUBLASLT_MATMUL_DESC_TRANSB];
	cublasPointerMode_t mode = d->attributes[CUBLASLT_MATMUL_DESC_POINTER_MODE] ? CUBLAS_POINTER_MODE_DEVICE
										    : CUBLAS_POINTER_MODE_HOST;
	uint64_t bias_at = d->attributes[CUBLASLT_MATMUL_DESC_BIAS_POINTER];
	cudaDataType type = (cudaDataType)d->made_with[1];
	float *bias = NULL;
	cublasStatus_t s;

	if (algo && algo->data[0] != 77) /* what its own heuristic gave out */
		return CUBLAS_STATUS_INVALID_VALUE;
	if (rest((CUstream)stream) != CUDA_SUCCESS)
		return CUBLAS_STATUS_EXECUTION_FAILED;
	if (d->set[CUBLASLT_MATMUL_DESC_BIAS_POINTER])
		bias = fetch((const void *)(uintptr_t)bias_at, to->made_with[1] * 4);
	s = multiply((int64_t)to->made_with[1], (int64_t)to->made_with[2], (int64_t)from->made_with[turn_a ? 1 : 2],
		     scalar(mode, alpha, type), layout(A, Adesc, turn_a), layout(B, Bdesc, turn_b),
		     scalar(mode, beta, type), layout(C, Cdesc, false), layout(D, Ddesc, false), bias);
	free(bias);
	return s;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
					      cublasLtMatrixLayout_t A, cublasLtMatrixLayout_t B,
					      cublasLtMatrixLayout_t C, cublasLtMatrixLayout_t D,
					      cublasLtMatmulPreference_t preference, int wanted,
					      cublasLtMatmulHeuristicResult_t *results, int *count)
{
	const struct description *p = (const struct description *)preference;
	cublasLtMatmulHeuristicResult_t found = { .algo.data = { 77 } };

	if (p)
		found.workspaceSize = p->attributes[CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES];
	*results = found;
	*count = 1;
	return CUBLAS_STATUS_SUCCESS;
}
