/* client.c: a forwarded call on its way; see blas.h. */
#include "remote/blas/blas.h"
#include "cuda_remote.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

static const struct forward_calls nobody;

static const struct forward_calls *find_client(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	const struct forward_calls *found = library ? dlsym(library, FORWARD_SYMBOL) : NULL;

	if (!found || found->size != sizeof(*found) || found->fingerprint != CUDA_REMOTE_FINGERPRINT)
		return &nobody;
	return found;
}

/* Threads that look for it at the same time find the same. */
const struct forward_calls *forward_client(void)
{
	static _Atomic(const struct forward_calls *) client;
	const struct forward_calls *found = atomic_load_explicit(&client, memory_order_acquire);

	if (!found) {
		found = find_client();
		atomic_store_explicit(&client, found, memory_order_release); /* pairs with the load above */
	}
	return found == &nobody ? NULL : found;
}

struct blas_handle *blas_handle_find(const void *handle, enum blas_kind kind)
{
	const struct forward_calls *f = forward_client();
	struct blas_handle *h = f && handle ? f->kept(KIND_FORWARDED, handle) : NULL;

	/* NVIDIA allows it, and programs rely on it */
	return h && (h->kind == kind || kind == BLAS_LT_HANDLE) ? h : NULL;
}

bool forward_open(struct forward_call *c, enum cublas_call call)
{
	*c = (struct forward_call){ .client = forward_client(), .status = CUBLAS_STATUS_NOT_INITIALIZED };
	if (!c->client)
		return false;
	c->client->request(&c->call, FORWARD_BLAS);
	c->status = CUBLAS_STATUS_SUCCESS;
	return c->call.result == CUDA_SUCCESS;
}

bool forward_begin(struct forward_call *c, const void *handle, enum cublas_call call, enum forward_wait wait,
		   size_t bytes)
{
	enum blas_kind kind = strncmp(cublas_call_name[call], "cublasLt", 8) ? BLAS_HANDLE : BLAS_LT_HANDLE;
	uint64_t id, number = call;
	bool waits;

	if (!forward_open(c, call))
		return false;
	c->handle = blas_handle_find(handle, kind);
	if (!c->handle) {
		c->status = CUBLAS_STATUS_NOT_INITIALIZED;
		return false;
	}
	id = c->client->use(&c->call, KIND_FORWARDED, handle);
	waits = wait == FORWARD_WAITS || (wait == FORWARD_HOST && c->handle->pointer_mode == CUBLAS_POINTER_MODE_HOST);
	if (!c->client->begin_room(&c->call, waits, CLIENT_ROOM + bytes))
		return false;
	remote_put(&c->call.out, &number, sizeof(number));
	remote_put(&c->call.out, &id, sizeof(id));
	return true;
}

bool forward_send(struct forward_call *c)
{
	c->client->send(&c->call);
	return c->call.result == CUDA_SUCCESS && c->call.waits;
}

/* What the client itself found wrong, in cuBLAS's words. */
static cublasStatus_t status_of(CUresult result)
{
	switch (result) {
	case CUDA_SUCCESS:
		return CUBLAS_STATUS_SUCCESS;
	case CUDA_ERROR_INVALID_VALUE:
		return CUBLAS_STATUS_INVALID_VALUE;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return CUBLAS_STATUS_ALLOC_FAILED;
	case CUDA_ERROR_NOT_SUPPORTED:
		return CUBLAS_STATUS_NOT_SUPPORTED;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_INVALID_HANDLE:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return CUBLAS_STATUS_NOT_INITIALIZED;
	default:
		return CUBLAS_STATUS_EXECUTION_FAILED;
	}
}

cublasStatus_t forward_end(struct forward_call *c)
{
	CUresult result;

	if (!c->client)
		return c->status;
	if (c->call.in.bad)
		c->status = CUBLAS_STATUS_INTERNAL_ERROR;
	result = c->client->end(&c->call);
	if (c->status != CUBLAS_STATUS_SUCCESS)
		return c->status;
	return (unsigned int)result > FORWARD_STATUS ? (cublasStatus_t)((unsigned int)result - FORWARD_STATUS)
						     : status_of(result);
}

