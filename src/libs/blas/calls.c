/*
 * calls.c: what is checked when a routine is called, and how many blocks it is cut into.
 *
 * Statuses as cuBLAS documents them: a size below 0, a step of 0, a leading dimension that is too small, an enumerator
 * that there is not: INVALID_VALUE; a type that there is no routine for: NOT_SUPPORTED. Nothing to do is success.
 */
#include "libs/blas/blas.h"

#include "libs/blas/typed_runs.h"

#include <string.h>

#define WORTH_A_BLOCK 65536 /* elements */

/* ---- checks ---- */

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

static bool vector_type(unsigned int type)
{
	return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F || type == CUDA_R_64F ||
	       type == CUDA_C_32F || type == CUDA_C_64F;
}

static uint8_t computed_as(unsigned int type)
{
	return type == CUDA_R_16F || type == CUDA_R_16BF ? (uint8_t)CUDA_R_32F : (uint8_t)type;
}

/* ---- launches ---- */

static uint32_t blocks_for(int64_t parts, int64_t each)
{
	int64_t most = 2 * (int64_t)device_threads(), worth = 1 + parts * each / WORTH_A_BLOCK;

	most = most < worth ? most : worth;
	return (uint32_t)(parts < 1 ? 1 : parts < most ? parts : most);
}

static void scalar_take(const struct blas_work *w, uint64_t address, unsigned int type, uint8_t value[16])
{
	if (!w->in_device && address)
		memcpy(value, (const void *)(uintptr_t)address, type_bytes(type));
}

static cublasStatus_t launch(struct blas_handle *h, struct blas_work *w, uint32_t blocks)
{
	union {
		struct blas_work w;
		uint8_t bytes[DEVICE_PARAM_BYTES];
	} u;

	memset(&u, 0, sizeof(u));
	u.w = *w;
	return blas_launch(h, w->body, blocks, h->stream, &u);
}

/* Launches what has a result. In the program's memory it is waited for. */
static cublasStatus_t launch_result(struct blas_handle *h, struct blas_work *w, size_t bytes)
{
	uint64_t to = w->result;
	cublasStatus_t status;
	CUresult e;

	if (!to)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (w->in_device)
		return launch(h, w, 1);
	if (!h->workspace)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	pthread_mutex_lock(&h->result_mutex);
	w->result = h->workspace;
	status = launch(h, w, 1);
	e = status ? CUDA_SUCCESS : h->driver->read((void *)(uintptr_t)to, h->workspace, bytes, h->stream);
	if (!status && !e)
		e = h->driver->wait(h->stream);
	pthread_mutex_unlock(&h->result_mutex);
	return status ? status : blas_status_of(e);
}

/* ---- vectors ---- */

static cublasStatus_t vectors_check(struct blas_work *w, bool two)
{
	if (!vector_type(w->xType) || (two && w->yType != w->xType))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	w->type = computed_as(w->xType);
	if (!two)
		w->yType = w->xType;
	w->n = w->n < 0 ? 0 : w->n;
	if (w->n > BLAS_SAME_MOST && (!w->incx || (two && !w->incy)))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t one_result(struct blas_handle *h, struct blas_work *w)
{
	cublasStatus_t status = vectors_check(w, w->y != 0);

	return status ? status : launch_result(h, w, type_bytes(w->resultType));
}

cublasStatus_t begin_iamax(struct blas_handle *h, struct blas_work *w)
{
	cublasStatus_t status = vectors_check(w, false);

	w->resultType = CUDA_R_32I;
	return status ? status : launch_result(h, w, w->wide ? 8 : 4);
}

cublasStatus_t begin_asum(struct blas_handle *h, struct blas_work *w)
{
	return one_result(h, w);
}

cublasStatus_t begin_nrm2(struct blas_handle *h, struct blas_work *w)
{
	return one_result(h, w);
}

cublasStatus_t begin_dot(struct blas_handle *h, struct blas_work *w)
{
	return one_result(h, w);
}

static cublasStatus_t vectors_launch(struct blas_handle *h, struct blas_work *w, bool two)
{
	cublasStatus_t status = vectors_check(w, two);

	if (status || !w->n)
		return status;
	return launch(h, w, 1);
}

cublasStatus_t begin_axpy(struct blas_handle *h, struct blas_work *w)
{
	if (!w->alpha)
		return CUBLAS_STATUS_INVALID_VALUE;
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	return vectors_launch(h, w, true);
}

cublasStatus_t begin_scal(struct blas_handle *h, struct blas_work *w)
{
	if (!w->alpha)
		return CUBLAS_STATUS_INVALID_VALUE;
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	return vectors_launch(h, w, false);
}

cublasStatus_t begin_copy(struct blas_handle *h, struct blas_work *w)
{
	return vectors_launch(h, w, true);
}

cublasStatus_t begin_swap(struct blas_handle *h, struct blas_work *w)
{
	return vectors_launch(h, w, true);
}

cublasStatus_t begin_rot(struct blas_handle *h, struct blas_work *w)
{
	if (!w->c || !w->s)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!type_bytes(w->cType) || !type_bytes(w->sType))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	scalar_take(w, w->c, w->cType, w->c_value);
	scalar_take(w, w->s, w->sType, w->s_value);
	return vectors_launch(h, w, true);
}

