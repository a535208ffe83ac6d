/*
 * xt.c: cublasXt, whose matrices lie in the program's memory: on the software device and on the remote path.
 *
 * Operands are copied to the first device of the program's choice, cuBLAS computes there, and the result is copied
 * back: all of a call's operands have to fit into the device's memory at once. Calls return when the result is there.
 * What is set about tiles, pinned memory and the processor's part is kept or taken, and changes nothing. Packed
 * matrices are refused. Source: the cuBLAS documentation, "Using the cublasXt API".
 */
#include "libs/blas/copies.h"

#include "cublas_forward.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define XT_MAGIC UINT64_C(0x6d6574652d786274)
#define BLOCK_DEFAULT 2048
#define BOARDS_MOST 32

/* Nothing of cublasXt.h is known but the names: its types are written down here. */
typedef struct cublasXtContext *cublasXtHandle_t;

struct cublasXtContext {
	uint64_t magic;
	cublasHandle_t blas; /* NULL: no device has been chosen */
	CUcontext context;
	int block, pinning;
};

/* A matrix in the program's memory, its columns `ld` elements apart, and its place on the device. */
struct operand {
	const void *at;
	size_t rows, columns, ld;
	bool result;
	CUdeviceptr device;
};

/* The generated header declares these calls without parameters: here they have names of their own, and those as
 * symbols. */
#define EXPORT(name, ...)                                                                                              \
	__attribute__((visibility("default"))) cublasStatus_t own_##name(__VA_ARGS__) __asm__(#name);                  \
	cublasStatus_t own_##name(__VA_ARGS__)

static bool is_good(cublasXtHandle_t h)
{
	return h && !((uintptr_t)h % _Alignof(struct cublasXtContext)) && h->magic == XT_MAGIC;
}

/* ---- handles ---- */

