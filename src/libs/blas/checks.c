/*
 * checks.c: see checks.h.
 *
 * Statuses as cuBLAS documents them: a size below 0, a step of 0, a leading dimension that is too small, an enumerator
 * that there is not: INVALID_VALUE; a type that there is no routine for: NOT_SUPPORTED.
 */
#include "libs/blas/checks.h"

static bool ld_good(int64_t ld, int64_t rows)
{
	return ld >= (rows > 1 ? rows : 1);
}

static bool op_good(int32_t op)
{
	return (uint32_t)op <= CUBLAS_OP_C;
}

static bool triangle_good(const struct blas_work *w)
{
	return w->uplo == CUBLAS_FILL_MODE_LOWER || w->uplo == CUBLAS_FILL_MODE_UPPER;
}

static cublasStatus_t valid(bool good)
{
	return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

/* ---- vectors ---- */

static bool vector_type(unsigned int type)
{
	return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F || type == CUDA_R_64F ||
	       type == CUDA_C_32F || type == CUDA_C_64F;
}

static bool one_type(unsigned int type)
{
	return type == CUDA_R_32F || type == CUDA_R_64F || type_is_complex(type);
}

static unsigned int real_type(unsigned int type)
{
	return type == CUDA_C_32F ? (unsigned int)CUDA_R_32F : type == CUDA_C_64F ? (unsigned int)CUDA_R_64F : type;
}

/* A scalar beside a vector of a type: of the same, of its real part, or a float beside what is smaller. */
static bool beside(unsigned int type, unsigned int of)
{
	return type == of || type == real_type(of) || (type == CUDA_R_32F && type_bytes(of) == 2);
}

static cublasStatus_t vectors(const struct blas_work *w, bool two)
{
	bool same = w->n > BLAS_SAME_MOST && (!w->incx || (two && !w->incy));

	return vector_type(w->xType) && (!two || w->yType == w->xType) && type_bytes(w->executionType) &&
			       type_bytes(w->executiontype) && !same
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t check_index(const struct blas_work *w)
{
	return w->result ? vectors(w, false) : CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus_t check_result(const struct blas_work *w)
{
	unsigned int of = w->body == BLAS_DOT ? w->xType : real_type(w->xType);

	if (!w->result)
		return CUBLAS_STATUS_INVALID_VALUE;
	return w->resultType == of ? vectors(w, w->body == BLAS_DOT) : CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t check_scaled(const struct blas_work *w)
{
	if (!w->alpha)
		return CUBLAS_STATUS_INVALID_VALUE;
	return beside(w->alphaType, w->xType) ? vectors(w, w->body == BLAS_AXPY) : CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t check_two(const struct blas_work *w)
{
	return vectors(w, true);
}

static cublasStatus_t check_rot(const struct blas_work *w)
{
	if (!w->c || !w->s)
		return CUBLAS_STATUS_INVALID_VALUE;
	return beside(w->cType, w->xType) && beside(w->sType, w->xType) ? vectors(w, true)
									: CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t check_rotm(const struct blas_work *w)
{
	unsigned int type = type_bytes(w->xType) == 2 ? (unsigned int)CUDA_R_32F : w->xType;

	if (!w->param)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (type_is_complex(type) || (w->paramType && w->paramType != type))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return vectors(w, true);
}

static cublasStatus_t check_rotg(const struct blas_work *w)
{
	if (!w->a || !w->b || !w->c || !w->s)
		return CUBLAS_STATUS_INVALID_VALUE;
	return one_type(w->type) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t check_rotmg(const struct blas_work *w)
{
	if (!w->d1 || !w->d2 || !w->x1 || !w->y1 || !w->param)
		return CUBLAS_STATUS_INVALID_VALUE;
	return one_type(w->type) && !type_is_complex(w->type) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

/* ---- a matrix and vectors ---- */

static cublasStatus_t check_gemv(const struct blas_work *w)
{
	return valid(w->alpha && w->beta && w->m >= 0 && w->n >= 0 && w->incx && w->incy && op_good(w->trans) &&
		     ld_good(w->lda, w->m));
}

static cublasStatus_t check_gbmv(const struct blas_work *w)
{
	return valid(w->alpha && w->beta && w->m >= 0 && w->n >= 0 && w->kl >= 0 && w->ku >= 0 && w->incx && w->incy &&
		     op_good(w->trans) && w->lda > w->kl + w->ku);
}

static bool stored_good(const struct blas_work *w)
{
	return triangle_good(w) && w->n >= 0 && w->k >= 0 &&
	       (w->form == BLAS_PACKED || ld_good(w->lda, w->form == BLAS_BAND ? w->k + 1 : w->n));
}

static cublasStatus_t check_symv(const struct blas_work *w)
{
	return valid(w->alpha && w->beta && stored_good(w) && w->incx && w->incy);
}

static cublasStatus_t check_triangle(const struct blas_work *w)
{
	return valid(stored_good(w) && w->incx && op_good(w->trans) && (uint32_t)w->diag <= CUBLAS_DIAG_UNIT);
}

static cublasStatus_t check_ger(const struct blas_work *w)
{
	return valid(w->alpha && w->m >= 0 && w->n >= 0 && w->incx && w->incy && ld_good(w->lda, w->m));
}

static cublasStatus_t check_syr(const struct blas_work *w)
{
	return valid(w->alpha && stored_good(w) && w->incx && (w->incy || w->body != BLAS_SYR2));
}

static cublasStatus_t check_gemvb(const struct blas_work *w)
{
	struct blas_work p = gemm_of_vectors(w);

	if (w->m < 0 || w->n < 0 || !w->incx || !w->incy || !op_good(w->trans) || !ld_good(w->lda, w->m) ||
	    w->batchCount < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (w->incx < 0 || w->incy < 0 || (w->trans == CUBLAS_OP_C && type_is_complex(p.Btype)))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return w->m && w->n ? gemm_check(&p) : CUBLAS_STATUS_SUCCESS;
}

/* ---- matrices ---- */

static bool sides_good(const struct blas_work *w, bool with_c)
{
	int64_t order = w->side == CUBLAS_SIDE_LEFT ? w->m : w->n;

	return (uint32_t)w->side <= CUBLAS_SIDE_RIGHT && triangle_good(w) && w->m >= 0 && w->n >= 0 &&
	       ld_good(w->lda, order) && ld_good(w->ldb, w->m) && (!with_c || ld_good(w->ldc, w->m));
}

static cublasStatus_t check_symm(const struct blas_work *w)
{
	return valid(w->alpha && w->beta && sides_good(w, true));
}

static bool triangular_good(const struct blas_work *w)
{
	return w->alpha && op_good(w->trans) && (uint32_t)w->diag <= CUBLAS_DIAG_UNIT;
}

static cublasStatus_t check_trmm(const struct blas_work *w)
{
	return valid(triangular_good(w) && sides_good(w, true) && (w->B != w->C || w->ldb == w->ldc));
}

static cublasStatus_t check_trsm(const struct blas_work *w)
{
	return valid(triangular_good(w) && sides_good(w, false) && w->batchCount >= 0);
}

static cublasStatus_t check_update(const struct blas_work *w)
{
	bool complex = type_is_complex(w->type);
	int64_t rows = w->trans != CUBLAS_OP_N ? w->k : w->n;

	/* the forms with types */
	if (w->body == BLAS_SYRK && (w->Atype != w->type || w->Ctype != w->type))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return valid(w->alpha && w->beta && triangle_good(w) && op_good(w->trans) && w->n >= 0 && w->k >= 0 &&
		     ld_good(w->lda, rows) && (!w->B || ld_good(w->ldb, rows)) && ld_good(w->ldc, w->n) &&
		     (!complex || w->trans != (w->hermitian ? CUBLAS_OP_T : CUBLAS_OP_C)));
}

static cublasStatus_t check_geam(const struct blas_work *w)
{
	return valid(w->alpha && w->beta && w->m >= 0 && w->n >= 0 && op_good(w->transa) && op_good(w->transb) &&
		     ld_good(w->lda, w->transa == CUBLAS_OP_N ? w->m : w->n) &&
		     ld_good(w->ldb, w->transb == CUBLAS_OP_N ? w->m : w->n) && ld_good(w->ldc, w->m) &&
		     (w->C != w->A || (w->transa == CUBLAS_OP_N && w->lda == w->ldc)) &&
		     (w->C != w->B || (w->transb == CUBLAS_OP_N && w->ldb == w->ldc)));
}

/* A step of 0 is one factor for all of A, as documented. */
static cublasStatus_t check_dgmm(const struct blas_work *w)
{
	return valid(w->m >= 0 && w->n >= 0 && (uint32_t)w->mode <= CUBLAS_SIDE_RIGHT && ld_good(w->lda, w->m) &&
		     ld_good(w->ldc, w->m));
}

static cublasStatus_t check_packed(const struct blas_work *w)
{
	return valid(triangle_good(w) && w->n >= 0 && ld_good(w->lda, w->n));
}

/* ---- batches of systems ---- */

static cublasStatus_t check_getrf(const struct blas_work *w)
{
	return valid(w->n >= 0 && ld_good(w->lda, w->n) && w->A && w->info && w->batchSize >= 0);
}

static cublasStatus_t check_getri(const struct blas_work *w)
{
	return valid(w->n >= 0 && ld_good(w->lda, w->n) && ld_good(w->ldc, w->n) && w->A && w->C && w->info &&
		     w->batchSize >= 0);
}

/* As documented: larger ones go by getrf and getri. */
static cublasStatus_t check_matinv(const struct blas_work *w)
{
	return valid(w->n >= 0 && w->n <= 32 && ld_good(w->lda, w->n) && ld_good(w->lda_inv, w->n) && w->A && w->Ainv &&
		     w->info && w->batchSize >= 0);
}

/* Position of the first bad argument, as LAPACK counts them, from -1 down. */
static cublasStatus_t info_say(const struct blas_work *w, int info)
{
	*(int *)(uintptr_t)w->info = info;
	return valid(!info);
}

static cublasStatus_t check_getrs(const struct blas_work *w)
{
	if (!w->info)
		return CUBLAS_STATUS_INVALID_VALUE;
	return info_say(w, !op_good(w->trans)	    ? -1
			   : w->n < 0		    ? -2
			   : w->nrhs < 0	    ? -3
			   : !w->A		    ? -4
			   : !ld_good(w->lda, w->n) ? -5
			   : !w->B		    ? -7
			   : !ld_good(w->ldb, w->n) ? -8
			   : w->batchSize < 0	    ? -10
						    : 0);
}

static cublasStatus_t check_geqrf(const struct blas_work *w)
{
	if (!w->info)
		return CUBLAS_STATUS_INVALID_VALUE;
	return info_say(w, w->m < 0		    ? -1
			   : w->n < 0		    ? -2
			   : !w->A		    ? -3
			   : !ld_good(w->lda, w->m) ? -4
			   : !w->TauArray	    ? -5
			   : w->batchSize < 0	    ? -7
						    : 0);
}

static cublasStatus_t check_gels(const struct blas_work *w)
{
	int bad;

	if (!w->info)
		return CUBLAS_STATUS_INVALID_VALUE;
	bad = !op_good(w->trans)       ? -1
	      : w->m < 0	       ? -2
	      : w->n < 0	       ? -3
	      : w->nrhs < 0	       ? -4
	      : !ld_good(w->lda, w->m) ? -6
	      : !ld_good(w->ldc, w->m) ? -8
	      : w->batchSize < 0       ? -11
				       : 0;
	if (info_say(w, bad))
		return CUBLAS_STATUS_INVALID_VALUE;
	/* as documented: no op but N, and overdetermined systems alone */
	return w->trans != CUBLAS_OP_N || w->m < w->n ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

/* ---- all of them; a transformation is no routine: cublaslt_more.c launches it ---- */

static cublasStatus_t (*const checks[BLAS_BODIES])(const struct blas_work *) = {
	[BLAS_IAMAX] = check_index,   [BLAS_ASUM] = check_result,   [BLAS_NRM2] = check_result,
	[BLAS_DOT] = check_result,    [BLAS_AXPY] = check_scaled,   [BLAS_SCAL] = check_scaled,
	[BLAS_COPY] = check_two,      [BLAS_SWAP] = check_two,	    [BLAS_ROT] = check_rot,
	[BLAS_ROTM] = check_rotm,     [BLAS_ROTG] = check_rotg,	    [BLAS_ROTMG] = check_rotmg,
	[BLAS_GEMV] = check_gemv,     [BLAS_GBMV] = check_gbmv,	    [BLAS_SYMV] = check_symv,
	[BLAS_TRMV] = check_triangle, [BLAS_TRSV] = check_triangle, [BLAS_GER] = check_ger,
	[BLAS_SYR] = check_syr,	      [BLAS_SYR2] = check_syr,	    [BLAS_GEMVB] = check_gemvb,
	[BLAS_GEMM] = gemm_check,     [BLAS_SYMM] = check_symm,	    [BLAS_TRMM] = check_trmm,
	[BLAS_TRSM] = check_trsm,     [BLAS_SYRK] = check_update,   [BLAS_SYR2K] = check_update,
	[BLAS_GEAM] = check_geam,     [BLAS_DGMM] = check_dgmm,	    [BLAS_TPTTR] = check_packed,
	[BLAS_TRTTP] = check_packed,  [BLAS_GETRF] = check_getrf,   [BLAS_GETRS] = check_getrs,
	[BLAS_GETRI] = check_getri,   [BLAS_MATINV] = check_matinv, [BLAS_GEQRF] = check_geqrf,
	[BLAS_GELS] = check_gels,
};

cublasStatus_t blas_check(const struct blas_work *w)
{
	return w->body < BLAS_BODIES && checks[w->body] ? checks[w->body](w) : CUBLAS_STATUS_NOT_SUPPORTED;
}
