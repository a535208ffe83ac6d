/* copies.c: cublasSetVector() and its kin, on the software device and on the remote path. */
#include "libs/blas/copies.h"

#include "cublas_forward.h"

#include <stddef.h>

/* Copies of matrices whose columns lie `from_pitch` and `to_pitch` bytes apart: the driver's. */
static cublasStatus_t copy(bool to_device, const void *from, size_t from_pitch, void *to, size_t to_pitch, size_t width,
			   size_t columns, cudaStream_t stream, bool async)
{
	CUDA_MEMCPY2D m = { .srcPitch = from_pitch, .dstPitch = to_pitch, .WidthInBytes = width, .Height = columns };
	CUresult r;

	if (!width || !columns)
		return CUBLAS_STATUS_SUCCESS;
	m.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	m.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	if (to_device) {
		m.srcHost = from;
		m.dstDevice = (uintptr_t)to;
	} else {
		m.srcDevice = (uintptr_t)from;
		m.dstHost = to;
	}
	if (!blas_copy(&m, (CUstream)stream, async, &r))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	return r == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

static cublasStatus_t copy_matrix(bool to_device, int64_t rows, int64_t columns, int64_t bytes, const void *from,
				  int64_t from_rows, void *to, int64_t to_rows, cudaStream_t stream, bool async)
{
	if (rows < 0 || columns < 0 || bytes <= 0 || from_rows <= 0 || to_rows <= 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	return copy(to_device, from, (size_t)(from_rows * bytes), to, (size_t)(to_rows * bytes), (size_t)(rows * bytes),
		    (size_t)columns, stream, async);
}

/* A vector is a matrix of one row, whose columns lie a step apart. */
static cublasStatus_t copy_vector(bool to_device, int64_t n, int64_t bytes, const void *from, int64_t from_step,
				  void *to, int64_t to_step, cudaStream_t stream, bool async)
{
	if (from_step == 1 && to_step == 1)
		return copy_matrix(to_device, n, 1, bytes, from, n > 0 ? n : 1, to, n > 0 ? n : 1, stream, async);
	return copy_matrix(to_device, 1, n, bytes, from, from_step, to, to_step, stream, async);
}

#define COPIES(suffix, count)                                                                                          \
	cublasStatus_t cublasSetVector##suffix(count n, count elemSize, const void *x, count incx, void *devicePtr,    \
					       count incy)                                                             \
	{                                                                                                              \
		return copy_vector(true, n, elemSize, x, incx, devicePtr, incy, NULL, false);                          \
	}                                                                                                              \
	cublasStatus_t cublasGetVector##suffix(count n, count elemSize, const void *x, count incx, void *y,            \
					       count incy)                                                             \
	{                                                                                                              \
		return copy_vector(false, n, elemSize, x, incx, y, incy, NULL, false);                                 \
	}                                                                                                              \
	cublasStatus_t cublasSetVectorAsync##suffix(count n, count elemSize, const void *hostPtr, count incx,          \
						    void *devicePtr, count incy, cudaStream_t stream)                  \
	{                                                                                                              \
		return copy_vector(true, n, elemSize, hostPtr, incx, devicePtr, incy, stream, true);                   \
	}                                                                                                              \
	cublasStatus_t cublasGetVectorAsync##suffix(count n, count elemSize, const void *devicePtr, count incx,        \
						    void *hostPtr, count incy, cudaStream_t stream)                    \
	{                                                                                                              \
		return copy_vector(false, n, elemSize, devicePtr, incx, hostPtr, incy, stream, true);                  \
	}                                                                                                              \
	cublasStatus_t cublasSetMatrix##suffix(count rows, count cols, count elemSize, const void *A, count lda,       \
					       void *B, count ldb)                                                     \
	{                                                                                                              \
		return copy_matrix(true, rows, cols, elemSize, A, lda, B, ldb, NULL, false);                           \
	}                                                                                                              \
	cublasStatus_t cublasGetMatrix##suffix(count rows, count cols, count elemSize, const void *A, count lda,       \
					       void *B, count ldb)                                                     \
	{                                                                                                              \
		return copy_matrix(false, rows, cols, elemSize, A, lda, B, ldb, NULL, false);                          \
	}                                                                                                              \
	cublasStatus_t cublasSetMatrixAsync##suffix(count rows, count cols, count elemSize, const void *A, count lda,  \
						    void *B, count ldb, cudaStream_t stream)                           \
	{                                                                                                              \
		return copy_matrix(true, rows, cols, elemSize, A, lda, B, ldb, stream, true);                          \
	}                                                                                                              \
	cublasStatus_t cublasGetMatrixAsync##suffix(count rows, count cols, count elemSize, const void *A, count lda,  \
						    void *B, count ldb, cudaStream_t stream)                           \
	{                                                                                                              \
		return copy_matrix(false, rows, cols, elemSize, A, lda, B, ldb, stream, true);                         \
	}

COPIES(, int)
COPIES(_64, int64_t)
