/*
 * calls.c: cuSOLVER's dense routines, for each type and in the 64-bit interface.
 *
 * Statuses as cuSOLVER documents them: a size below 0, a leading dimension that is too small, an enumerator that there
 * is not, a workspace of less than nothing: INVALID_VALUE. Nothing to do is success. Sizes of workspaces are such as
 * blocked routines want.
 */
#include "libs/cusolver/handle.h"

#include <string.h>

#define BLOCK 32 /* columns that are worked on together, of which workspaces are made */

static uint64_t at(const void *p)
{
	return (uintptr_t)p;
}

static char uplo_of(cublasFillMode_t uplo)
{
	return uplo == CUBLAS_FILL_MODE_UPPER ? 'U' : uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 0;
}

static char trans_of(cublasOperation_t trans)
{
	return trans == CUBLAS_OP_N ? 'N' : trans == CUBLAS_OP_T ? 'T' : trans == CUBLAS_OP_C ? 'C' : 0;
}

static char side_of(cublasSideMode_t side)
{
	return side == CUBLAS_SIDE_LEFT ? 'L' : side == CUBLAS_SIDE_RIGHT ? 'R' : 0;
}

static char eig_of(cusolverEigMode_t job)
{
	return job == CUSOLVER_EIG_MODE_VECTOR ? 'V' : job == CUSOLVER_EIG_MODE_NOVECTOR ? 'N' : 0;
}

static int type_of(cudaDataType t)
{
	return t == CUDA_R_32F ? 0 : t == CUDA_R_64F ? 1 : t == CUDA_C_32F ? 2 : t == CUDA_C_64F ? 3 : -1;
}

static cudaDataType real_of(cudaDataType t)
{
	return t == CUDA_C_32F ? CUDA_R_32F : t == CUDA_C_64F ? CUDA_R_64F : t;
}

static bool ld_good(int64_t ld, int64_t rows)
{
	return ld >= (rows > 1 ? rows : 1);
}

/* What every call checks: sizes, letters that were wrong are 0. */
static cusolverStatus_t run(const void *handle, bool good, bool nothing, struct solver_work w)
{
	if (!solver_handle_find(handle))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!good || w.m < 0 || w.n < 0 || w.k < 0 || w.nrhs < 0 || w.batch < 0 || w.m > SOLVER_SIZE_MOST ||
	    w.n > SOLVER_SIZE_MOST || w.nrhs > SOLVER_SIZE_MOST || w.a.ld > SOLVER_SIZE_MOST ||
	    w.b.ld > SOLVER_SIZE_MOST || w.c.ld > SOLVER_SIZE_MOST)
		return CUSOLVER_STATUS_INVALID_VALUE;
	return nothing ? CUSOLVER_STATUS_SUCCESS : solver_launch(handle, &w);
}

static cusolverStatus_t size_tell(const void *handle, bool good, int64_t numbers, int *ret)
{
	if (!solver_handle_find(handle))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!good || !ret || numbers < 0)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*ret = numbers < 1 ? 1 : numbers > INT32_MAX ? INT32_MAX : (int)numbers;
	return CUSOLVER_STATUS_SUCCESS;
}

#define HANDLE cusolverDnHandle_t handle
#define FILL cublasFillMode_t uplo
#define W(...) ((struct solver_work){ __VA_ARGS__ })

