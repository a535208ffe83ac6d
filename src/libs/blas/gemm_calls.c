/* gemm_calls.c: the many ways to ask cuBLAS for a product of matrices, as one product. */
#include "libs/blas/blas.h"

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

static struct product_scalar scalar_of(const struct blas_work *w, uint64_t address, unsigned int type)
{
	struct product_scalar s = { .place = w->in_device ? PRODUCT_AT : PRODUCT_HERE, .address = address };

	if (!w->in_device)
		memcpy(s.value, (const void *)(uintptr_t)address, type_bytes(type));
	return s;
}

static uint8_t type_or(uint8_t named, uint8_t otherwise, bool has_letter)
{
	return has_letter && !named ? otherwise : named;
}

cublasStatus_t begin_gemm(struct blas_handle *h, struct blas_work *w)
{
	union {
		struct product p;
		uint8_t bytes[DEVICE_PARAM_BYTES];
	} u = { .p = { .body = BLAS_GEMM,
		       .epilogue = EPILOGUE_NONE,
		       .m = w->m,
		       .n = w->n,
		       .k = w->k,
		       .arrays = w->arrays,
		       .batch = w->batched ? w->batchCount : 1,
		       .at = { w->A, w->B, w->C, w->C },
		       .ld = { w->lda, w->ldb, w->ldc, w->ldc },
		       .stride = { w->strideA, w->strideB, w->strideC, w->strideC } } };
	int scale_type = scale_type_of(w);
	uint32_t blocks;
	cublasStatus_t status;

	if (!product_op(w->transa, &u.p.op[0]) || !product_op(w->transb, &u.p.op[1]) || !w->alpha || !w->beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (scale_type < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	u.p.type[PRODUCT_A] = type_or(w->Atype, w->type, w->arrays);
	u.p.type[PRODUCT_B] = type_or(w->Btype, w->type, w->arrays);
	u.p.type[PRODUCT_C] = u.p.type[PRODUCT_D] = type_or(w->Ctype, w->type, w->arrays);
	u.p.scale_type = (uint8_t)scale_type;
	for (int i = 0; i < PRODUCT_MATRICES; i++)
		if (!type_bytes(u.p.type[i]))
			return CUBLAS_STATUS_NOT_SUPPORTED;
	u.p.alpha = scalar_of(w, w->alpha, u.p.scale_type);
	u.p.beta = scalar_of(w, w->beta, u.p.scale_type);
	status = product_plan(&u.p, &blocks);
	return status || !blocks ? status : blas_launch(h, BLAS_GEMM, blocks, h->stream, &u);
}