void forward_put(struct forward_call *c, const void *value, size_t bytes)
{
	remote_put(&c->call.out, value, bytes);
}

void forward_put_address(struct forward_call *c, const void *address)
{
	uint64_t at = (uintptr_t)address;

	remote_put(&c->call.out, &at, sizeof(at));
}

void forward_put_stream(struct forward_call *c, cudaStream_t stream)
{
	uint64_t id = c->client->use_stream(&c->call, (CUstream)stream);

	remote_put(&c->call.out, &id, sizeof(id));
}

void forward_put_scalar(struct forward_call *c, const void *value, size_t bytes, unsigned int direction)
{
	uint64_t place = c->handle->pointer_mode == CUBLAS_POINTER_MODE_HOST ? FORWARD_IN_HOST : FORWARD_IN_DEVICE;

	if (!bytes)
		c->status = CUBLAS_STATUS_NOT_SUPPORTED;
	forward_put(c, &place, sizeof(place));
	if (place == FORWARD_IN_DEVICE)
		forward_put_address(c, value);
	else if (direction & FORWARD_IN)
		forward_put(c, value, bytes);
}

void forward_get(struct forward_call *c, void *value, size_t bytes)
{
	const void *at = remote_take(&c->call.in, bytes);

	if (at)
		memcpy(value, at, bytes);
}

void forward_get_scalar(struct forward_call *c, void *value, size_t bytes)
{
	if (c->handle->pointer_mode == CUBLAS_POINTER_MODE_HOST)
		forward_get(c, value, bytes);
}

void forward_refused(const char *symbol)
{
	static _Atomic(const char *) told[32];
	const struct forward_calls *f = forward_client();

	if (!f)
		return;
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		const char *none = NULL;

		if (atomic_compare_exchange_strong(&told[i], &none, symbol)) {
			f->log("%s: not forwarded on the way to a remote device; the program gets "
			       "CUBLAS_STATUS_NOT_SUPPORTED",
			       symbol);
			return;
		}
		if (none == symbol)
			return;
	}
}

/* A program may begin with cuBLAS, which then takes the first device's primary context, as the runtime does. */
static void context_begin(const struct forward_calls *f)
{
	CUcontext context = NULL;

	if (!f || f->cuda->cuInit(0) || f->cuda->cuCtxGetCurrent(&context) || context)
		return;
	if (!f->cuda->cuDevicePrimaryCtxRetain(&context, 0))
		f->cuda->cuCtxSetCurrent(context);
}

/* A new handle of the worker's library; `call` makes it. */
cublasStatus_t forward_create(void **handle, enum blas_kind kind, enum cublas_call call)
{
	struct blas_handle *h = calloc(1, sizeof(*h));
	struct forward_call c;
	uint64_t id = 0, number = call, none = 0;
	int64_t version = 0;
	void *made = NULL;
	bool done = false;

	if (!h)
		return CUBLAS_STATUS_ALLOC_FAILED;
	h->kind = kind;
	context_begin(forward_client());
	if (forward_open(&c, call) && c.client->use_current(&c.call))
		made = c.client->mint(&c.call, KIND_FORWARDED, NULL, &id);
	if (made && c.client->begin(&c.call, true)) {
		forward_put(&c, &number, sizeof(number));
		forward_put(&c, &none, sizeof(none));
		forward_put(&c, &id, sizeof(id));
		done = forward_send(&c);
		if (done)
			forward_get(&c, &version, sizeof(version));
	}
	if (!done) {
		if (made)
			c.client->drop(made);
		free(h);
		return forward_end(&c);
	}
	h->version = (int)version;
	c.client->keep(made, h, free);
	*handle = made;
	return forward_end(&c);
}

cublasStatus_t forward_destroy(void *handle, enum cublas_call call)
{
	const struct forward_calls *f = forward_client();
	enum blas_kind kind = call == CUBLAS_CALL_cublasLtDestroy ? BLAS_LT_HANDLE : BLAS_HANDLE;
	struct blas_handle *h = blas_handle_find(handle, kind);
	struct forward_call c;

	if (h && h->kind != kind)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!forward_begin(&c, handle, call, FORWARD_FORGET, 0))
		return forward_end(&c);
	forward_send(&c);
	f->drop(handle);
	return forward_end(&c);
}
