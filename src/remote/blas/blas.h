/*
 * blas.h: the client's half of cuBLAS and cuBLASLt, forwarded: what generated bodies are made of, and a handle's state.
 *
 * A handle of the program is one of the remote client's (KIND_FORWARDED), and a struct blas_handle is kept with it:
 * what the program has set, so that it is read without asking, and set again without telling. Calls that give nothing
 * out are not waited for; what can be seen in their arguments is answered at once, and what fails later comes, as an
 * error of the driver's API, with a later call of that.
 */
#pragma once

#include "libs/blas/status.h"
#include "remote/blas/forward.h"
#include "remote/libs/request.h"

/* Of cuBLAS, whose calls are forwarded: 13.0.0. What the worker's own library is, cublasGetVersion_v2() tells of a
 * handle. */
#define BLAS_INTERFACE_VERSION 130000

extern const struct forward_library blas_library;

enum forward_wait {
	FORWARD_FORGET,
	FORWARD_WAITS,
	FORWARD_HOST, /* waits when results go to the program's memory */
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

/* The handle's state, or NULL. A handle of cuBLAS is one of cuBLASLt too. */
struct blas_handle *blas_handle_find(const void *handle, enum blas_kind kind);

/* A new handle of the worker's library, made there by `call`; and the end of one. */
cublasStatus_t forward_create(void **handle, enum blas_kind kind, enum cublas_call call);
cublasStatus_t forward_destroy(void *handle, enum cublas_call call);

/* False: the status is set. `bytes`: of the arguments, when they may be many. */
bool forward_begin(struct forward_call *c, const void *handle, enum cublas_call call, enum forward_wait wait,
		   size_t bytes);
void forward_put_scalar(struct forward_call *c, const void *value, size_t bytes, unsigned int direction);
void forward_get_scalar(struct forward_call *c, void *value, size_t bytes);

/* One line in the log, once per call. */
void forward_refused(const char *symbol);

/* Is the leading dimension too short for the rows that the matrix has, as it stands or turned? */
static inline bool blas_short(int64_t leading, cublasOperation_t operation, int64_t rows, int64_t turned)
{
	int64_t wanted = operation == CUBLAS_OP_N ? rows : turned;

	return leading < (wanted > 1 ? wanted : 1);
}