EXPORT(cublasXtCreate, cublasXtHandle_t *handle)
{
	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	*handle = calloc(1, sizeof(**handle));
	if (!*handle)
		return CUBLAS_STATUS_ALLOC_FAILED;
	(*handle)->magic = XT_MAGIC;
	(*handle)->block = BLOCK_DEFAULT;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT(cublasXtDestroy, cublasXtHandle_t handle)
{
	if (!is_good(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (handle->blas)
		cublasDestroy_v2(handle->blas);
	handle->magic = 0;
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT(cublasXtDeviceSelect, cublasXtHandle_t handle, int nbDevices, int deviceId[])
{
	struct blas_device d;
	CUcontext context, popped;
	cublasHandle_t blas = NULL;
	cublasStatus_t status;

	if (!is_good(handle) || !blas_device(&d))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (nbDevices < 1 || nbDevices > BOARDS_MOST || !deviceId)
		return CUBLAS_STATUS_INVALID_VALUE;
	for (int i = nbDevices - 1; i >= 0; i--)
		if (d.init(0) || d.retain(&context, deviceId[i]))
			return CUBLAS_STATUS_INVALID_VALUE;
	if (d.push(context))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	status = cublasCreate_v2(&blas);
	d.pop(&popped);
	if (status)
		return status;
	if (handle->blas)
		cublasDestroy_v2(handle->blas);
	handle->blas = blas;
	handle->context = context;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT(cublasXtMaxBoards, int *nbGpuBoards)
{
	if (!nbGpuBoards)
		return CUBLAS_STATUS_INVALID_VALUE;
	*nbGpuBoards = BOARDS_MOST;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT(cublasXtGetNumBoards, int nbDevices, int deviceId[], int *nbBoards)
{
	if (nbDevices < 1 || !deviceId || !nbBoards)
		return CUBLAS_STATUS_INVALID_VALUE;
	*nbBoards = nbDevices;
	return CUBLAS_STATUS_SUCCESS;
}

#define SETTING(field, set, get, good)                                                                                 \
	EXPORT(set, cublasXtHandle_t handle, int value)                                                                \
	{                                                                                                              \
		if (!is_good(handle))                                                                                  \
			return CUBLAS_STATUS_NOT_INITIALIZED;                                                          \
		if (!(good))                                                                                           \
			return CUBLAS_STATUS_INVALID_VALUE;                                                            \
		handle->field = value;                                                                                 \
		return CUBLAS_STATUS_SUCCESS;                                                                          \
	}                                                                                                              \
	EXPORT(get, cublasXtHandle_t handle, int *value)                                                               \
	{                                                                                                              \
		if (!is_good(handle))                                                                                  \
			return CUBLAS_STATUS_NOT_INITIALIZED;                                                          \
		if (!value)                                                                                            \
			return CUBLAS_STATUS_INVALID_VALUE;                                                            \
		*value = handle->field;                                                                                \
		return CUBLAS_STATUS_SUCCESS;                                                                          \
	}
SETTING(block, cublasXtSetBlockDim, cublasXtGetBlockDim, value > 0)
SETTING(pinning, cublasXtSetPinningMemMode, cublasXtGetPinningMemMode, value == 0 || value == 1)

EXPORT(cublasXtSetCpuRoutine, cublasXtHandle_t handle, int blasOp, int type, void *blasFunctor)
{
	(void)blasFunctor;
	if (!is_good(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	return blasOp < 0 || type < 0 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

EXPORT(cublasXtSetCpuRatio, cublasXtHandle_t handle, int blasOp, int type, float ratio)
{
	if (!is_good(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	return blasOp < 0 || type < 0 || !(ratio >= 0 && ratio <= 1) ? CUBLAS_STATUS_INVALID_VALUE
								     : CUBLAS_STATUS_SUCCESS;
}

/* ---- operands ---- */

static cublasStatus_t operand_copy(const struct blas_device *d, const struct operand *o, size_t each, bool back)
{
	CUDA_MEMCPY2D m = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
			    .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
			    .srcDevice = back ? o->device : (uintptr_t)o->at,
			    .dstDevice = back ? (uintptr_t)o->at : o->device,
			    .srcPitch = (back ? o->rows : o->ld) * each,
			    .dstPitch = (back ? o->ld : o->rows) * each,
			    .WidthInBytes = o->rows * each,
			    .Height = o->columns };

	return d->copy(&m) ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t operand_make(const struct blas_device *d, struct operand *o, size_t each)
{
	size_t count, bytes;

	if (!o->rows || !o->columns)
		return CUBLAS_STATUS_SUCCESS;
	if (!o->at || o->ld < o->rows || __builtin_mul_overflow(o->rows, o->columns, &count) ||
	    __builtin_mul_overflow(count, each, &bytes) || __builtin_mul_overflow(o->ld, each, &count))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (d->alloc(&o->device, bytes)) {
		o->device = 0;
		return CUBLAS_STATUS_ALLOC_FAILED;
	}
	return operand_copy(d, o, each, false);
}

/* With *ret_begun the device's context is the current one until call_end(), whatever the status is. */
static cublasStatus_t call_begin(cublasXtHandle_t h, struct operand *o, int count, size_t each, bool *ret_begun)
{
	struct blas_device d;
	cublasStatus_t status = CUBLAS_STATUS_SUCCESS;

	if (!is_good(h) || !h->blas || !blas_device(&d) || d.push(h->context))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*ret_begun = true;
	for (int i = 0; i < count && !status; i++)
		status = operand_make(&d, &o[i], each);
	return status;
}

/* Copies the results back and lets go of what call_begin() took. Value: the call's status. */
static cublasStatus_t call_end(struct operand *o, int count, size_t each, cublasStatus_t status)
{
	struct blas_device d;
	CUcontext popped;

	if (!blas_device(&d))
		return status;
	for (int i = 0; i < count; i++) {
		if (!status && o[i].result && o[i].device)
			status = operand_copy(&d, &o[i], each, true);
		if (o[i].device)
			d.free(o[i].device);
	}
	d.pop(&popped);
	return status;
}

#define IN(at, rows, columns, ld)                                                                                      \
	{                                                                                                              \
		at, rows, columns, ld, false, 0                                                                        \
	}
#define OUT(at, rows, columns, ld)                                                                                     \
	{                                                                                                              \
		at, rows, columns, ld, true, 0                                                                         \
	}
#define AT(i, T) (T *)(uintptr_t)o[i].device
#define LD(i) ((int64_t)(o[i].rows ? o[i].rows : 1))

/* Runs `call`, in which AT() and LD() are operands on the device; o: the operands. */
#define RUN(T, call)                                                                                                   \
	do {                                                                                                           \
		const int count_ = (int)(sizeof(o) / sizeof(*o));                                                      \
		bool begun_ = false;                                                                                   \
		cublasStatus_t status_ = call_begin(handle, o, count_, sizeof(T), &begun_);                            \
														       \
		if (!status_)                                                                                          \
			status_ = call;                                                                                \
		return begun_ ? call_end(o, count_, sizeof(T), status_) : status_;                                     \
	} while (0)

#define MATRIX(T, X, ldx) const T *X, size_t ldx
#define RESULT(T, X, ldx) T *X, size_t ldx
#define HANDLE cublasXtHandle_t handle

#define GEMM(X, T)                                                                                                     \
	EXPORT(cublasXt##X##gemm, HANDLE, cublasOperation_t transa, cublasOperation_t transb, size_t m, size_t n,      \
	       size_t k, const T *alpha, MATRIX(T, A, lda), MATRIX(T, B, ldb), const T *beta, RESULT(T, C, ldc))       \
	{                                                                                                              \
		struct operand o[] = { IN(A, transa ? k : m, transa ? m : k, lda),                                     \
				       IN(B, transb ? n : k, transb ? k : n, ldb), OUT(C, m, n, ldc) };                \
														       \
		RUN(T, cublas##X##gemm_v2_64(handle->blas, transa, transb, (int64_t)m, (int64_t)n, (int64_t)k, alpha,  \
					     AT(0, T), LD(0), AT(1, T), LD(1), beta, AT(2, T), LD(2)));                \
	}

/* A matrix with itself; S: the type of the scalars. */
#define RANK(X, name, symbol, T, S)                                                                                    \
	EXPORT(cublasXt##X##name, HANDLE, cublasFillMode_t uplo, cublasOperation_t trans, size_t n, size_t k,          \
	       const S *alpha, MATRIX(T, A, lda), const S *beta, RESULT(T, C, ldc))                                    \
	{                                                                                                              \
		struct operand o[] = { IN(A, trans ? k : n, trans ? n : k, lda), OUT(C, n, n, ldc) };                  \
														       \
		RUN(T, symbol(handle->blas, uplo, trans, (int64_t)n, (int64_t)k, alpha, AT(0, T), LD(0), beta,         \
			      AT(1, T), LD(1)));                                                                       \
	}

/* Two matrices; S: the type of beta. */
#define RANK_OF_TWO(X, name, symbol, T, S)                                                                             \
	EXPORT(cublasXt##X##name, HANDLE, cublasFillMode_t uplo, cublasOperation_t trans, size_t n, size_t k,          \
	       const T *alpha, MATRIX(T, A, lda), MATRIX(T, B, ldb), const S *beta, RESULT(T, C, ldc))                 \
	{                                                                                                              \
		struct operand o[] = { IN(A, trans ? k : n, trans ? n : k, lda),                                       \
				       IN(B, trans ? k : n, trans ? n : k, ldb), OUT(C, n, n, ldc) };                  \
														       \
		RUN(T, symbol(handle->blas, uplo, trans, (int64_t)n, (int64_t)k, alpha, AT(0, T), LD(0), AT(1, T),     \
			      LD(1), beta, AT(2, T), LD(2)));                                                          \
	}

#define SIDE_ROWS (side ? n : m) /* CUBLAS_SIDE_LEFT is 0 */

/* A symmetric or Hermitian matrix at one side. */
#define BESIDE(X, name, symbol, T)                                                                                     \
	EXPORT(cublasXt##X##name, HANDLE, cublasSideMode_t side, cublasFillMode_t uplo, size_t m, size_t n,            \
	       const T *alpha, MATRIX(T, A, lda), MATRIX(T, B, ldb), const T *beta, RESULT(T, C, ldc))                 \
	{                                                                                                              \
		struct operand o[] = { IN(A, SIDE_ROWS, SIDE_ROWS, lda), IN(B, m, n, ldb), OUT(C, m, n, ldc) };        \
														       \
		RUN(T, symbol(handle->blas, side, uplo, (int64_t)m, (int64_t)n, alpha, AT(0, T), LD(0), AT(1, T),      \
			      LD(1), beta, AT(2, T), LD(2)));                                                          \
	}

#define TRIANGLE(X, T)                                                                                                 \
	EXPORT(cublasXt##X##trsm, HANDLE, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,       \
	       cublasDiagType_t diag, size_t m, size_t n, const T *alpha, MATRIX(T, A, lda), RESULT(T, B, ldb))        \
	{                                                                                                              \
		struct operand o[] = { IN(A, SIDE_ROWS, SIDE_ROWS, lda), OUT(B, m, n, ldb) };                          \
														       \
		RUN(T, cublas##X##trsm_v2_64(handle->blas, side, uplo, trans, diag, (int64_t)m, (int64_t)n, alpha,     \
					     AT(0, T), LD(0), AT(1, T), LD(1)));                                       \
	}                                                                                                              \
	EXPORT(cublasXt##X##trmm, HANDLE, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,       \
	       cublasDiagType_t diag, size_t m, size_t n, const T *alpha, MATRIX(T, A, lda), MATRIX(T, B, ldb),        \
	       RESULT(T, C, ldc))                                                                                      \
	{                                                                                                              \
		struct operand o[] = { IN(A, SIDE_ROWS, SIDE_ROWS, lda), IN(B, m, n, ldb), OUT(C, m, n, ldc) };        \
														       \
		RUN(T, cublas##X##trmm_v2_64(handle->blas, side, uplo, trans, diag, (int64_t)m, (int64_t)n, alpha,     \
					     AT(0, T), LD(0), AT(1, T), LD(1), AT(2, T), LD(2)));                      \
	}

#define EACH_TYPE(X, T)                                                                                                \
	GEMM(X, T)                                                                                                     \
	RANK(X, syrk, cublas##X##syrk_v2_64, T, T)                                                                     \
	RANK_OF_TWO(X, syr2k, cublas##X##syr2k_v2_64, T, T)                                                            \
	RANK_OF_TWO(X, syrkx, cublas##X##syrkx_64, T, T)                                                               \
	BESIDE(X, symm, cublas##X##symm_v2_64, T)                                                                      \
	TRIANGLE(X, T)
EACH_TYPE(S, float)
EACH_TYPE(D, double)
EACH_TYPE(C, cuComplex)
EACH_TYPE(Z, cuDoubleComplex)

#define COMPLEX_TYPE(X, T, S)                                                                                          \
	RANK(X, herk, cublas##X##herk_v2_64, T, S)                                                                     \
	RANK_OF_TWO(X, her2k, cublas##X##her2k_v2_64, T, S)                                                            \
	RANK_OF_TWO(X, herkx, cublas##X##herkx_64, T, S)                                                               \
	BESIDE(X, hemm, cublas##X##hemm_v2_64, T)
COMPLEX_TYPE(C, cuComplex, float)
COMPLEX_TYPE(Z, cuDoubleComplex, double)
