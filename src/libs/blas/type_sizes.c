/* type_sizes.c: see types.h: what there is to know of a type without its elements. */
#include "libs/blas/types.h"

uint32_t type_bytes(unsigned int type)
{
	switch (type) {
	case CUDA_R_8I:
	case CUDA_R_8U:
	case CUDA_R_8F_E4M3:
	case CUDA_R_8F_E5M2:
		return 1;
	case CUDA_R_16F:
	case CUDA_R_16BF:
		return 2;
	case CUDA_R_32F:
	case CUDA_R_32I:
		return 4;
	case CUDA_R_64F:
	case CUDA_C_32F:
		return 8;
	case CUDA_C_64F:
		return 16;
	default:
		return 0;
	}
}

bool type_is_complex(unsigned int type)
{
	return type == CUDA_C_32F || type == CUDA_C_64F;
}