/* Of each type: X its letter, number its index, T the type, R its real part's. */
#define ROUTINES(X, number, T, R)                                                                                      \
	cusolverStatus_t soft_cusolverDn##X##potrf_bufferSize(HANDLE, FILL, int n, T *A, int lda, int *Lwork)          \
	{                                                                                                              \
		return size_tell(handle, n >= 0 && ld_good(lda, n) && uplo_of(uplo), (int64_t)n * BLOCK, Lwork);       \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##potrf(HANDLE, FILL, int n, T *A, int lda, T *Workspace, int Lwork,        \
						   int *devInfo)                                                       \
	{                                                                                                              \
		return run(handle, Lwork >= 0 && ld_good(lda, n) && uplo_of(uplo), !n,                                 \
			   W(.routine = SOLVER_potrf, .type = number, .uplo = uplo_of(uplo), .n = n,                   \
			     .a = { at(A), lda, 0 }, .info = at(devInfo)));                                            \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##potri_bufferSize(HANDLE, FILL, int n, T *A, int lda, int *lwork)          \
	{                                                                                                              \
		return size_tell(handle, n >= 0 && ld_good(lda, n) && uplo_of(uplo), (int64_t)n * BLOCK, lwork);       \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##potri(HANDLE, FILL, int n, T *A, int lda, T *work, int lwork,             \
						   int *devInfo)                                                       \
	{                                                                                                              \
		return run(handle, lwork >= 0 && ld_good(lda, n) && uplo_of(uplo), !n,                                 \
			   W(.routine = SOLVER_potri, .type = number, .uplo = uplo_of(uplo), .n = n,                   \
			     .a = { at(A), lda, 0 }, .info = at(devInfo)));                                            \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##potrs(HANDLE, FILL, int n, int nrhs, const T *A, int lda, T *B, int ldb,  \
						   int *devInfo)                                                       \
	{                                                                                                              \
		return run(handle, ld_good(lda, n) && ld_good(ldb, n) && uplo_of(uplo), !n || !nrhs,                   \
			   W(.routine = SOLVER_potrs, .type = number, .uplo = uplo_of(uplo), .n = n, .nrhs = nrhs,     \
			     .a = { at(A), lda, 0 }, .b = { at(B), ldb, 0 }, .info = at(devInfo)));                    \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##potrfBatched(HANDLE, FILL, int n, T **Aarray, int lda, int *infoArray,    \
							  int batchSize)                                               \
	{                                                                                                              \
		return run(handle, ld_good(lda, n) && uplo_of(uplo), !n || !batchSize,                                 \
			   W(.routine = SOLVER_potrf, .type = number, .arrays = 1, .uplo = uplo_of(uplo), .n = n,      \
			     .a = { at(Aarray), lda, 0 }, .info = at(infoArray), .batch = batchSize));                 \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##potrsBatched(HANDLE, FILL, int n, int nrhs, T **A, int lda, T **B,        \
							  int ldb, int *d_info, int batchSize)                         \
	{                                                                                                              \
		return run(handle, ld_good(lda, n) && ld_good(ldb, n) && uplo_of(uplo), !n || !nrhs || !batchSize,     \
			   W(.routine = SOLVER_potrs, .type = number, .arrays = 1, .uplo = uplo_of(uplo), .n = n,      \
			     .nrhs = nrhs, .a = { at(A), lda, 0 }, .b = { at(B), ldb, 0 }, .batch = batchSize));       \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##getrf_bufferSize(HANDLE, int m, int n, T *A, int lda, int *Lwork)         \
	{                                                                                                              \
		return size_tell(handle, m >= 0 && n >= 0 && ld_good(lda, m), (int64_t)m * BLOCK, Lwork);              \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##getrf(HANDLE, int m, int n, T *A, int lda, T *Workspace, int *devIpiv,    \
						   int *devInfo)                                                       \
	{                                                                                                              \
		return run(handle, ld_good(lda, m), !m || !n,                                                          \
			   W(.routine = SOLVER_getrf, .type = number, .m = m, .n = n, .a = { at(A), lda, 0 },          \
			     .pivots = at(devIpiv), .info = at(devInfo)));                                             \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##getrs(HANDLE, cublasOperation_t trans, int n, int nrhs, const T *A,       \
						   int lda, const int *devIpiv, T *B, int ldb, int *devInfo)           \
	{                                                                                                              \
		return run(handle, ld_good(lda, n) && ld_good(ldb, n) && trans_of(trans), !n || !nrhs,                 \
			   W(.routine = SOLVER_getrs, .type = number, .trans = trans_of(trans), .n = n, .nrhs = nrhs,  \
			     .a = { at(A), lda, 0 }, .b = { at(B), ldb, 0 }, .pivots = at(devIpiv),                    \
			     .info = at(devInfo)));                                                                    \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##geqrf_bufferSize(HANDLE, int m, int n, T *A, int lda, int *lwork)         \
	{                                                                                                              \
		return size_tell(handle, m >= 0 && n >= 0 && ld_good(lda, m), (int64_t)n * BLOCK, lwork);              \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##geqrf(HANDLE, int m, int n, T *A, int lda, T *TAU, T *Workspace,          \
						   int Lwork, int *devInfo)                                            \
	{                                                                                                              \
		return run(handle, Lwork >= 0 && ld_good(lda, m), !m || !n,                                            \
			   W(.routine = SOLVER_geqrf, .type = number, .m = m, .n = n, .a = { at(A), lda, 0 },          \
			     .tau = at(TAU), .info = at(devInfo)));                                                    \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##gesvd_bufferSize(HANDLE, int m, int n, int *lwork)                        \
	{                                                                                                              \
		return size_tell(handle, n >= 0 && m >= n, ((int64_t)m + n) * BLOCK, lwork);                           \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##gesvd(HANDLE, signed char jobu, signed char jobvt, int m, int n, T *A,    \
						   int lda, R *S, T *U, int ldu, T *VT, int ldvt, T *work, int lwork,  \
						   R *rwork, int *info)                                                \
	{                                                                                                              \
		return gesvd(handle, lwork, number, (char)jobu, (char)jobvt, m, n, at(A), lda, at(S), at(U), ldu,      \
			     at(VT), ldvt, at(info));                                                                  \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##gesvdj_bufferSize(HANDLE, cusolverEigMode_t jobz, int econ, int m, int n, \
							       const T *A, int lda, const R *S, const T *U, int ldu,   \
							       const T *V, int ldv, int *lwork, gesvdjInfo_t params)   \
	{                                                                                                              \
		return size_tell(handle, m >= 0 && n >= 0 && ld_good(lda, m),                                          \
				 (int64_t)n * n + ((int64_t)m + n) * BLOCK, lwork);                                    \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##gesvdj(HANDLE, cusolverEigMode_t jobz, int econ, int m, int n, T *A,      \
						    int lda, R *S, T *U, int ldu, T *V, int ldv, T *work, int lwork,   \
						    int *info, gesvdjInfo_t params)                                    \
	{                                                                                                              \
		return gesvdj(handle, lwork, number, jobz, econ, m, n, at(A), lda, at(S), at(U), ldu, at(V), ldv,      \
			      at(info), 1);                                                                            \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##gesvdjBatched_bufferSize(                                                 \
		HANDLE, cusolverEigMode_t jobz, int m, int n, const T *A, int lda, const R *S, const T *U, int ldu,    \
		const T *V, int ldv, int *lwork, gesvdjInfo_t params, int batchSize)                                   \
	{                                                                                                              \
		return size_tell(handle, m >= 0 && n >= 0 && ld_good(lda, m),                                          \
				 (int64_t)n * n + ((int64_t)m + n) * BLOCK, lwork);                                    \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##gesvdjBatched(HANDLE, cusolverEigMode_t jobz, int m, int n, T *A,         \
							   int lda, R *S, T *U, int ldu, T *V, int ldv, T *work,       \
							   int lwork, int *info, gesvdjInfo_t params, int batchSize)   \
	{                                                                                                              \
		return gesvdj(handle, lwork, number, jobz, 0, m, n, at(A), lda, at(S), at(U), ldu, at(V), ldv,         \
			      at(info), batchSize);                                                                    \
	}

/* Symmetric or Hermitian, orthogonal or unitary: S syevd and C heevd. */
#define TWINS(X, sy, or, number, T, R)                                                                                 \
	cusolverStatus_t soft_cusolverDn##X## or                                                                       \
		##gqr_bufferSize(HANDLE, int m, int n, int k, const T *A, int lda, const T *tau, int *lwork)           \
	{                                                                                                              \
		return size_tell(handle, m >= n && n >= k && k >= 0 && ld_good(lda, m), (int64_t)n * BLOCK, lwork);    \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X## or                                                                       \
		##gqr(HANDLE, int m, int n, int k, T *A, int lda, const T *tau, T *work, int lwork, int *info)         \
	{                                                                                                              \
		return run(handle, lwork >= 0 && m >= n && n >= k && ld_good(lda, m), !m || !n,                        \
			   W(.routine = SOLVER_orgqr, .type = number, .m = m, .n = n, .k = k, .a = { at(A), lda, 0 },  \
			     .tau = at(tau), .info = at(info)));                                                       \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X## or                                                                       \
		##mqr_bufferSize(HANDLE, cublasSideMode_t side, cublasOperation_t trans, int m, int n, int k,          \
				 const T *A, int lda, const T *tau, const T *C, int ldc, int *lwork)                   \
	{                                                                                                              \
		return size_tell(handle, m >= 0 && n >= 0 && k >= 0 && ld_good(ldc, m), ((int64_t)m + n) * BLOCK,      \
				 lwork);                                                                               \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X## or                                                                       \
		##mqr(HANDLE, cublasSideMode_t side, cublasOperation_t trans, int m, int n, int k, const T *A,         \
		      int lda, const T *tau, T *C, int ldc, T *work, int lwork, int *devInfo)                          \
	{                                                                                                              \
		int rows = side == CUBLAS_SIDE_LEFT ? m : n;                                                           \
		return run(handle,                                                                                     \
			   lwork >= 0 && side_of(side) && trans_of(trans) && k <= rows && ld_good(lda, rows) &&        \
				   ld_good(ldc, m),                                                                    \
			   !m || !n || !k,                                                                             \
			   W(.routine = SOLVER_ormqr, .type = number, .side = side_of(side), .trans = trans_of(trans), \
			     .m = m, .n = n, .k = k, .a = { at(A), lda, 0 }, .b = { at(C), ldc, 0 }, .tau = at(tau),   \
			     .info = at(devInfo)));                                                                    \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##sy##evd_bufferSize(HANDLE, cusolverEigMode_t jobz, FILL, int n,           \
								const T *A, int lda, const R *W_, int *lwork)          \
	{                                                                                                              \
		return size_tell(handle, n >= 0 && ld_good(lda, n), (int64_t)n * n * 2 + (int64_t)n * BLOCK, lwork);   \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##sy##evd(HANDLE, cusolverEigMode_t jobz, FILL, int n, T *A, int lda,       \
						     R *W_, T *work, int lwork, int *info)                             \
	{                                                                                                              \
		return syevd(handle, lwork, number, jobz, uplo, n, at(A), lda, at(W_), at(info), 1);                   \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##sy##evj_bufferSize(HANDLE, cusolverEigMode_t jobz, FILL, int n,           \
								const T *A, int lda, const R *W_, int *lwork,          \
								syevjInfo_t params)                                    \
	{                                                                                                              \
		return size_tell(handle, n >= 0 && ld_good(lda, n), (int64_t)n * n * 2 + (int64_t)n * BLOCK, lwork);   \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##sy##evj(HANDLE, cusolverEigMode_t jobz, FILL, int n, T *A, int lda,       \
						     R *W_, T *work, int lwork, int *info, syevjInfo_t params)         \
	{                                                                                                              \
		return syevd(handle, lwork, number, jobz, uplo, n, at(A), lda, at(W_), at(info), 1);                   \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##sy##evjBatched_bufferSize(HANDLE, cusolverEigMode_t jobz, FILL, int n,    \
								       const T *A, int lda, const R *W_, int *lwork,   \
								       syevjInfo_t params, int batchSize)              \
	{                                                                                                              \
		return size_tell(handle, n >= 0 && ld_good(lda, n), (int64_t)n * n * 2 + (int64_t)n * BLOCK, lwork);   \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##sy##evjBatched(HANDLE, cusolverEigMode_t jobz, FILL, int n, T *A,         \
							    int lda, R *W_, T *work, int lwork, int *info,             \
							    syevjInfo_t params, int batchSize)                         \
	{                                                                                                              \
		return syevd(handle, lwork, number, jobz, uplo, n, at(A), lda, at(W_), at(info), batchSize);           \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##sy##gvd_bufferSize(HANDLE, cusolverEigType_t itype,                       \
								cusolverEigMode_t jobz, FILL, int n, const T *A,       \
								int lda, const T *B, int ldb, const R *W_, int *lwork) \
	{                                                                                                              \
		return size_tell(handle, n >= 0 && ld_good(lda, n) && ld_good(ldb, n),                                 \
				 (int64_t)n * n * 2 + (int64_t)n * BLOCK, lwork);                                      \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##sy##gvd(HANDLE, cusolverEigType_t itype, cusolverEigMode_t jobz, FILL,    \
						     int n, T *A, int lda, T *B, int ldb, R *W_, T *work, int lwork,   \
						     int *info)                                                        \
	{                                                                                                              \
		return run(handle,                                                                                     \
			   lwork >= 0 && eig_of(jobz) && uplo_of(uplo) && (int)itype >= 1 && (int)itype <= 3 &&        \
				   ld_good(lda, n) && ld_good(ldb, n),                                                 \
			   !n,                                                                                         \
			   W(.routine = SOLVER_sygvd, .type = number, .itype = (int)itype, .job = eig_of(jobz),        \
			     .uplo = uplo_of(uplo), .n = n, .a = { at(A), lda, 0 }, .b = { at(B), ldb, 0 },            \
			     .values = at(W_), .info = at(info)));                                                     \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##sy##trd_bufferSize(HANDLE, FILL, int n, const T *A, int lda, const R *d,  \
								const R *e, const T *tau, int *lwork)                  \
	{                                                                                                              \
		return size_tell(handle, n >= 0 && ld_good(lda, n), (int64_t)n * BLOCK, lwork);                        \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##sy##trd(HANDLE, FILL, int n, T *A, int lda, R *d, R *e, T *tau, T *work,  \
						     int lwork, int *info)                                             \
	{                                                                                                              \
		return run(handle, lwork >= 0 && uplo_of(uplo) && ld_good(lda, n), !n,                                 \
			   W(.routine = SOLVER_sytrd, .type = number, .uplo = uplo_of(uplo), .n = n,                   \
			     .a = { at(A), lda, 0 }, .values = at(d), .values_more = at(e), .tau = at(tau),            \
			     .info = at(info)));                                                                       \
	}

static bool job_good(char job)
{
	return job && strchr("ASON", job);
}

/* As documented: of matrices with as many rows as columns, or more. */
static cusolverStatus_t gesvd(HANDLE, int lwork, int type, char jobu, char jobvt, int64_t m, int64_t n, uint64_t a,
			      int64_t lda, uint64_t s, uint64_t u, int64_t ldu, uint64_t vt, int64_t ldvt,
			      uint64_t info)
{
	bool good = lwork >= 0 && m >= n && job_good(jobu) && job_good(jobvt) && !(jobu == 'O' && jobvt == 'O') &&
		    ld_good(lda, m) && (!strchr("AS", jobu) || ld_good(ldu, m)) &&
		    (!strchr("AS", jobvt) || ld_good(ldvt, n));

	return run(handle, good, !m || !n,
		   W(.routine = SOLVER_gesvd, .type = (uint8_t)type, .job = jobu, .job_more = jobvt, .m = m, .n = n,
		     .a = { a, lda, 0 }, .b = { u, ldu, 0 }, .c = { vt, ldvt, 0 }, .values = s, .info = info));
}

static cusolverStatus_t gesvdj(HANDLE, int lwork, int type, cusolverEigMode_t jobz, int econ, int64_t m, int64_t n,
			       uint64_t a, int64_t lda, uint64_t s, uint64_t u, int64_t ldu, uint64_t v, int64_t ldv,
			       uint64_t info, int64_t batch)
{
	int64_t rank = m < n ? m : n;
	bool vectors = jobz == CUSOLVER_EIG_MODE_VECTOR;
	bool good = lwork >= 0 && eig_of(jobz) && ld_good(lda, m) && (!vectors || (ld_good(ldu, m) && ld_good(ldv, n)));

	return run(handle, good, !m || !n || !batch,
		   W(.routine = SOLVER_gesvdj, .type = (uint8_t)type,
		     .job = !vectors ? 'N'
			    : econ   ? 'S'
				     : 'A',
		     .m = m, .n = n, .a = { a, lda, lda * n }, .b = { u, ldu, ldu * (econ ? rank : m) },
		     .c = { v, ldv, ldv * (econ ? rank : n) }, .values = s, .values_apart = rank, .info = info,
		     .batch = batch));
}

static cusolverStatus_t syevd(HANDLE, int lwork, int type, cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n,
			      uint64_t a, int64_t lda, uint64_t values, uint64_t info, int64_t batch)
{
	return run(handle, lwork >= 0 && eig_of(jobz) && uplo_of(uplo) && ld_good(lda, n), !n || !batch,
		   W(.routine = SOLVER_syevd, .type = (uint8_t)type, .job = eig_of(jobz), .uplo = uplo_of(uplo), .n = n,
		     .a = { a, lda, lda * n }, .values = values, .values_apart = n, .info = info, .batch = batch));
}

ROUTINES(S, 0, float, float)
ROUTINES(D, 1, double, double)
ROUTINES(C, 2, cuComplex, float)
ROUTINES(Z, 3, cuDoubleComplex, double)
TWINS(S, sy, or, 0, float, float)
TWINS(D, sy, or, 1, double, double)
TWINS(C, he, un, 2, cuComplex, float)
TWINS(Z, he, un, 3, cuDoubleComplex, double)

/* ---- the 64-bit interface ---- */

#define PARAMS cusolverDnParams_t params
#define ROOM void *bufferOnDevice, size_t workspaceInBytesOnDevice, void *bufferOnHost, size_t workspaceInBytesOnHost
#define SIZES size_t *workspaceInBytesOnDevice, size_t *workspaceInBytesOnHost

static cusolverStatus_t sizes_tell(const void *handle, bool good, cudaDataType type, int64_t numbers,
				   size_t *ret_device, size_t *ret_host)
{
	static const size_t bytes[] = { 4, 8, 8, 16 };

	if (!solver_handle_find(handle))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!good || !ret_device || !ret_host || numbers < 0)
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (type_of(type) < 0) /* as NVIDIA's 12.0 */
		return CUSOLVER_STATUS_INVALID_VALUE;
	*ret_device = (size_t)numbers * bytes[type_of(type)];
	*ret_host = 0;
	return CUSOLVER_STATUS_SUCCESS;
}

/* Types that go together: all of one, values of its real part. */
static bool types_agree(cudaDataType a, cudaDataType b, cudaDataType compute)
{
	return type_of(a) >= 0 && a == b && a == compute;
}

static cusolverStatus_t type_refused(const char *symbol)
{
	library_refused(SOLVER_TITLE, symbol);
	return CUSOLVER_STATUS_INVALID_VALUE;
}

cusolverStatus_t soft_cusolverDnXpotrf_bufferSize(HANDLE, PARAMS, FILL, int64_t n, cudaDataType dataTypeA,
						  const void *A, int64_t lda, cudaDataType computeType, SIZES)
{
	return sizes_tell(handle, uplo_of(uplo) && n >= 0 && ld_good(lda, n), dataTypeA, n * BLOCK,
			  workspaceInBytesOnDevice, workspaceInBytesOnHost);
}

cusolverStatus_t soft_cusolverDnXpotrf(HANDLE, PARAMS, FILL, int64_t n, cudaDataType dataTypeA, void *A, int64_t lda,
				       cudaDataType computeType, ROOM, int *info)
{
	if (!types_agree(dataTypeA, dataTypeA, computeType))
		return type_refused("cusolverDnXpotrf of such types");
	return run(handle, uplo_of(uplo) && ld_good(lda, n), !n,
		   W(.routine = SOLVER_potrf, .type = (uint8_t)type_of(dataTypeA), .uplo = uplo_of(uplo), .n = n,
		     .a = { at(A), lda, 0 }, .info = at(info)));
}

cusolverStatus_t soft_cusolverDnXpotrs(HANDLE, PARAMS, FILL, int64_t n, int64_t nrhs, cudaDataType dataTypeA,
				       const void *A, int64_t lda, cudaDataType dataTypeB, void *B, int64_t ldb,
				       int *info)
{
	if (!types_agree(dataTypeA, dataTypeB, dataTypeA))
		return type_refused("cusolverDnXpotrs of such types");
	return run(handle, uplo_of(uplo) && ld_good(lda, n) && ld_good(ldb, n), !n || !nrhs,
		   W(.routine = SOLVER_potrs, .type = (uint8_t)type_of(dataTypeA), .uplo = uplo_of(uplo), .n = n,
		     .nrhs = nrhs, .a = { at(A), lda, 0 }, .b = { at(B), ldb, 0 }, .info = at(info)));
}

cusolverStatus_t soft_cusolverDnXgetrf_bufferSize(HANDLE, PARAMS, int64_t m, int64_t n, cudaDataType dataTypeA,
						  const void *A, int64_t lda, cudaDataType computeType, SIZES)
{
	return sizes_tell(handle, m >= 0 && n >= 0 && ld_good(lda, m), dataTypeA, m * BLOCK, workspaceInBytesOnDevice,
			  workspaceInBytesOnHost);
}

cusolverStatus_t soft_cusolverDnXgetrf(HANDLE, PARAMS, int64_t m, int64_t n, cudaDataType dataTypeA, void *A,
				       int64_t lda, int64_t *ipiv, cudaDataType computeType, ROOM, int *info)
{
	if (!types_agree(dataTypeA, dataTypeA, computeType))
		return type_refused("cusolverDnXgetrf of such types");
	return run(handle, ld_good(lda, m), !m || !n,
		   W(.routine = SOLVER_getrf, .type = (uint8_t)type_of(dataTypeA), .wide = 1, .m = m, .n = n,
		     .a = { at(A), lda, 0 }, .pivots = at(ipiv), .info = at(info)));
}

cusolverStatus_t soft_cusolverDnXgetrs(HANDLE, PARAMS, cublasOperation_t trans, int64_t n, int64_t nrhs,
				       cudaDataType dataTypeA, const void *A, int64_t lda, const int64_t *ipiv,
				       cudaDataType dataTypeB, void *B, int64_t ldb, int *info)
{
	if (!types_agree(dataTypeA, dataTypeB, dataTypeA))
		return type_refused("cusolverDnXgetrs of such types");
	return run(handle, trans_of(trans) && ld_good(lda, n) && ld_good(ldb, n), !n || !nrhs,
		   W(.routine = SOLVER_getrs, .type = (uint8_t)type_of(dataTypeA), .wide = 1, .trans = trans_of(trans),
		     .n = n, .nrhs = nrhs, .a = { at(A), lda, 0 }, .b = { at(B), ldb, 0 }, .pivots = at(ipiv),
		     .info = at(info)));
}

cusolverStatus_t soft_cusolverDnXgeqrf_bufferSize(HANDLE, PARAMS, int64_t m, int64_t n, cudaDataType dataTypeA,
						  const void *A, int64_t lda, cudaDataType dataTypeTau, const void *tau,
						  cudaDataType computeType, SIZES)
{
	return sizes_tell(handle, m >= 0 && n >= 0 && ld_good(lda, m), dataTypeA, n * BLOCK, workspaceInBytesOnDevice,
			  workspaceInBytesOnHost);
}

cusolverStatus_t soft_cusolverDnXgeqrf(HANDLE, PARAMS, int64_t m, int64_t n, cudaDataType dataTypeA, void *A,
				       int64_t lda, cudaDataType dataTypeTau, void *tau, cudaDataType computeType, ROOM,
				       int *info)
{
	if (!types_agree(dataTypeA, dataTypeTau, computeType))
		return type_refused("cusolverDnXgeqrf of such types");
	return run(handle, ld_good(lda, m), !m || !n,
		   W(.routine = SOLVER_geqrf, .type = (uint8_t)type_of(dataTypeA), .m = m, .n = n,
		     .a = { at(A), lda, 0 }, .tau = at(tau), .info = at(info)));
}

cusolverStatus_t soft_cusolverDnXsyevd_bufferSize(HANDLE, PARAMS, cusolverEigMode_t jobz, FILL, int64_t n,
						  cudaDataType dataTypeA, const void *A, int64_t lda,
						  cudaDataType dataTypeW, const void *W_, cudaDataType computeType,
						  SIZES)
{
	return sizes_tell(handle, n >= 0 && ld_good(lda, n), dataTypeA, n * n * 2 + n * BLOCK, workspaceInBytesOnDevice,
			  workspaceInBytesOnHost);
}

cusolverStatus_t soft_cusolverDnXsyevd(HANDLE, PARAMS, cusolverEigMode_t jobz, FILL, int64_t n, cudaDataType dataTypeA,
				       void *A, int64_t lda, cudaDataType dataTypeW, void *W_, cudaDataType computeType,
				       ROOM, int *info)
{
	if (!types_agree(dataTypeA, dataTypeA, computeType) || dataTypeW != real_of(dataTypeA))
		return type_refused("cusolverDnXsyevd of such types");
	return syevd(handle, 0, type_of(dataTypeA), jobz, uplo, n, at(A), lda, at(W_), at(info), 1);
}

cusolverStatus_t soft_cusolverDnXsyevBatched_bufferSize(HANDLE, PARAMS, cusolverEigMode_t jobz, FILL, int64_t n,
							cudaDataType dataTypeA, const void *A, int64_t lda,
							cudaDataType dataTypeW, const void *W_,
							cudaDataType computeType, SIZES, int64_t batchSize)
{
	return sizes_tell(handle, n >= 0 && ld_good(lda, n), dataTypeA, n * n * 2 + n * BLOCK, workspaceInBytesOnDevice,
			  workspaceInBytesOnHost);
}

cusolverStatus_t soft_cusolverDnXsyevBatched(HANDLE, PARAMS, cusolverEigMode_t jobz, FILL, int64_t n,
					     cudaDataType dataTypeA, void *A, int64_t lda, cudaDataType dataTypeW,
					     void *W_, cudaDataType computeType, ROOM, int *info, int64_t batchSize)
{
	if (!types_agree(dataTypeA, dataTypeA, computeType) || dataTypeW != real_of(dataTypeA))
		return type_refused("cusolverDnXsyevBatched of such types");
	return syevd(handle, 0, type_of(dataTypeA), jobz, uplo, n, at(A), lda, at(W_), at(info), batchSize);
}

cusolverStatus_t soft_cusolverDnXgesvd_bufferSize(HANDLE, PARAMS, signed char jobu, signed char jobvt, int64_t m,
						  int64_t n, cudaDataType dataTypeA, const void *A, int64_t lda,
						  cudaDataType dataTypeS, const void *S, cudaDataType dataTypeU,
						  const void *U, int64_t ldu, cudaDataType dataTypeVT, const void *VT,
						  int64_t ldvt, cudaDataType computeType, SIZES)
{
	return sizes_tell(handle, n >= 0 && m >= n && ld_good(lda, m), dataTypeA, (m + n) * BLOCK,
			  workspaceInBytesOnDevice, workspaceInBytesOnHost);
}

cusolverStatus_t soft_cusolverDnXgesvd(HANDLE, PARAMS, signed char jobu, signed char jobvt, int64_t m, int64_t n,
				       cudaDataType dataTypeA, void *A, int64_t lda, cudaDataType dataTypeS, void *S,
				       cudaDataType dataTypeU, void *U, int64_t ldu, cudaDataType dataTypeVT, void *VT,
				       int64_t ldvt, cudaDataType computeType, ROOM, int *info)
{
	if (!types_agree(dataTypeA, dataTypeU, computeType) || dataTypeVT != dataTypeA ||
	    dataTypeS != real_of(dataTypeA))
		return type_refused("cusolverDnXgesvd of such types");
	return gesvd(handle, 0, type_of(dataTypeA), (char)jobu, (char)jobvt, m, n, at(A), lda, at(S), at(U), ldu,
		     at(VT), ldvt, at(info));
}

/* Eigenvalues of a real matrix: complex ones, or twice as many real ones, the real parts before the imaginary ones. */
static bool geev_types(cudaDataType a, cudaDataType w, cudaDataType vl, cudaDataType vr, cudaDataType compute)
{
	return types_agree(a, vl, compute) && vr == a && (w == a || real_of(w) == a);
}

static bool geev_good(cusolverEigMode_t jobvl, cusolverEigMode_t jobvr, int64_t n, int64_t lda, int64_t ldvl,
		      int64_t ldvr)
{
	return n >= 0 && ld_good(lda, n) && eig_of(jobvl) && eig_of(jobvr) &&
	       ld_good(ldvl, eig_of(jobvl) == 'V' ? n : 1) && ld_good(ldvr, eig_of(jobvr) == 'V' ? n : 1);
}

cusolverStatus_t soft_cusolverDnXgeev_bufferSize(HANDLE, PARAMS, cusolverEigMode_t jobvl, cusolverEigMode_t jobvr,
						 int64_t n, cudaDataType dataTypeA, const void *A, int64_t lda,
						 cudaDataType dataTypeW, const void *W_, cudaDataType dataTypeVL,
						 const void *VL, int64_t ldvl, cudaDataType dataTypeVR, const void *VR,
						 int64_t ldvr, cudaDataType computeType, SIZES)
{
	bool good = geev_good(jobvl, jobvr, n, lda, ldvl, ldvr);

	if (good && !geev_types(dataTypeA, dataTypeW, dataTypeVL, dataTypeVR, computeType))
		return type_refused("cusolverDnXgeev_bufferSize of such types");
	return sizes_tell(handle, good, dataTypeA, n * n + n * BLOCK, workspaceInBytesOnDevice, workspaceInBytesOnHost);
}

cusolverStatus_t soft_cusolverDnXgeev(HANDLE, PARAMS, cusolverEigMode_t jobvl, cusolverEigMode_t jobvr, int64_t n,
				      cudaDataType dataTypeA, void *A, int64_t lda, cudaDataType dataTypeW, void *W_,
				      cudaDataType dataTypeVL, void *VL, int64_t ldvl, cudaDataType dataTypeVR,
				      void *VR, int64_t ldvr, cudaDataType computeType, ROOM, int *info)
{
	if (!geev_types(dataTypeA, dataTypeW, dataTypeVL, dataTypeVR, computeType))
		return type_refused("cusolverDnXgeev of such types");
	return run(handle, geev_good(jobvl, jobvr, n, lda, ldvl, ldvr), !n,
		   W(.routine = SOLVER_geev, .type = (uint8_t)type_of(dataTypeA), .wide = dataTypeW != dataTypeA,
		     .job = eig_of(jobvl), .job_more = eig_of(jobvr), .n = n, .a = { at(A), lda, 0 },
		     .b = { at(VL), ldvl, 0 }, .c = { at(VR), ldvr, 0 }, .values = at(W_), .info = at(info)));
}

/* The polar decomposition's singular values are the same ones. */
cusolverStatus_t soft_cusolverDnXgesvdp_bufferSize(HANDLE, PARAMS, cusolverEigMode_t jobz, int econ, int64_t m,
						   int64_t n, cudaDataType dataTypeA, const void *A, int64_t lda,
						   cudaDataType dataTypeS, const void *S, cudaDataType dataTypeU,
						   const void *U, int64_t ldu, cudaDataType dataTypeV, const void *V,
						   int64_t ldv, cudaDataType computeType, SIZES)
{
	return sizes_tell(handle, m >= 0 && n >= 0 && ld_good(lda, m), dataTypeA, n * n + (m + n) * BLOCK,
			  workspaceInBytesOnDevice, workspaceInBytesOnHost);
}

cusolverStatus_t soft_cusolverDnXgesvdp(HANDLE, PARAMS, cusolverEigMode_t jobz, int econ, int64_t m, int64_t n,
					cudaDataType dataTypeA, void *A, int64_t lda, cudaDataType dataTypeS, void *S,
					cudaDataType dataTypeU, void *U, int64_t ldu, cudaDataType dataTypeV, void *V,
					int64_t ldv, cudaDataType computeType, ROOM, int *d_info, double *h_err_sigma)
{
	if (!types_agree(dataTypeA, dataTypeU, computeType) || dataTypeV != dataTypeA ||
	    dataTypeS != real_of(dataTypeA))
		return type_refused("cusolverDnXgesvdp of such types");
	if (h_err_sigma)
		*h_err_sigma = 0;
	return gesvdj(handle, 0, type_of(dataTypeA), jobz, econ, m, n, at(A), lda, at(S), at(U), ldu, at(V), ldv,
		      at(d_info), 1);
}

cusolverStatus_t soft_cusolverDnXtrtri_bufferSize(HANDLE, FILL, cublasDiagType_t diag, int64_t n,
						  cudaDataType dataTypeA, void *A, int64_t lda, SIZES)
{
	return sizes_tell(handle, uplo_of(uplo) && n >= 0 && ld_good(lda, n), dataTypeA, n * BLOCK,
			  workspaceInBytesOnDevice, workspaceInBytesOnHost);
}

cusolverStatus_t soft_cusolverDnXtrtri(HANDLE, FILL, cublasDiagType_t diag, int64_t n, cudaDataType dataTypeA, void *A,
				       int64_t lda, ROOM, int *devInfo)
{
	if (type_of(dataTypeA) < 0)
		return type_refused("cusolverDnXtrtri of such types");
	return run(handle, uplo_of(uplo) && (unsigned int)diag <= CUBLAS_DIAG_UNIT && ld_good(lda, n), !n,
		   W(.routine = SOLVER_trtri, .type = (uint8_t)type_of(dataTypeA), .uplo = uplo_of(uplo),
		     .diag = diag == CUBLAS_DIAG_UNIT ? 'U' : 'N', .n = n, .a = { at(A), lda, 0 },
		     .info = at(devInfo)));
}
