/* grouped_work.c: see grouped.h. Also of the client on the remote path. */
#include "libs/blas/grouped.h"

#include "libs/blas/checks.h"

static int64_t number(const struct grouped *g, const void *array, int64_t i)
{
	return g->wide ? ((const int64_t *)array)[i] : ((const int *)array)[i];
}

/* Bytes of alpha and beta. */
static uint64_t scalar_bytes(const struct grouped *g)
{
	if (!g->computeType)
		return type_bytes(g->Ctype);
	return g->computeType < CUBLAS_COMPUTE_64F ? 4 : 8;
}

struct blas_work grouped_work(const struct grouped *g, int64_t i, uint64_t first)
{
	uint64_t at = first * sizeof(void *), scalar = (uint64_t)i * scalar_bytes(g);

	return (struct blas_work){ .body = BLAS_GEMM,
				   .batched = 1,
				   .arrays = 1,
				   .transa = (int32_t)g->transa[i],
				   .transb = (int32_t)g->transb[i],
				   .m = number(g, g->m, i),
				   .n = number(g, g->n, i),
				   .k = number(g, g->k, i),
				   .lda = number(g, g->lda, i),
				   .ldb = number(g, g->ldb, i),
				   .ldc = number(g, g->ldc, i),
				   .Atype = g->Atype,
				   .Btype = g->Btype,
				   .Ctype = g->Ctype,
				   .alphaType = g->Ctype,
				   .computeType = g->computeType,
				   .batchCount = number(g, g->size, i),
				   .A = (uintptr_t)g->A + at,
				   .B = (uintptr_t)g->B + at,
				   .C = (uintptr_t)g->C + at,
				   .alpha = (uintptr_t)g->alpha + scalar,
				   .beta = (uintptr_t)g->beta + scalar };
}

cublasStatus_t grouped_check(const struct grouped *g)
{
	cublasStatus_t status = CUBLAS_STATUS_SUCCESS;

	if (g->groups < 0 || (g->groups && (!g->transa || !g->transb || !g->m || !g->n || !g->k || !g->alpha ||
					    !g->lda || !g->ldb || !g->beta || !g->ldc || !g->size)))
		return CUBLAS_STATUS_INVALID_VALUE;
	for (int64_t i = 0; i < g->groups && !status; i++) {
		struct blas_work w = grouped_work(g, i, 0);

		status = blas_check(&w);
	}
	return status;
}
