/*
 * forward.h: what both halves of a forwarded library agree on, beside the order of the arguments, which is generated.
 *
 * A request (CALL_LIBRARY) begins with the call's number in the library's table and the id of the handle that it is
 * about. Then come the arguments; a scalar says first where it stands. The reply's result is 0, or FORWARD_STATUS and
 * the library's status; of a call that nobody waits for it is an error of the driver's API, as it comes with one of its
 * calls.
 */
#pragma once

#include "cublas_forward.h"
#include "ring/call.h"

#include <stddef.h>
#include <stdint.h>

#define FORWARD_BLAS CALL_LIBRARY
#define FORWARD_STATUS 1000

enum forward_place {
	FORWARD_IN_HOST = 1,   /* the value follows, or has its room in the reply */
	FORWARD_IN_DEVICE = 2, /* an address follows */
};

enum forward_direction {
	FORWARD_IN = 1 << 0,
	FORWARD_OUT = 1 << 1,
};

#define FORWARD_SCALAR_BYTES 16u

/* The bytes of an element; 0: no type that has scalars. */
static inline size_t forward_type_bytes(unsigned int type)
{
	switch ((cudaDataType_t)type) {
	case CUDA_R_64F:
	case CUDA_C_32F:
	case CUDA_R_64I:
		return 8;
	case CUDA_C_64F:
		return 16;
	case CUDA_R_32F:
	case CUDA_R_32I:
	case CUDA_C_16F:
	case CUDA_C_16BF:
		return 4;
	case CUDA_R_16F:
	case CUDA_R_16BF:
		return 2;
	default:
		return 0;
	}
}

/* The bytes of a scalar: of its type, or for a way of computing (cublasComputeType_t begins at 64) of what is computed.
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
