/* grouped.c: batches of products in groups, each with its own sizes: a batch of products for each group. */
#include "libs/blas/blas.h"

/* Group by group; the scalars are in the program's memory or in the device's, as the arrays of addresses always are. */
#define GROUPED(name, count, scalar, address)                                                                          \
	static cublasStatus_t name(cublasHandle_t handle, const cublasOperation_t *transa,                             \
				   const cublasOperation_t *transb, const count *m, const count *n, const count *k,    \
				   const void *alpha, address A, int Atype, const count *lda, address B, int Btype,    \
				   const count *ldb, const void *beta, address C, int Ctype, const count *ldc,         \
				   count groups, const count *size, int computeType, const char *symbol)               \
	{                                                                                                              \
		cublasStatus_t status = CUBLAS_STATUS_SUCCESS;                                                         \
		uint64_t at = 0;                                                                                       \
														       \
		if (groups < 0 || (groups && (!transa || !transb || !m || !n || !k || !alpha || !lda || !ldb ||        \
					      !beta || !ldc || !size)))                                                \
			return CUBLAS_STATUS_INVALID_VALUE;                                                            \
		for (count g = 0; g < groups && !status; g++) {                                                        \
			struct blas_work w = { .body = BLAS_GEMM,                                                      \
					       .batched = 1,                                                           \
					       .arrays = 1,                                                            \
					       .transa = transa[g],                                                    \
					       .transb = transb[g],                                                    \
					       .m = m[g],                                                              \
					       .n = n[g],                                                              \
					       .k = k[g],                                                              \
					       .lda = lda[g],                                                          \
					       .ldb = ldb[g],                                                          \
					       .ldc = ldc[g],                                                          \
					       .Atype = (uint8_t)Atype,                                                \
					       .Btype = (uint8_t)Btype,                                                \
					       .Ctype = (uint8_t)Ctype,                                                \
					       .alphaType = (uint8_t)Ctype,                                            \
					       .computeType = computeType,                                             \
					       .batchCount = size[g],                                                  \
					       .A = (uintptr_t)A + at,                                                 \
					       .B = (uintptr_t)B + at,                                                 \
					       .C = (uintptr_t)C + at,                                                 \
					       .alpha = (uintptr_t)alpha + (uint64_t)g * (scalar),                     \
					       .beta = (uintptr_t)beta + (uint64_t)g * (scalar) };                     \
														       \
			status = blas_call(handle, &w, symbol);                                                        \
			at += (uint64_t)size[g] * sizeof(void *);                                                      \
		}                                                                                                      \
		return status;                                                                                         \
	}

GROUPED(grouped, int,
	computeType &&computeType < CUBLAS_COMPUTE_64F ? 4u
	: computeType				       ? 8u
						       : type_bytes((unsigned int)Ctype),
	const void *)
GROUPED(grouped_64, int64_t,
	computeType &&computeType < CUBLAS_COMPUTE_64F ? 4u
	: computeType				       ? 8u
						       : type_bytes((unsigned int)Ctype),
	const void *)

cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t handle, const cublasOperation_t *transa_array,
					  const cublasOperation_t *transb_array, const int *m_array, const int *n_array,
					  const int *k_array, const void *alpha_array, const void *Aarray,
					  cudaDataType_t Atype, const int *lda_array, const void *Barray,
					  cudaDataType_t Btype, const int *ldb_array, const void *beta_array,
					  void *Carray, cudaDataType_t Ctype, const int *ldc_array, int group_count,
					  const int *group_size, cublasComputeType_t computeType)
{
	return grouped(handle, transa_array, transb_array, m_array, n_array, k_array, alpha_array, Aarray, (int)Atype,
		       lda_array, Barray, (int)Btype, ldb_array, beta_array, Carray, (int)Ctype, ldc_array, group_count,
		       group_size, (int)computeType, __func__);
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
	return grouped_64(handle, transa_array, transb_array, m_array, n_array, k_array, alpha_array, Aarray,
			  (int)Atype, lda_array, Barray, (int)Btype, ldb_array, beta_array, Carray, (int)Ctype,
			  ldc_array, group_count, group_size, (int)computeType, __func__);
}

#define ONE_TYPE(symbol, element, type, count, body)                                                                   \
	cublasStatus_t symbol(cublasHandle_t handle, const cublasOperation_t *transa_array,                            \
			      const cublasOperation_t *transb_array, const count *m_array, const count *n_array,       \
			      const count *k_array, const element *alpha_array, const void *Aarray,                    \
			      const count *lda_array, const void *Barray, const count *ldb_array,                      \
			      const element *beta_array, const void *Carray, const count *ldc_array,                   \
			      count group_count, const count *group_size)                                              \
	{                                                                                                              \
		return body(handle, transa_array, transb_array, m_array, n_array, k_array, alpha_array, Aarray, type,  \
			    lda_array, Barray, type, ldb_array, beta_array, Carray, type, ldc_array, group_count,      \
			    group_size, 0, #symbol);                                                                   \
	}

ONE_TYPE(cublasSgemmGroupedBatched, float, CUDA_R_32F, int, grouped)
ONE_TYPE(cublasSgemmGroupedBatched_64, float, CUDA_R_32F, int64_t, grouped_64)
ONE_TYPE(cublasDgemmGroupedBatched, double, CUDA_R_64F, int, grouped)
ONE_TYPE(cublasDgemmGroupedBatched_64, double, CUDA_R_64F, int64_t, grouped_64)
