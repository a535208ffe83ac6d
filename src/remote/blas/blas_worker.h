/*
 * blas_worker.h: the worker's half of forwarded cuBLAS and cuBLASLt: what generated handlers are made of.
 *
 * The real libraries are opened when the worker starts, before it shuts itself in (forward_libraries_open). Handles are
 * objects of the session; scalars come by value, or as an address that goes to the device alone: the library is told
 * which before every call, so that it never takes an address of the client's for one of this process.
 */
#pragma once

#include "remote/blas/forward.h"
#include "remote/worker/worker.h"

enum forward_library { FORWARD_CUBLAS, FORWARD_CUBLASLT, FORWARD_LIBRARIES };

struct forward_named {
	enum forward_library library;
	void *handle;
	int pointer_mode; /* as the library has it */
};

struct forward_work {
	struct work *work;
	enum cublas_call call;
	void *function; /* of the library, or NULL */
	struct forward_named *named;
	void *handle;
	uint64_t id;	/* of the handle */
	uint64_t place; /* where the scalars stand: enum forward_place; 0: there are none */
	bool unsound;	/* some stand here, others there, or have no size */
	bool strange;	/* an address is not the session's; as kernels would have found out */
	int status;	/* of the library */
};

struct forward_scalar {
	_Alignas(16) uint8_t bytes[FORWARD_SCALAR_BYTES];
	size_t size;
	void *at;	/* what the library gets */
	bool given_out; /* to the reply */
};

/*
 * Opens what there is: METE_FORWARD_CUBLAS and METE_FORWARD_CUBLASLT; or, where the driver is the software device's,
 * its own libraries, which lie beside the folder of `driver_path` (the driver that calls go to); or the names of
 * versions 13 and 12.
 */
void forward_libraries_open(const struct cuda_table *driver, const char *driver_path);
/* A function of an opened library, or NULL. */
void *forward_function(enum cublas_call call);

void forward_get(struct forward_work *w, void *value, size_t bytes);
/* The address of a matrix, vector or workspace, or 0: it must lie in memory of the session. */
void forward_get_device(struct forward_work *w, uint64_t *at);
bool forward_device_good(struct forward_work *w, uint64_t at);
CUstream forward_get_stream(struct forward_work *w);
void forward_get_scalar(struct forward_work *w, struct forward_scalar *s, size_t bytes, unsigned int direction);
void forward_put(struct forward_work *w, const void *value, size_t bytes);
void forward_put_scalar(struct forward_work *w, const struct forward_scalar *s);
/* All was read and is sound, and the library knows where scalars stand. */
bool forward_ready(struct forward_work *w);
/* What a handler answers when it is not. */
int forward_refuse(struct forward_work *w);

/* By hand. */
int forward_lt(struct forward_work *w);
