/* gemm_calls.c: the many ways to ask cuBLAS for a product of matrices, as one product. */
#include "libs/blas/checks.h"

#include <string.h>

/* The type of alpha and beta for a way of computing; -1: none. Source: cuBLAS documentation, cublasGemmEx(). */
static int scale_type_of(const struct blas_work *w)
{
	switch (w->computeType) {
	case 0: /* a routine of one type */
		return w->alphaType;
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		return CUDA_R_16F;
	case CUBLAS_COMPUTE_32I:
	case CUBLAS_COMPUTE_32I_PEDANTIC:
		return CUDA_R_32I;
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
	case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
		return w->Ctype == CUDA_C_64F ? CUDA_C_64F : CUDA_R_64F;
	case CUBLAS_COMPUTE_32F:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
	case CUBLAS_COMPUTE_32F_FAST_TF32:
	case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
		return w->Ctype == CUDA_C_32F ? CUDA_C_32F : CUDA_R_32F;
	default:
		return -1;
	}
}

static uint8_t type_or(uint8_t named, uint8_t otherwise, bool has_letter)
{
	return has_letter && !named ? otherwise : named;
}

static cublasStatus_t product_of(const struct blas_work *w, struct product *p)
{
	int scale_type = scale_type_of(w);

	*p = (struct product){ .body = BLAS_GEMM,
			       .epilogue = EPILOGUE_NONE,
			       .m = w->m,
			       .n = w->n,
			       .k = w->k,
			       .arrays = w->arrays,
			       .batch = w->batched ? w->batchCount : 1,
			       .at = { w->A, w->B, w->C, w->C },
			       .ld = { w->lda, w->ldb, w->ldc, w->ldc },
			       .stride = { w->strideA, w->strideB, w->strideC, w->strideC } };
	if (!product_op(w->transa, &p->op[0]) || !product_op(w->transb, &p->op[1]) || !w->alpha || !w->beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (scale_type < 0) /* as NVIDIA's library 13.1 */
		return CUBLAS_STATUS_NOT_SUPPORTED;
	p->type[PRODUCT_A] = type_or(w->Atype, w->type, w->arrays);
	p->type[PRODUCT_B] = type_or(w->Btype, w->type, w->arrays);
	p->type[PRODUCT_C] = p->type[PRODUCT_D] = type_or(w->Ctype, w->type, w->arrays);
	p->scale_type = (uint8_t)scale_type;
	return product_check(p);
}

static struct product_scalar scalar_of(const struct blas_work *w, uint64_t address, unsigned int type)
{
	struct product_scalar s = { .place = w->in_device ? PRODUCT_AT : PRODUCT_HERE, .address = address };

	if (!w->in_device)
		memcpy(s.value, (const void *)(uintptr_t)address, type_bytes(type));
	return s;
}

cublasStatus_t gemm_check(const struct blas_work *w)
{
	struct product p;

	return product_of(w, &p);
}

cublasStatus_t gemm_product(const struct blas_work *w, struct product *ret)
{
	cublasStatus_t status = product_of(w, ret);

	if (status)
		return status;
	ret->alpha = scalar_of(w, w->alpha, ret->scale_type);
	ret->beta = scalar_of(w, w->beta, ret->scale_type);
	return CUBLAS_STATUS_SUCCESS;
}

/*
 * Batches of matrices and vectors are products of a row: y' = alpha x' op(A)' + beta y', so that both steps are leading
 * dimensions. Where op conjugates or a step is negative there is no such product.
 */
struct blas_work gemm_of_vectors(const struct blas_work *w)
{
	bool turned = w->trans != CUBLAS_OP_N,
	     lettered = w->arrays && w->type; /* of one type, which the letter names */

	return (struct blas_work){ .body = BLAS_GEMM,
				   .in_device = w->in_device,
				   .Atype = lettered ? w->type : w->xType,
				   .Btype = lettered ? w->type : w->Atype,
				   .Ctype = lettered ? w->type : w->yType,
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
}
