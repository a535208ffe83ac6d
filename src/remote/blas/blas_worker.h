/* blas_worker.h: the worker's half of forwarded cuBLAS and cuBLASLt: the parts of generated handlers. */
#pragma once

#include "remote/blas/forward.h"
#include "remote/libs/serve.h"

/* Types of its objects. A handle of cuBLAS may be used as one of cuBLASLt, except to destroy it. */
enum { BLAS_IS_HANDLE = 1, BLAS_IS_LT_HANDLE };

extern const struct forward_served blas_served;

/* A function of an opened library, or NULL. */
void *forward_function(enum cublas_call call);

/* Written by hand. */
int forward_lt(struct forward_work *w);
