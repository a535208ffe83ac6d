/*
 * calls.c: how a routine becomes a kernel: its scalars, and how many blocks it is cut into. Nothing to do is success.
 * Its arguments have been checked (checks.c).
 */
#include "libs/blas/blas.h"

#include "libs/blas/checks.h"
#include "libs/blas/typed_runs.h"

#include <string.h>

#define WORTH_A_BLOCK 65536 /* elements */

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

static cublasStatus_t launch(struct blas_handle *h, const struct blas_work *w, uint32_t blocks)
{
	return blas_launch(h, w->body, blocks, h->stream, w, sizeof(*w));
}

/* Launches what has a result. In the program's memory it is waited for. */
static cublasStatus_t launch_result(struct blas_handle *h, struct blas_work *w, size_t bytes)
{
	uint64_t to = w->result;
	cublasStatus_t status;
	CUresult e;

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

static uint8_t computed_as(unsigned int type)
{
	return type == CUDA_R_16F || type == CUDA_R_16BF ? (uint8_t)CUDA_R_32F : (uint8_t)type;
}

static void vectors_take(struct blas_work *w, bool two)
{
	w->type = computed_as(w->xType);
	if (!two)
		w->yType = w->xType;
	w->n = w->n < 0 ? 0 : w->n;
}

static cublasStatus_t one_result(struct blas_handle *h, struct blas_work *w)
{
	vectors_take(w, w->y != 0);
	return launch_result(h, w, type_bytes(w->resultType));
}

cublasStatus_t begin_iamax(struct blas_handle *h, struct blas_work *w)
{
	vectors_take(w, false);
	w->resultType = CUDA_R_32I;
	return launch_result(h, w, w->wide ? 8 : 4);
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
	vectors_take(w, two);
	return w->n ? launch(h, w, 1) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_axpy(struct blas_handle *h, struct blas_work *w)
{
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	return vectors_launch(h, w, true);
}

cublasStatus_t begin_scal(struct blas_handle *h, struct blas_work *w)
{
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
	scalar_take(w, w->c, w->cType, w->c_value);
	scalar_take(w, w->s, w->sType, w->s_value);
	return vectors_launch(h, w, true);
}

/* The five numbers lie in the room of three scalars. */
cublasStatus_t begin_rotm(struct blas_handle *h, struct blas_work *w)
{
	const char *from = (const char *)(uintptr_t)w->param;
	size_t bytes;

	vectors_take(w, true);
	bytes = 5 * type_bytes(w->type);
	if (!w->in_device) {
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

	return rotation(h, w, here);
}

cublasStatus_t begin_rotmg(struct blas_handle *h, struct blas_work *w)
{
	static void (*const here[4])(const struct blas_work *) = { blas_host_rotmg_s, blas_host_rotmg_d, NULL, NULL };

	return rotation(h, w, here);
}

/* ---- a matrix and vectors ---- */

static void two_scalars(struct blas_work *w)
{
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	scalar_take(w, w->beta, w->betaType, w->beta_value);
}

cublasStatus_t begin_gemv(struct blas_handle *h, struct blas_work *w)
{
	two_scalars(w);
	if (!w->m || !w->n)
		return CUBLAS_STATUS_SUCCESS;
	return launch(h, w, w->trans == CUBLAS_OP_N ? blocks_for(w->m, w->n) : blocks_for(w->n, w->m));
}

cublasStatus_t begin_gbmv(struct blas_handle *h, struct blas_work *w)
{
	two_scalars(w);
	return w->m && w->n ? launch(h, w, 1) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_symv(struct blas_handle *h, struct blas_work *w)
{
	two_scalars(w);
	return w->n ? launch(h, w, blocks_for(w->n, w->form == BLAS_BAND ? w->k : w->n)) : CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t triangular(struct blas_handle *h, struct blas_work *w)
{
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
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	return w->m && w->n ? launch(h, w, blocks_for(w->n, w->m)) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_syr(struct blas_handle *h, struct blas_work *w)
{
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	return w->n ? launch(h, w, 1) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_syr2(struct blas_handle *h, struct blas_work *w)
{
	return begin_syr(h, w);
}

/* ---- matrices ---- */

static uint32_t sides_blocks(const struct blas_work *w)
{
	int64_t order = w->side == CUBLAS_SIDE_LEFT ? w->m : w->n, across = w->side == CUBLAS_SIDE_LEFT ? w->n : w->m;
	uint32_t blocks = blocks_for(across, order * order), pieces = (uint32_t)((across + 255) / 256);

	return blocks > pieces ? blocks : pieces;
}

cublasStatus_t begin_symm(struct blas_handle *h, struct blas_work *w)
{
	two_scalars(w);
	return w->m && w->n ? launch(h, w, sides_blocks(w)) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_trmm(struct blas_handle *h, struct blas_work *w)
{
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	return w->m && w->n ? launch(h, w, sides_blocks(w)) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_trsm(struct blas_handle *h, struct blas_work *w)
{
	scalar_take(w, w->alpha, w->alphaType, w->alpha_value);
	if (!w->m || !w->n || (w->arrays && !w->batchCount))
		return CUBLAS_STATUS_SUCCESS;
	return launch(h, w, w->arrays ? blocks_for(w->batchCount, w->m * w->n) : sides_blocks(w));
}

static cublasStatus_t update(struct blas_handle *h, struct blas_work *w)
{
	int64_t pieces = (w->n + 127) / 128;

	two_scalars(w);
	return w->n ? launch(h, w, (uint32_t)(pieces < 4096 ? pieces : 4096)) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_syrk(struct blas_handle *h, struct blas_work *w)
{
	return update(h, w);
}

cublasStatus_t begin_syr2k(struct blas_handle *h, struct blas_work *w)
{
	return update(h, w);
}

cublasStatus_t begin_geam(struct blas_handle *h, struct blas_work *w)
{
	two_scalars(w);
	return w->m && w->n ? launch(h, w, blocks_for(w->n, w->m)) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_dgmm(struct blas_handle *h, struct blas_work *w)
{
	return w->m && w->n ? launch(h, w, blocks_for(w->n, w->m)) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_tpttr(struct blas_handle *h, struct blas_work *w)
{
	return triangular(h, w);
}

cublasStatus_t begin_trttp(struct blas_handle *h, struct blas_work *w)
{
	return triangular(h, w);
}

/* ---- products ---- */

cublasStatus_t begin_gemm(struct blas_handle *h, struct blas_work *w)
{
	struct product p = { .body = 0 };
	cublasStatus_t status = gemm_product(w, &p);
	uint32_t blocks = 0;

	if (!status)
		blocks = product_plan(&p);
	return status || !blocks ? status : blas_launch(h, BLAS_GEMM, blocks, h->stream, &p, sizeof(p));
}

cublasStatus_t begin_gemvb(struct blas_handle *h, struct blas_work *w)
{
	struct blas_work p = gemm_of_vectors(w);

	return w->m && w->n ? begin_gemm(h, &p) : CUBLAS_STATUS_SUCCESS;
}

/* ---- batches of systems ---- */

static cublasStatus_t systems(struct blas_handle *h, struct blas_work *w, int64_t work)
{
	return w->batchSize && w->n ? launch(h, w, blocks_for(w->batchSize, work)) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_getrf(struct blas_handle *h, struct blas_work *w)
{
	return systems(h, w, w->n * w->n * w->n);
}

cublasStatus_t begin_getrs(struct blas_handle *h, struct blas_work *w)
{
	w->info = 0;
	return systems(h, w, w->n * w->n * (w->nrhs + 1));
}

cublasStatus_t begin_getri(struct blas_handle *h, struct blas_work *w)
{
	return systems(h, w, w->n * w->n * w->n);
}

cublasStatus_t begin_matinv(struct blas_handle *h, struct blas_work *w)
{
	return systems(h, w, w->n * w->n * w->n);
}

cublasStatus_t begin_geqrf(struct blas_handle *h, struct blas_work *w)
{
	w->info = 0;
	return w->m ? systems(h, w, w->m * w->n * w->n) : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t begin_gels(struct blas_handle *h, struct blas_work *w)
{
	w->info = w->devInfoArray;
	return systems(h, w, w->m * w->n * w->n);
}
