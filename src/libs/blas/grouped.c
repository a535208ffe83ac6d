/* grouped.c: the calls of grouped.h. */
#include "libs/blas/blas.h"
#include "libs/blas/grouped.h"

/* The status of the handle first, and nothing is launched where one group is not valid. */
static cublasStatus_t run(cublasHandle_t handle, const struct grouped *g, const char *symbol)
{
	cublasStatus_t status = blas_handle_find(handle) ? grouped_check(g) : CUBLAS_STATUS_NOT_INITIALIZED;
	uint64_t first = 0;

	if (status == CUBLAS_STATUS_NOT_SUPPORTED)
		blas_refused(symbol);
	for (int64_t i = 0; i < g->groups && !status; i++) {
		struct blas_work w = grouped_work(g, i, first);

		status = blas_call(handle, &w, symbol);
		first += (uint64_t)w.batchCount;
	}
	return status;
}

#define GROUPED(Atype_, Btype_, Ctype_, computeType_, wide_)                                                           \
	&(struct grouped)                                                                                              \
	{                                                                                                              \
		.groups = group_count, .wide = (wide_), .transa = transa_array, .transb = transb_array, .m = m_array,  \
		.n = n_array, .k = k_array, .lda = lda_array, .ldb = ldb_array, .ldc = ldc_array, .size = group_size,  \
		.alpha = alpha_array, .beta = beta_array, .A = Aarray, .B = Barray, .C = Carray,                       \
		.Atype = work_type(Atype_), .Btype = work_type(Btype_), .Ctype = work_type(Ctype_),                    \
		.computeType = (int)(computeType_)                                                                     \
	}

cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t handle, const cublasOperation_t *transa_array,
					  const cublasOperation_t *transb_array, const int *m_array, const int *n_array,
					  const int *k_array, const void *alpha_array, const void *Aarray,
					  cudaDataType_t Atype, const int *lda_array, const void *Barray,
					  cudaDataType_t Btype, const int *ldb_array, const void *beta_array,
					  void *Carray, cudaDataType_t Ctype, const int *ldc_array, int group_count,
					  const int *group_size, cublasComputeType_t computeType)
{
	return run(handle, GROUPED(Atype, Btype, Ctype, computeType, false), __func__);
}

cublasStatus_t cublasGemmGroupedBatchedEx_64(cublasHandle_t handle, const cublasOperation_t *transa_array,
					     const cublasOperation_t *transb_array, const int64_t *m_array,
					     const int64_t *n_array, const int64_t *k_array, const void *alpha_array,
					     const void *Aarray, cudaDataType_t Atype, const int64_t *lda_array,
					     const void *Barray, cudaDataType_t Btype, const int64_t *ldb_array,
					     const void *beta_array, void *Carray, cudaDataType_t Ctype,
					     const int64_t *ldc_array, int64_t group_count, const int64_t *group_size,
					     cublasComputeType_t computeType)
{
	return run(handle, GROUPED(Atype, Btype, Ctype, computeType, true), __func__);
}

#define ONE_TYPE(symbol, element, type, count, wide)                                                                   \
	cublasStatus_t symbol(cublasHandle_t handle, const cublasOperation_t *transa_array,                            \
			      const cublasOperation_t *transb_array, const count *m_array, const count *n_array,       \
			      const count *k_array, const element *alpha_array, const void *Aarray,                    \
			      const count *lda_array, const void *Barray, const count *ldb_array,                      \
			      const element *beta_array, const void *Carray, const count *ldc_array,                   \
			      count group_count, const count *group_size)                                              \
	{                                                                                                              \
		return run(handle, GROUPED(type, type, type, 0, wide), #symbol);                                       \
	}

ONE_TYPE(cublasSgemmGroupedBatched, float, CUDA_R_32F, int, false)
ONE_TYPE(cublasSgemmGroupedBatched_64, float, CUDA_R_32F, int64_t, true)
ONE_TYPE(cublasDgemmGroupedBatched, double, CUDA_R_64F, int, false)
ONE_TYPE(cublasDgemmGroupedBatched_64, double, CUDA_R_64F, int64_t, true)
