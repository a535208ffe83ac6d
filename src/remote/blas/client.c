/* client.c: a forwarded call on its way; see blas.h. */
#include "remote/blas/blas.h"

#include <stdlib.h>

const struct forward_library blas_library = {
	.number = FORWARD_NUMBER_CUBLAS,
	.title = "cuBLAS",
	.refused = "CUBLAS_STATUS_NOT_SUPPORTED",
	.status = { CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_INVALID_VALUE,
		    CUBLAS_STATUS_EXECUTION_FAILED, CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_SUPPORTED },
};

struct blas_handle *blas_handle_find(const void *handle, enum blas_kind kind)
{
	const struct forward_calls *f = forward_client();
	struct blas_handle *h = f && handle ? f->kept(KIND_FORWARDED, handle) : NULL;

	/* NVIDIA allows it, and programs rely on it */
	return h && (h->kind == kind || kind == BLAS_LT_HANDLE) ? h : NULL;
}

bool forward_begin(struct forward_call *c, const void *handle, enum cublas_call call, enum forward_wait wait,
		   size_t bytes)
{
	enum blas_kind kind = strncmp(cublas_call_name[call], "cublasLt", 8) ? BLAS_HANDLE : BLAS_LT_HANDLE;
	uint64_t id;
	bool waits;

	if (!forward_open(c, &blas_library))
		return false;
	c->handle = blas_handle_find(handle, kind);
	if (!c->handle) {
		c->status = CUBLAS_STATUS_NOT_INITIALIZED;
		return false;
	}
	id = c->client->use(&c->call, KIND_FORWARDED, handle);
	waits = wait == FORWARD_WAITS || (wait == FORWARD_HOST && c->handle->pointer_mode == CUBLAS_POINTER_MODE_HOST);
	return forward_start(c, call, id, waits, bytes);
}

cublasStatus_t forward_known(const void *handle, enum blas_kind kind)
{
	return blas_handle_find(handle, kind) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t forward_judged(const void *handle, enum blas_kind kind, cublasStatus_t status, const char *symbol)
{
	if (status != CUBLAS_STATUS_NOT_SUPPORTED)
		return status;
	if (!blas_handle_find(handle, kind)->own)
		return CUBLAS_STATUS_SUCCESS;
	if (symbol)
		forward_tell_own(&blas_library, symbol);
	return status;
}

void forward_put_scalar(struct forward_call *c, const void *value, size_t bytes, unsigned int direction)
{
	forward_put_placed(c, value, bytes, direction, c->handle->pointer_mode == CUBLAS_POINTER_MODE_HOST);
}

void forward_get_scalar(struct forward_call *c, void *value, size_t bytes)
{
	if (c->handle->pointer_mode == CUBLAS_POINTER_MODE_HOST)
		forward_get(c, value, bytes);
}

void forward_refused(const char *symbol)
{
	forward_tell(&blas_library, symbol);
}

/* A new handle of the worker's library; `call` makes it. */
cublasStatus_t forward_create(void **handle, enum blas_kind kind, enum cublas_call call)
{
	struct blas_handle *h = calloc(1, sizeof(*h));
	struct forward_call c;
	uint64_t id = 0;
	int64_t version = 0;
	void *made = NULL;
	bool done = false;

	if (!h)
		return CUBLAS_STATUS_ALLOC_FAILED;
	h->kind = kind;
	forward_context();
	if (forward_open(&c, &blas_library) && c.client->use_current(&c.call))
		made = c.client->mint(&c.call, KIND_FORWARDED, NULL, &id);
	if (made && forward_start(&c, call, 0, true, 0)) {
		forward_put(&c, &id, sizeof(id));
		done = forward_send(&c);
		if (done)
			forward_get(&c, &version, sizeof(version));
	}
	if (!done) {
		if (made)
			c.client->drop(made);
		free(h);
		return (cublasStatus_t)forward_end(&c);
	}
	h->version = (int)(version & INT32_MAX);
	h->own = version & FORWARD_OWN;
	c.client->keep(made, h, free);
	*handle = made;
	return (cublasStatus_t)forward_end(&c);
}

cublasStatus_t forward_destroy(void *handle, enum cublas_call call)
{
	const struct forward_calls *f = forward_client();
	enum blas_kind kind = call == CUBLAS_CALL_cublasLtDestroy ? BLAS_LT_HANDLE : BLAS_HANDLE;
	struct blas_handle *h = blas_handle_find(handle, kind);
	struct forward_call c;

	if (h && h->kind != kind)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (h)
		forward_settle();
	if (!forward_begin(&c, handle, call, FORWARD_FORGET, 0))
		return (cublasStatus_t)forward_end(&c);
	forward_send(&c);
	f->drop(handle);
	return (cublasStatus_t)forward_end(&c);
}
