/*
 * approximate.c: cuSOLVER's approximate singular values of matrices at strides, gesvdaStridedBatched. LAPACK computes
 * them exactly, so all of them are wanted: a smaller rank is NOT_SUPPORTED, and the norms of what is left are told as
 * 0.
 */
#include "libs/cusolver/handle.h"

static uint64_t at(const void *p)
{
	return (uintptr_t)p;
}

/* What the calls of all types are about. */
struct values {
	cusolverEigMode_t job;
	int rank, m, n, batch;
	struct solver_matrix a, u, v;
	const void *s;
	long long s_apart;
	uint8_t type;
};

static cusolverStatus_t values_check(const void *h, const struct values *v)
{
	bool vectors = v->job == CUSOLVER_EIG_MODE_VECTOR;
	int least = v->m < v->n ? v->m : v->n;

	if (!solver_handle_find(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if ((!vectors && v->job != CUSOLVER_EIG_MODE_NOVECTOR) || v->m < 0 || v->n < 0 || v->batch < 0 ||
	    v->m > SOLVER_SIZE_MOST || v->n > SOLVER_SIZE_MOST || v->rank < 0 || v->rank > least ||
	    v->a.ld < (v->m > 1 ? v->m : 1) || v->a.apart < 0 || v->s_apart < 0)
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (vectors &&
	    (v->u.ld < (v->m > 1 ? v->m : 1) || v->v.ld < (v->n > 1 ? v->n : 1) || v->u.apart < 0 || v->v.apart < 0))
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (v->rank == least)
		return CUSOLVER_STATUS_SUCCESS;
	library_refused(SOLVER_TITLE, "singular values of a smaller rank");
	return CUSOLVER_STATUS_NOT_SUPPORTED;
}

static cusolverStatus_t values_run(const void *h, const struct values *v, const void *info, double *norms)
{
	cusolverStatus_t status = values_check(h, v);
	struct solver_work w = { .routine = SOLVER_gesvda,
				 .type = v->type,
				 .job = v->job == CUSOLVER_EIG_MODE_VECTOR ? 'S' : 'N',
				 .m = v->m,
				 .n = v->n,
				 .batch = v->batch,
				 .a = v->a,
				 .b = v->u,
				 .c = v->v,
				 .values = at(v->s),
				 .values_apart = v->s_apart,
				 .info = at(info) };

	if (status || !v->m || !v->n || !v->batch)
		return status;
	status = solver_launch(h, &w);
	for (int i = 0; !status && norms && i < v->batch; i++)
		norms[i] = 0;
	return status;
}

#define MATRICES(CONST, T, R)                                                                                          \
	cusolverDnHandle_t handle, cusolverEigMode_t jobz, int rank, int m, int n, const T *d_A, int lda,              \
		long long strideA, CONST R *d_S, long long strideS, CONST T *d_U, int ldu, long long strideU,          \
		CONST T *d_V, int ldv, long long strideV
#define GIVEN(number)                                                                                                  \
	struct values v = { jobz,                                                                                      \
			    rank,                                                                                      \
			    m,                                                                                         \
			    n,                                                                                         \
			    batchSize,                                                                                 \
			    { at(d_A), lda, strideA },                                                                 \
			    { at(d_U), ldu, strideU },                                                                 \
			    { at(d_V), ldv, strideV },                                                                 \
			    d_S,                                                                                       \
			    strideS,                                                                                   \
			    number }

#define VALUES(X, number, T, R)                                                                                        \
	cusolverStatus_t soft_cusolverDn##X##gesvdaStridedBatched_bufferSize(MATRICES(const, T, R), int *lwork,        \
									     int batchSize)                            \
	{                                                                                                              \
		GIVEN(number);                                                                                         \
		cusolverStatus_t status = values_check(handle, &v);                                                    \
		if (!status && !lwork)                                                                                 \
			status = CUSOLVER_STATUS_INVALID_VALUE;                                                        \
		if (!status)                                                                                           \
			*lwork = 1;                                                                                    \
		return status;                                                                                         \
	}                                                                                                              \
	cusolverStatus_t soft_cusolverDn##X##gesvdaStridedBatched(MATRICES(, T, R), T *d_work, int lwork, int *d_info, \
								  double *h_R_nrmF, int batchSize)                     \
	{                                                                                                              \
		GIVEN(number);                                                                                         \
		return values_run(handle, &v, d_info, h_R_nrmF);                                                       \
	}
VALUES(S, 0, float, float)
VALUES(D, 1, double, double)
VALUES(C, 2, cuComplex, float)
VALUES(Z, 3, cuDoubleComplex, double)
