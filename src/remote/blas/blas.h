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
	bool own; /* the worker's library is mete's */
};

/* The handle's state, or NULL. A handle of cuBLAS is also one of cuBLASLt. */
struct blas_handle *blas_handle_find(const void *handle, enum blas_kind kind);

/* Create a handle of the worker's library by `call`, and destroy it. */
cublasStatus_t forward_create(void **handle, enum blas_kind kind, enum cublas_call call);
cublasStatus_t forward_destroy(void *handle, enum cublas_call call);

/* SUCCESS, or NOT_INITIALIZED: it is no handle. */
cublasStatus_t forward_known(const void *handle, enum blas_kind kind);
/*
 * What is to be said of a call of which the software device's library would say `status` (libs/blas/checks.h). SUCCESS:
 * it is sent. What that library does not support, another's may. `symbol`: logged if it is refused; or NULL.
 */
cublasStatus_t forward_judged(const void *handle, enum blas_kind kind, cublasStatus_t status, const char *symbol);

/* False: the status is set. `bytes`: the size of the arguments, if there may be many. */
bool forward_begin(struct forward_call *c, const void *handle, enum cublas_call call, enum forward_wait wait,
		   size_t bytes);
void forward_put_scalar(struct forward_call *c, const void *value, size_t bytes, unsigned int direction);
void forward_get_scalar(struct forward_call *c, void *value, size_t bytes);

/* Logs one line, once per call. */
void forward_refused(const char *symbol);
