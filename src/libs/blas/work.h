/* work.h: the arguments of a routine of cuBLAS: the library runs them, and a client on the remote path checks them. */
#pragma once

#include "cublas_forward.h"
#include "cublas_soft.h"

#include <stdbool.h>
#include <stdint.h>

/* A type as the fields below have it: one that is no type stays none. */
static inline uint8_t work_type(cudaDataType type)
{
	return (unsigned int)type < UINT8_MAX ? (uint8_t)type : UINT8_MAX;
}

/*
 * Elements of a vector with a step of 0, and columns of a matrix without rows: their number is not bounded by memory.
 */
#define BLAS_SAME_MOST (INT64_C(1) << 24)

/* All arguments of all routines, by the names that cuBLAS's headers give them. Addresses are numbers. */
struct blas_work {
	uint32_t number; /* device_launch() sets it */
	uint32_t body;	 /* enum blas_body; product.h has its own at the same places */
	uint8_t type;	 /* of the routine's letter; cudaDataType_t */
	uint8_t Atype, Btype, Ctype, xType, yType, alphaType, betaType, resultType, cType, sType, csType, paramType;
	uint8_t executionType, executiontype;
	uint8_t d1Type, d2Type, x1Type, y1Type, abType;
	uint8_t wide, batched, arrays;	    /* 64-bit results; batches; operands are arrays of addresses */
	uint8_t conjugate, hermitian, form; /* what a name stands for; form: enum blas_form */
	uint8_t in_device;		    /* scalars and results are in device memory */
	uint8_t flag;			    /* specific to the body */
	int32_t transa, transb, trans, uplo, diag, side, mode, computeType, algo;
	int64_t m, n, k, kl, ku, nrhs;
	int64_t lda, ldb, ldc, incx, incy, batchCount, batchSize;
	int64_t strideA, strideB, strideC, stridex, stridey;
	uint64_t AP;
	union {
		uint64_t A, Aarray;
	};
	union {
		uint64_t B, Barray;
	};
	union {
		uint64_t C, Carray, Ainv;
	};
	union {
		uint64_t x, xarray, TauArray;
	};
	union {
		uint64_t y, yarray;
	};
	union {
		uint64_t P, devIpiv, param;
	};
	uint64_t info, devInfoArray;
	int64_t lda_inv;
	uint64_t result;
	uint64_t alpha, beta, c, s; /* addresses, or see the values */
	uint64_t a, b;
	uint64_t d1, d2, x1, y1;
	uint8_t alpha_value[16], beta_value[16], c_value[16], s_value[16];
};

/* How a matrix is stored. */
enum blas_form { BLAS_FULL, BLAS_PACKED, BLAS_BAND };
