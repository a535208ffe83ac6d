/* body.h: what the bodies of routines share on the device's threads. */
#pragma once

#include "libs/blas/blas.h"
#include "libs/blas/gemm.h"
#include "libs/common/scratch.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BODY_PIECE 128 /* rows or columns of a triangle that are processed together */
#define BODY_LARGE 96  /* rows of a small system from which on the device is told within it */

/* The part [*ret_from, *ret_to) of `count` that belongs to this block. */
static inline void body_part(const struct soft_native *n, int64_t count, int64_t *ret_from, int64_t *ret_to)
{
	*ret_from = (int64_t)((unsigned __int128)count * n->block / n->blocks);
	*ret_to = (int64_t)((unsigned __int128)count * (n->block + 1u) / n->blocks);
}

/*
 * Checks that a vector is accessible. Value: the address of its first element in order; NULL: the launch has failed
 * with a fault.
 */
static inline void *body_vector(struct soft_native *n, uint64_t at, int64_t count, int64_t step, uint32_t each,
				bool write)
{
	uint64_t apart = (uint64_t)(step < 0 ? -(step + 1) + 1 : step), bytes;

	if (count <= 0)
		return (void *)(uintptr_t)at;
	/* one element for all: as many as there is memory for is no bound */
	if (!step && count > BLAS_SAME_MOST) {
		n->refuse(n);
		return NULL;
	}
	if (__builtin_mul_overflow((uint64_t)(count - 1), apart, &bytes) || __builtin_add_overflow(bytes, 1, &bytes) ||
	    __builtin_mul_overflow(bytes, (uint64_t)each, &bytes)) {
		n->refuse(n);
		return NULL;
	}
	if (!device_reach(n, at, bytes, each, write))
		return NULL;
	return (void *)(uintptr_t)(step < 0 ? at + (uint64_t)(count - 1) * apart * each : at);
}

/* The same for a matrix stored by columns, which do not overlap: all work with it is bounded by its memory. */
static inline void *body_matrix(struct soft_native *n, uint64_t at, int64_t rows, int64_t columns, int64_t ld,
				uint32_t each, bool write)
{
	uint64_t bytes;

	/* columns of nothing need no memory, and are walked through all the same */
	if ((rows <= 0 || columns <= 0) && rows <= BLAS_SAME_MOST && columns <= BLAS_SAME_MOST)
		return (void *)(uintptr_t)at;
	if (ld < rows || rows <= 0 || columns <= 0 ||
	    __builtin_mul_overflow((uint64_t)(columns - 1), (uint64_t)ld, &bytes) ||
	    __builtin_add_overflow(bytes, (uint64_t)rows, &bytes) ||
	    __builtin_mul_overflow(bytes, (uint64_t)each, &bytes)) {
		n->refuse(n);
		return NULL;
	}
	return device_reach(n, at, bytes, each, write) ? (void *)(uintptr_t)at : NULL;
}

/* Matrix number `batch` of an array of addresses; 0: the launch has failed with a fault. */
static inline uint64_t body_of_array(struct soft_native *n, uint64_t array, int64_t batch)
{
	uint64_t at = array + (uint64_t)batch * sizeof(uint64_t), found;

	if (!n->reach(n, at, sizeof(found), false))
		return 0;
	memcpy(&found, (const void *)(uintptr_t)at, sizeof(found));
	if (!found)
		n->reach(n, 0, 1, false);
	return found;
}

#define BODY_EACH_TYPE(X)                                                                                              \
	X(CUDA_R_32F, s)                                                                                               \
	X(CUDA_R_64F, d)                                                                                               \
	X(CUDA_C_32F, c)                                                                                               \
	X(CUDA_C_64F, z)

/* X(name, number of enum blas_body): every body with a function for each type. */
#define BODY_EACH(X)                                                                                                   \
	X(iamax, BLAS_IAMAX)                                                                                           \
	X(asum, BLAS_ASUM) X(nrm2, BLAS_NRM2) X(dot, BLAS_DOT) X(axpy, BLAS_AXPY) X(scal, BLAS_SCAL)                   \
		X(copy, BLAS_COPY) X(swap, BLAS_SWAP) X(rot, BLAS_ROT) X(rotm, BLAS_ROTM) X(rotg, BLAS_ROTG)           \
			X(rotmg, BLAS_ROTMG) X(gemv, BLAS_GEMV) X(gbmv, BLAS_GBMV) X(symv, BLAS_SYMV)                  \
				X(trmv, BLAS_TRMV) X(trsv, BLAS_TRSV) X(ger, BLAS_GER) X(syr, BLAS_SYR)                \
					X(syr2, BLAS_SYR2) X(symm, BLAS_SYMM) X(syrk, BLAS_SYRK) X(syr2k, BLAS_SYR2K)  \
						X(trmm, BLAS_TRMM) X(trsm, BLAS_TRSM) X(geam, BLAS_GEAM)               \
							X(dgmm, BLAS_DGMM) X(tpttr, BLAS_TPTTR) X(trttp, BLAS_TRTTP)   \
								X(getrf, BLAS_GETRF) X(getrs, BLAS_GETRS)              \
									X(getri, BLAS_GETRI) X(matinv, BLAS_MATINV)    \
										X(geqrf, BLAS_GEQRF)                   \
											X(gels, BLAS_GELS)
