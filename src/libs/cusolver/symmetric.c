/*
 * symmetric.c: cuSOLVER's factors of symmetric matrices that need not be positive, L D L^T by Bunch's and Kaufman's
 * pivots, and solutions with them. Complex matrices are symmetric as well, not Hermitian. Factors without pivots are
 * NOT_SUPPORTED.
 */
#include "libs/cusolver/handle.h"

static uint64_t at(const void *p)
{
	return (uintptr_t)p;
}

static char uplo_of(cublasFillMode_t uplo)
{
	return uplo == CUBLAS_FILL_MODE_UPPER ? 'U' : uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 0;
}

static int type_of(cudaDataType t)
{
	return t == CUDA_R_32F ? 0 : t == CUDA_R_64F ? 1 : t == CUDA_C_32F ? 2 : t == CUDA_C_64F ? 3 : -1;
}

/* Of a factor, and of right sides of which there may be none. */
static cusolverStatus_t check(const void *h, char uplo, int64_t n, int64_t lda, int64_t nrhs, int64_t ldb)
{
	int64_t least = n > 1 ? n : 1;

	if (!solver_handle_find(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!uplo || n < 0 || nrhs < 0 || n > SOLVER_SIZE_MOST || nrhs > SOLVER_SIZE_MOST || lda < least ||
	    lda > SOLVER_SIZE_MOST || ldb < least || ldb > SOLVER_SIZE_MOST)
		return CUSOLVER_STATUS_INVALID_VALUE;
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t run(const void *h, cusolverStatus_t status, struct solver_work w, const char *call)
{
	if (status)
		return status;
	if (!w.n || (w.routine == SOLVER_sytrs && !w.nrhs))
		return CUSOLVER_STATUS_SUCCESS;
	if (w.pivots)
		return solver_launch(h, &w);
	library_refused(SOLVER_TITLE, call);
	return CUSOLVER_STATUS_NOT_SUPPORTED;
}

#define FACTOR(X, number, T)                                                                                           \
	cusolverStatus_t soft_cusolverDn##X##sytrf_bufferSize(cusolverDnHandle_t handle, int n, T *A, int lda,         \
							      int *lwork)                                              \
	{                                                                                                              \
		cusolverStatus_t status = check(handle, 'L', n, lda, 0, lda);                                          \
		if (!status && !lwork)                                                                                 \
			status = CUSOLVER_STATUS_INVALID_VALUE;                                                        \
		if (!status)                                                                                           \
			*lwork = n > 0 && n < INT32_MAX / 32 ? n * 32 : 1;                                             \
		return status;                                                                                         \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##sytrf(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T *A,      \
						   int lda, int *ipiv, T *work, int lwork, int *info)                  \
	{                                                                                                              \
		return run(handle, check(handle, lwork < 0 ? 0 : uplo_of(uplo), n, lda, 0, lda),                       \
			   (struct solver_work){ .routine = SOLVER_sytrf,                                              \
						 .type = number,                                                       \
						 .uplo = uplo_of(uplo),                                                \
						 .n = n,                                                               \
						 .a = { at(A), lda, 0 },                                               \
						 .pivots = at(ipiv),                                                   \
						 .info = at(info) },                                                   \
			   "cusolverDn" #X "sytrf without pivots");                                                    \
	}
FACTOR(S, 0, float)
FACTOR(D, 1, double)
FACTOR(C, 2, cuComplex)
FACTOR(Z, 3, cuDoubleComplex)

#define SOLUTION                                                                                                       \
	cusolverDnHandle_t handle, cublasFillMode_t uplo, int64_t n, int64_t nrhs, cudaDataType dataTypeA,             \
		const void *A, int64_t lda, const int64_t *ipiv, cudaDataType dataTypeB, void *B, int64_t ldb

static cusolverStatus_t solution_check(SOLUTION)
{
	cusolverStatus_t status = check(handle, uplo_of(uplo), n, lda, nrhs, ldb);

	if (status || (type_of(dataTypeA) >= 0 && dataTypeB == dataTypeA))
		return status;
	library_refused(SOLVER_TITLE, "cusolverDnXsytrs of such types");
	return CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED; /* as NVIDIA's 12.0 */
}

#define GIVEN handle, uplo, n, nrhs, dataTypeA, A, lda, ipiv, dataTypeB, B, ldb

cusolverStatus_t soft_cusolverDnXsytrs_bufferSize(SOLUTION, size_t *workspaceInBytesOnDevice,
						  size_t *workspaceInBytesOnHost)
{
	cusolverStatus_t status = solution_check(GIVEN);

	if (!status && (!workspaceInBytesOnDevice || !workspaceInBytesOnHost))
		status = CUSOLVER_STATUS_INVALID_VALUE;
	if (!status) {
		*workspaceInBytesOnDevice = 8;
		*workspaceInBytesOnHost = 0;
	}
	return status;
}

cusolverStatus_t soft_cusolverDnXsytrs(SOLUTION, void *bufferOnDevice, size_t workspaceInBytesOnDevice,
				       void *bufferOnHost, size_t workspaceInBytesOnHost, int *info)
{
	return run(handle, solution_check(GIVEN),
		   (struct solver_work){ .routine = SOLVER_sytrs,
					 .type = (uint8_t)type_of(dataTypeA),
					 .wide = 1,
					 .uplo = uplo_of(uplo),
					 .n = n,
					 .nrhs = nrhs,
					 .a = { at(A), lda, 0 },
					 .b = { at(B), ldb, 0 },
					 .pivots = at(ipiv),
					 .info = at(info) },
		   "cusolverDnXsytrs without pivots");
}
