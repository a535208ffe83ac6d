/* forward.h: the definitions that both halves of forwarded cuBLAS share, beside libs/forward.h. */
#pragma once

#include "cublas_forward.h"
#include "remote/libs/forward.h"

/* In the reply to the creation of a handle: the library's version, and this if the library is mete's own. */
#define FORWARD_OWN (INT64_C(1) << 32)

/*
 * The size of a scalar: of its type, or of the type that a compute type works with (cublasComputeType_t begins at 64).
 */
static inline size_t forward_scalar_bytes(unsigned int type, unsigned int element)
{
	int complex = element == CUDA_C_32F || element == CUDA_C_64F || element == CUDA_C_8I;

	if (type < CUBLAS_COMPUTE_16F)
		return forward_type_bytes(type);
	switch ((cublasComputeType_t)type) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		return 2;
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
	case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
		return complex ? 16 : 8;
	default:
		return complex ? 8 : 4;
	}
}
