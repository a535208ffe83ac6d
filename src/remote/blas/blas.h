/*
 * blas.h: the client's half of forwarded cuBLAS and cuBLASLt: the parts of generated bodies, and the state of a handle.
 *
 * A handle of the program is a handle of the remote client (KIND_FORWARDED) with a struct blas_handle: the program's
 * settings, so that they can be read without a request, and set again without one. The client does not wait for calls
 * without results. Errors that the arguments show are returned at once. Later failures are returned, as errors of the
 * driver's API, by a later call of the driver.
 */
#pragma once

#include "libs/blas/status.h"
#include "remote/blas/forward.h"
#include "remote/libs/request.h"

/*
 * The version of cuBLAS whose calls are forwarded: 13.0.0. cublasGetVersion_v2() of a handle returns the version of the
 * worker's library.
 */
#define BLAS_INTERFACE_VERSION 130000

extern const struct forward_library blas_library;

enum forward_wait {
	FORWARD_FORGET,
	FORWARD_WAITS,
	FORWARD_HOST, /* waits if results go to the program's memory */
};

enum blas_kind { BLAS_HANDLE, BLAS_LT_HANDLE };

struct blas_handle {
	enum blas_kind kind;
	cudaStream_t stream;
	cublasPointerMode_t pointer_mode;
	cublasMath_t math_mode;
	cublasAtomicsMode_t atomics_mode;
	int sm_count;
	uint64_t workspace;
	size_t workspace_bytes;
	int version;
};

/* The handle's state, or NULL. A handle of cuBLAS is also one of cuBLASLt. */
struct blas_handle *blas_handle_find(const void *handle, enum blas_kind kind);

/* Create a handle of the worker's library by `call`, and destroy it. */
cublasStatus_t forward_create(void **handle, enum blas_kind kind, enum cublas_call call);
cublasStatus_t forward_destroy(void *handle, enum cublas_call call);

/* False: the status is set. `bytes`: the size of the arguments, if there may be many. */
bool forward_begin(struct forward_call *c, const void *handle, enum cublas_call call, enum forward_wait wait,
		   size_t bytes);
void forward_put_scalar(struct forward_call *c, const void *value, size_t bytes, unsigned int direction);
void forward_get_scalar(struct forward_call *c, void *value, size_t bytes);

/* Logs one line, once per call. */
void forward_refused(const char *symbol);

/* True if the leading dimension is too short for the rows of the matrix, as stored or transposed. */
static inline bool blas_short(int64_t leading, cublasOperation_t operation, int64_t rows, int64_t turned)
{
	int64_t wanted = operation == CUBLAS_OP_N ? rows : turned;

	return leading < (wanted > 1 ? wanted : 1);
}
