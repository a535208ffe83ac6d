/* product_rules.c: see product.h: which products there are. Also of the client on the remote path. */
#include "libs/blas/product.h"

#include "libs/blas/gemm.h"

bool product_op(int operation, uint8_t *ret)
{
	static const uint8_t op[] = { GEMM_N, GEMM_T, GEMM_H };

	if (operation < 0 || operation >= (int)sizeof(op))
		return false;
	*ret = op[operation];
	return true;
}

static bool type_is_fp8(unsigned int type)
{
	return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

static bool type_is_small(unsigned int type)
{
	return type == CUDA_R_16F || type == CUDA_R_16BF || type_is_fp8(type);
}

/* One type throughout, which is a gemm's. */
static bool direct(const struct product *p)
{
	unsigned int type = p->type[PRODUCT_A];

	for (int i = 0; i < PRODUCT_MATRICES; i++)
		if (p->type[i] != type || p->scale[i])
			return false;
	return p->alpha.place != PRODUCT_VECTOR && p->scale_type == type &&
	       (type == CUDA_R_32F || type == CUDA_R_64F || type_is_complex(type));
}

static bool result_float(unsigned int type)
{
	return type == CUDA_R_32F || type_is_small(type);
}

uint8_t product_way(const struct product *p)
{
	unsigned int a = p->type[PRODUCT_A], b = p->type[PRODUCT_B], c = p->type[PRODUCT_C], d = p->type[PRODUCT_D];
	bool scale_float = p->scale_type == CUDA_R_32F || p->scale_type == CUDA_R_16F;

	if (direct(p))
		return p->epilogue == EPILOGUE_NONE || !type_is_complex(a) ? PRODUCT_DIRECT : 0;
	if (a == CUDA_R_8I && b == CUDA_R_8I && c == d) {
		if (p->scale_type == CUDA_R_32I && d == CUDA_R_32I)
			return PRODUCT_INTEGER;
		return p->scale_type == CUDA_R_32F && (d == CUDA_R_8I || d == CUDA_R_32F) ? PRODUCT_INTEGER : 0;
	}
	if (!scale_float || !result_float(d) || !(c == d || (type_is_small(c) && type_is_fp8(d))))
		return 0;
	if (type_is_fp8(a) && type_is_fp8(b))
		return PRODUCT_FLOAT;
	if (a == b && (a == CUDA_R_16F || a == CUDA_R_16BF))
		return d == a || d == CUDA_R_32F ? PRODUCT_FLOAT : 0;
	return a == CUDA_R_32F && b == CUDA_R_32F ? PRODUCT_FLOAT : 0;
}

static bool ld_good(int64_t ld, int64_t rows)
{
	return ld >= (rows > 1 ? rows : 1);
}

bool product_sizes_good(const struct product *p)
{
	return p->m >= 0 && p->n >= 0 && p->k >= 0 && p->batch >= 0 &&
	       ld_good(p->ld[PRODUCT_A], p->op[0] == GEMM_N ? p->m : p->k) &&
	       ld_good(p->ld[PRODUCT_B], p->op[1] == GEMM_N ? p->k : p->n) && ld_good(p->ld[PRODUCT_C], p->m) &&
	       ld_good(p->ld[PRODUCT_D], p->m);
}

cublasStatus_t product_check(struct product *p)
{
	if (!product_sizes_good(p))
		return CUBLAS_STATUS_INVALID_VALUE;
	p->way = product_way(p);
	return p->way ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