/* The five numbers lie in the room of three scalars. */
cublasStatus_t begin_rotm(struct blas_handle *h, struct blas_work *w)
{
	cublasStatus_t status = vectors_check(w, true);
	size_t bytes;

	if (!w->param)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (status || type_is_complex(w->type) || (w->paramType && w->paramType != w->type))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	bytes = 5 * type_bytes(w->type);
	if (!w->in_device) {
		const char *from = (const char *)(uintptr_t)w->param;

		memcpy(w->alpha_value, from, 16);
		memcpy(w->beta_value, from + 16, bytes < 32 ? bytes - 16 : 16);
		if (bytes > 32)
			memcpy(w->c_value, from + 32, bytes - 32);
	}
	return w->n ? launch(h, w, 1) : CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t rotation(struct blas_handle *h, struct blas_work *w,
			       void (*const here[4])(const struct blas_work *))
{
	static const uint8_t types[4] = { CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F };

	for (int i = 0; i < 4; i++)
		if (types[i] == w->type && here[i]) {
			if (w->in_device)
				return launch(h, w, 1);
			here[i](w);
			return CUBLAS_STATUS_SUCCESS;
		}
	return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t begin_rotg(struct blas_handle *h, struct blas_work *w)
{
	static void (*const here[4])(const struct blas_work *) = { blas_host_rotg_s, blas_host_rotg_d, blas_host_rotg_c,
								   blas_host_rotg_z };

	if (!w->a || !w->b || !w->c || !w->s)
		return CUBLAS_STATUS_INVALID_VALUE;
	return rotation(h, w, here);
}

cublasStatus_t begin_rotmg(struct blas_handle *h, struct blas_work *w)
{
	static void (*const here[4])(const struct blas_work *) = { blas_host_rotmg_s, blas_host_rotmg_d, NULL, NULL };

	if (!w->d1 || !w->d2 || !w->x1 || !w->y1 || !w->param)
		return CUBLAS_STATUS_INVALID_VALUE;
	return rotation(h, w, here);
}

/* ---- a matrix and vectors ---- */

static cublasStatus_t two_scalars(struct blas_work *w)
{
	if (!w->alpha || !w->beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	scalar_take(w, w->beta, w->betaType, w->beta_value);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_gemv(struct blas_handle *h, struct blas_work *w)
{
	cublasStatus_t status = two_scalars(w);

	if (w->m < 0 || w->n < 0 || !w->incx || !w->incy || !op_good(w->trans) || !ld_good(w->lda, w->m))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (status || !w->m || !w->n)
		return status;
	return launch(h, w, w->trans == CUBLAS_OP_N ? blocks_for(w->m, w->n) : blocks_for(w->n, w->m));
}

cublasStatus_t begin_gbmv(struct blas_handle *h, struct blas_work *w)
{
	cublasStatus_t status = two_scalars(w);

	if (w->m < 0 || w->n < 0 || w->kl < 0 || w->ku < 0 || !w->incx || !w->incy || !op_good(w->trans) ||
	    w->lda < w->kl + w->ku + 1)
		return CUBLAS_STATUS_INVALID_VALUE;
	return status || !w->m || !w->n ? status : launch(h, w, 1);
}

static bool stored_good(const struct blas_work *w)
{
	return triangle_good(w) && w->n >= 0 && w->k >= 0 &&
	       (w->form == BLAS_PACKED || ld_good(w->lda, w->form == BLAS_BAND ? w->k + 1 : w->n));
}

cublasStatus_t begin_symv(struct blas_handle *h, struct blas_work *w)
{
	cublasStatus_t status = two_scalars(w);

	if (!stored_good(w) || !w->incx || !w->incy)
		return CUBLAS_STATUS_INVALID_VALUE;
	return status || !w->n ? status : launch(h, w, blocks_for(w->n, w->form == BLAS_BAND ? w->k : w->n));
}

static cublasStatus_t triangular(struct blas_handle *h, struct blas_work *w)
{
	if (!stored_good(w) || !w->incx || !op_good(w->trans) || (uint32_t)w->diag > CUBLAS_DIAG_UNIT)
		return CUBLAS_STATUS_INVALID_VALUE;
	return w->n ? launch(h, w, 1) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_trmv(struct blas_handle *h, struct blas_work *w)
{
	return triangular(h, w);
}

cublasStatus_t begin_trsv(struct blas_handle *h, struct blas_work *w)
{
	return triangular(h, w);
}

cublasStatus_t begin_ger(struct blas_handle *h, struct blas_work *w)
{
	if (!w->alpha || w->m < 0 || w->n < 0 || !w->incx || !w->incy || !ld_good(w->lda, w->m))
		return CUBLAS_STATUS_INVALID_VALUE;
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	return w->m && w->n ? launch(h, w, blocks_for(w->n, w->m)) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_syr(struct blas_handle *h, struct blas_work *w)
{
	if (!w->alpha || !stored_good(w) || !w->incx)
		return CUBLAS_STATUS_INVALID_VALUE;
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	return w->n ? launch(h, w, 1) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_syr2(struct blas_handle *h, struct blas_work *w)
{
	return w->incy ? begin_syr(h, w) : CUBLAS_STATUS_INVALID_VALUE;
}

/*
 * Batches of matrices and vectors are products of a row: y' = alpha x' op(A)' + beta y', so that both steps are leading
 * dimensions. Where op conjugates or a step is negative there is no such product.
 */
cublasStatus_t begin_gemvb(struct blas_handle *h, struct blas_work *w)
{
	bool turned = w->trans != CUBLAS_OP_N;
	struct blas_work p = { .body = BLAS_GEMM,
			       .in_device = w->in_device,
			       .Atype = w->xType,
			       .Btype = w->Atype,
			       .Ctype = w->yType,
			       .alphaType = w->alphaType,
			       .batched = 1,
			       .arrays = w->arrays,
			       .transa = CUBLAS_OP_N,
			       .transb = turned ? CUBLAS_OP_N : CUBLAS_OP_T,
			       .m = 1,
			       .n = turned ? w->n : w->m,
			       .k = turned ? w->m : w->n,
			       .lda = w->incx,
			       .ldb = w->lda,
			       .ldc = w->incy,
			       .strideA = w->stridex,
			       .strideB = w->strideA,
			       .strideC = w->stridey,
			       .batchCount = w->batchCount,
			       .A = w->x,
			       .B = w->A,
			       .C = w->y,
			       .alpha = w->alpha,
			       .beta = w->beta };

	if (w->m < 0 || w->n < 0 || !w->incx || !w->incy || !op_good(w->trans) || !ld_good(w->lda, w->m) ||
	    w->batchCount < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (w->arrays && w->type) /* of one type, which the letter names */
		p.Atype = p.Btype = p.Ctype = w->type;
	if (w->incx < 0 || w->incy < 0 || (w->trans == CUBLAS_OP_C && type_is_complex(p.Btype)))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return w->m && w->n ? begin_gemm(h, &p) : CUBLAS_STATUS_SUCCESS;
}

/* ---- matrices ---- */

static bool sides_good(const struct blas_work *w, bool with_c)
{
	int64_t order = w->side == CUBLAS_SIDE_LEFT ? w->m : w->n;

	return (uint32_t)w->side <= CUBLAS_SIDE_RIGHT && triangle_good(w) && w->m >= 0 && w->n >= 0 &&
	       ld_good(w->lda, order) && ld_good(w->ldb, w->m) && (!with_c || ld_good(w->ldc, w->m));
}

static uint32_t sides_blocks(const struct blas_work *w)
{
	int64_t order = w->side == CUBLAS_SIDE_LEFT ? w->m : w->n, across = w->side == CUBLAS_SIDE_LEFT ? w->n : w->m;
	uint32_t blocks = blocks_for(across, order * order), pieces = (uint32_t)((across + 255) / 256);

	return blocks > pieces ? blocks : pieces;
}

cublasStatus_t begin_symm(struct blas_handle *h, struct blas_work *w)
{
	cublasStatus_t status = two_scalars(w);

	if (!sides_good(w, true))
		return CUBLAS_STATUS_INVALID_VALUE;
	return status || !w->m || !w->n ? status : launch(h, w, sides_blocks(w));
}

static bool triangular_good(const struct blas_work *w)
{
	return w->alpha && op_good(w->trans) && (uint32_t)w->diag <= CUBLAS_DIAG_UNIT;
}

cublasStatus_t begin_trmm(struct blas_handle *h, struct blas_work *w)
{
	if (!triangular_good(w) || !sides_good(w, true) || (w->B == w->C && w->ldb != w->ldc))
		return CUBLAS_STATUS_INVALID_VALUE;
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	return w->m && w->n ? launch(h, w, sides_blocks(w)) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_trsm(struct blas_handle *h, struct blas_work *w)
{
	if (!triangular_good(w) || !sides_good(w, false) || w->batchCount < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	if (!w->m || !w->n || (w->arrays && !w->batchCount))
		return CUBLAS_STATUS_SUCCESS;
	return launch(h, w, w->arrays ? blocks_for(w->batchCount, w->m * w->n) : sides_blocks(w));
}

static cublasStatus_t update(struct blas_handle *h, struct blas_work *w)
{
	bool turned = w->trans != CUBLAS_OP_N, complex = type_is_complex(w->type);
	int64_t rows = turned ? w->k : w->n, pieces = (w->n + 127) / 128;
	cublasStatus_t status = two_scalars(w);

	if (!triangle_good(w) || !op_good(w->trans) || w->n < 0 || w->k < 0 || !ld_good(w->lda, rows) ||
	    (w->B && !ld_good(w->ldb, rows)) || !ld_good(w->ldc, w->n) ||
	    (complex && w->trans == (w->hermitian ? CUBLAS_OP_T : CUBLAS_OP_C)))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (status || !w->n)
		return status;
	return launch(h, w, (uint32_t)(pieces < 4096 ? pieces : 4096));
}

cublasStatus_t begin_syrk(struct blas_handle *h, struct blas_work *w)
{
	/* the forms with types */
	if (w->Atype != w->type || w->Ctype != w->type)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return update(h, w);
}

cublasStatus_t begin_syr2k(struct blas_handle *h, struct blas_work *w)
{
	return update(h, w);
}

cublasStatus_t begin_geam(struct blas_handle *h, struct blas_work *w)
{
	cublasStatus_t status = two_scalars(w);

	if (w->m < 0 || w->n < 0 || !op_good(w->transa) || !op_good(w->transb) ||
	    !ld_good(w->lda, w->transa == CUBLAS_OP_N ? w->m : w->n) ||
	    !ld_good(w->ldb, w->transb == CUBLAS_OP_N ? w->m : w->n) || !ld_good(w->ldc, w->m) ||
	    (w->C == w->A && (w->transa != CUBLAS_OP_N || w->lda != w->ldc)) ||
	    (w->C == w->B && (w->transb != CUBLAS_OP_N || w->ldb != w->ldc)))
		return CUBLAS_STATUS_INVALID_VALUE;
	return status || !w->m || !w->n ? status : launch(h, w, blocks_for(w->n, w->m));
}

cublasStatus_t begin_dgmm(struct blas_handle *h, struct blas_work *w)
{
	if (w->m < 0 || w->n < 0 || !w->incx || (uint32_t)w->mode > CUBLAS_SIDE_RIGHT || !ld_good(w->lda, w->m) ||
	    !ld_good(w->ldc, w->m))
		return CUBLAS_STATUS_INVALID_VALUE;
	return w->m && w->n ? launch(h, w, blocks_for(w->n, w->m)) : CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t unpack(struct blas_handle *h, struct blas_work *w)
{
	if (!triangle_good(w) || w->n < 0 || !ld_good(w->lda, w->n))
		return CUBLAS_STATUS_INVALID_VALUE;
	return w->n ? launch(h, w, 1) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_tpttr(struct blas_handle *h, struct blas_work *w)
{
	return unpack(h, w);
}

cublasStatus_t begin_trttp(struct blas_handle *h, struct blas_work *w)
{
	return unpack(h, w);
}

/* ---- batches of systems ---- */

static cublasStatus_t systems(struct blas_handle *h, struct blas_work *w, bool good, int64_t work)
{
	if (!good || w->batchSize < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!w->batchSize || !w->n)
		return CUBLAS_STATUS_SUCCESS;
	return launch(h, w, blocks_for(w->batchSize, work));
}

cublasStatus_t begin_getrf(struct blas_handle *h, struct blas_work *w)
{
	return systems(h, w, w->n >= 0 && ld_good(w->lda, w->n) && w->A && w->info, w->n * w->n * w->n);
}

/* Position of the first bad argument, as LAPACK counts them, from -1 down. */
static cublasStatus_t info_say(const struct blas_work *w, int info)
{
	*(int *)(uintptr_t)w->info = info;
	return info ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_getrs(struct blas_handle *h, struct blas_work *w)
{
	int bad;

	if (!w->info)
		return CUBLAS_STATUS_INVALID_VALUE;
	bad = !op_good(w->trans)       ? -1
	      : w->n < 0	       ? -2
	      : w->nrhs < 0	       ? -3
	      : !w->A		       ? -4
	      : !ld_good(w->lda, w->n) ? -5
	      : !w->B		       ? -7
	      : !ld_good(w->ldb, w->n) ? -8
	      : w->batchSize < 0       ? -10
				       : 0;
	if (info_say(w, bad))
		return CUBLAS_STATUS_INVALID_VALUE;
	w->info = 0;
	return systems(h, w, true, w->n * w->n * (w->nrhs + 1));
}

cublasStatus_t begin_getri(struct blas_handle *h, struct blas_work *w)
{
	return systems(h, w, w->n >= 0 && ld_good(w->lda, w->n) && ld_good(w->ldc, w->n) && w->A && w->C && w->info,
		       w->n * w->n * w->n);
}

cublasStatus_t begin_matinv(struct blas_handle *h, struct blas_work *w)
{
	bool good = w->n >= 0 && ld_good(w->lda, w->n) && ld_good(w->lda_inv, w->n) && w->A && w->Ainv && w->info;

	if (good && w->n > 32) /* as documented: larger ones go by getrf and getri */
		return CUBLAS_STATUS_INVALID_VALUE;
	return systems(h, w, good, w->n * w->n * w->n);
}

cublasStatus_t begin_geqrf(struct blas_handle *h, struct blas_work *w)
{
	int bad;

	if (!w->info)
		return CUBLAS_STATUS_INVALID_VALUE;
	bad = w->m < 0		       ? -1
	      : w->n < 0	       ? -2
	      : !w->A		       ? -3
	      : !ld_good(w->lda, w->m) ? -4
	      : !w->TauArray	       ? -5
	      : w->batchSize < 0       ? -7
				       : 0;
	if (info_say(w, bad))
		return CUBLAS_STATUS_INVALID_VALUE;
	w->info = 0;
	return w->m ? systems(h, w, true, w->m * w->n * w->n) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_gels(struct blas_handle *h, struct blas_work *w)
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
	if (w->trans != CUBLAS_OP_N || w->m < w->n)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	w->info = w->devInfoArray;
	return systems(h, w, true, w->m * w->n * w->n);
}
