/*
 * sparse.h: cuSPARSE of the software device, its generic interface: descriptors, and the execution of calls by kernels.
 *
 * Descriptors are in the program's memory and hold addresses. A call copies what it needs of them to a struct
 * sparse_work, which is a kernel's parameters. A matrix by columns is the transpose of one by rows: from here on there
 * are only rows and coordinates, and whether the matrix is transposed.
 */
#pragma once

#include "cusparse_soft.h"
#include "libs/common/library.h"

#define SPARSE_TITLE "cuSPARSE"
#define SPARSE_SIZE_MOST (INT64_C(1) << 40)

enum sparse_kernel {
	SPARSE_SPMM,
	SPARSE_SDDMM,
	SPARSE_SPSV,
	SPARSE_TO_DENSE,
	SPARSE_COUNT,
	SPARSE_FROM_DENSE,
	SPARSE_ILU,    /* factors without fill-in, in the matrix's place: L and U */
	SPARSE_IC,     /* L of L L^H, in the lower triangle */
	SPARSE_PIVOTS, /* where the first diagonal element is missing */
	SPARSE_GTSV, /* a tridiagonal system: the diagonals stand in `a`, for rows, columns and values; all have `rows`
			numbers */
	SPARSE_GTSV_PLAIN, /* without pivots */
	SPARSE_GEMM_COUNT, /* offsets of the rows of a product, 64 bits wide and from 0 on, to the place of `b` */
	SPARSE_GEMM,	   /* the product, whose offsets stand at `b` */
	SPARSE_SUM_COUNT,  /* offsets of the rows of a sum; at `pivot_at`, if it is told, how many numbers there are */
	SPARSE_SUM,	   /* the sum, whose offsets stand there */
	SPARSE_GATHER,	   /* of vectors: numbers of the dense one to the sparse one, and back */
	SPARSE_SCATTER,
	SPARSE_AXPBY,
	SPARSE_DOT, /* to the place of `b` */
	SPARSE_ROT,
	SPARSE_BLOCKS,	     /* a matrix of blocks times a dense one */
	SPARSE_BLOCK_SOLVE,  /* triangles of blocks */
	SPARSE_BLOCK_PIVOTS, /* the first row of blocks without a diagonal one */
	SPARSE_OFFSETS,	     /* from here on struct sparse_lists */
	SPARSE_LINES,
	SPARSE_IDENTITY,
	SPARSE_SORT,
	SPARSE_TURN,
	SPARSE_KERNELS
};

/* Numbers by rows, or coordinates; indices begin at `base`. */
struct sparse_matrix {
	uint64_t rows_at, columns_at, values_at; /* rows_at: of rows + 1 offsets, or of nnz indices */
	int64_t rows, columns, nnz;
	uint8_t coordinates, wide_rows, wide_columns, base;
	uint8_t turned, conjugated;	  /* stands for the transpose; with conjugate numbers */
	uint8_t upper, unit;		  /* of a triangle */
	uint8_t by_columns;		  /* within a block */
	int64_t rows_apart, values_apart; /* between batches */
};

/* Element (i, j) lies at `at`, i * down + j * across numbers further. */
struct sparse_dense {
	uint64_t at;
	int64_t down, across, rows, columns;
	int64_t apart; /* between batches */
	uint8_t conjugated;
};

struct sparse_scalar {
	uint64_t address; /* in device memory; 0: the value is in this struct */
	double value[2];
};

struct sparse_work {
	uint32_t number; /* device_launch() sets it */
	uint32_t kernel; /* enum sparse_kernel */
	uint32_t type;	 /* 0 to 3: float, double, and their complex variants */
	uint32_t block;	 /* rows and columns of a block; 0: there are none */
	int64_t batch;
	struct sparse_matrix a;
	struct sparse_matrix more[2]; /* the other operand of a product of two such, and the product */
	struct sparse_dense b, c;
	struct sparse_scalar alpha, beta;
	uint64_t pivot_at; /* of factors: an int64_t, the first row without a pivot as the program counts, or -1 */
};

_Static_assert(sizeof(struct sparse_work) <= DEVICE_PARAM_BYTES, "a kernel's parameters");

static inline size_t sparse_type_bytes(uint32_t type)
{
	return type == 0 ? 4 : type == 3 ? 16 : 8;
}

/* The number of parts into which the work is divided: 1 if a row may write anywhere. */
int64_t sparse_parts(const struct sparse_work *w);

/* The entry point of kernels. */
void sparse_run(struct soft_native *n);
