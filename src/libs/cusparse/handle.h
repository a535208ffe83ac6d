/*
 * handle.h: cuSPARSE's handle, the older matrix descriptor, and the launch of kernels for all files.
 */
#pragma once

#include "libs/cusparse/sparse.h"

#include <stdbool.h>

struct cusparseContext {
	uint64_t magic;
	const struct device_driver *driver;
	CUcontext context;
	cudaStream_t stream;
	cusparsePointerMode_t pointer_mode;
};

struct cusparseSpMatDescr {
	cusparseFormat_t format;
	int64_t rows, columns, nnz;
	void *offsets, *indices, *values; /* of rows or columns; of coordinates: rows, columns */
	cusparseIndexType_t offsets_type, indices_type;
	cusparseIndexBase_t base;
	cudaDataType type;
	cusparseFillMode_t fill;
	cusparseDiagType_t diagonal;
	int batch;
	int64_t offsets_apart, values_apart;
};

struct cusparseDnVecDescr {
	int64_t size;
	void *values;
	cudaDataType type;
};

struct cusparseDnMatDescr {
	int64_t rows, columns, ld, apart;
	void *values;
	cudaDataType type;
	cusparseOrder_t order;
	int batch;
};

struct cusparseMatDescr {
	cusparseMatrixType_t type;
	cusparseFillMode_t fill;
	cusparseDiagType_t diagonal;
	cusparseIndexBase_t base;
};

/* calls.c: what a descriptor can be made of. */

/* A type of values that some routine has; and that indices up to `most`, told from `base` on, are of this type. */
bool sparse_type_known(cudaDataType t);
bool sparse_indices_known(cusparseIndexType_t t, cusparseIndexBase_t base, int64_t most);
/* Both of 32 or of 64 bits; otherwise NOT_SUPPORTED, which is logged. */
cusparseStatus_t sparse_indices_supported(cusparseIndexType_t a, cusparseIndexType_t b);

/* True if the program's handle is one of this library. */
bool sparse_handle_good(cusparseHandle_t h);
/* Converts a driver's error to the library's status. */
cusparseStatus_t sparse_status(CUresult e);
/* Launches the kernel of `w` on the handle's stream. Does nothing without work. */
cusparseStatus_t sparse_launch(cusparseHandle_t h, const struct sparse_work *w);
/* The same with any parameters, as device_launch()'s; `each`: the work of one part. */
cusparseStatus_t sparse_start(cusparseHandle_t h, uint32_t kernel, int64_t parts, int64_t each, const void *work,
			      size_t bytes);
struct sparse_matrix sparse_matrix_of(const struct cusparseSpMatDescr *d, cusparseOperation_t op);
struct sparse_dense sparse_vector_of(const struct cusparseDnVecDescr *d);
/* The index of one of the four types, or -1. */
int sparse_type_of(cudaDataType type);
/* A scalar from its place by the handle's pointer mode. `type`: index of one of the four. */
struct sparse_scalar sparse_scalar_of(cusparseHandle_t h, const void *at, int type);
/* Types that go together; the index of them, or a status, and a line that says `what` there is not. */
cusparseStatus_t sparse_types(cudaDataType a, cudaDataType b, cudaDataType c, cudaDataType compute, const char *what,
			      uint32_t *ret);
/* The type of a vector's numbers, for calls that do not say it; also in the client of a worker. */
unsigned int sparse_vector_type(cusparseConstSpVecDescr_t of);
