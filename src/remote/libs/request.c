/* request.c: see request.h. */
#include "remote/libs/request.h"

#include "cuda_remote.h"

#include <dlfcn.h>
#include <stdatomic.h>

static const struct forward_calls nobody;

static const struct forward_calls *find_client(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
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

void forward_context(void)
{
	const struct forward_calls *f = forward_client();
	CUcontext context = NULL;

	if (!f || f->cuda->cuInit(0) || f->cuda->cuCtxGetCurrent(&context) || context)
		return;
	if (!f->cuda->cuDevicePrimaryCtxRetain(&context, 0))
		f->cuda->cuCtxSetCurrent(context);
}

void forward_settle(void)
{
	const struct forward_calls *f = forward_client();

	if (f)
		f->settle();
}

bool forward_open(struct forward_call *c, const struct forward_library *library)
{
	*c = (struct forward_call){ .library = library,
				    .client = forward_client(),
				    .status = library->status.not_initialized };
	if (!c->client)
		return false;
	c->client->request(&c->call, library->number);
	c->status = 0;
	return c->call.result == CUDA_SUCCESS;
}

static bool head(struct forward_call *c, uint64_t call, uint64_t id)
{
	remote_put(&c->call.out, &call, sizeof(call));
	remote_put(&c->call.out, &id, sizeof(id));
	return true;
}

bool forward_start(struct forward_call *c, uint64_t call, uint64_t id, bool waits, size_t bytes)
{
	return c->client->begin_room(&c->call, waits, CLIENT_ROOM + bytes) && head(c, call, id);
}

bool forward_start_memo(struct forward_call *c, uint64_t call, uint64_t id)
{
	return c->client->begin_memo(&c->call) && head(c, call, id);
}

bool forward_send(struct forward_call *c)
{
	c->client->send(&c->call);
	return c->call.result == CUDA_SUCCESS && c->call.waits;
}

/* What the client itself found wrong, in the library's words. */
static int status_of(const struct forward_statuses *s, CUresult result)
{
	switch (result) {
	case CUDA_SUCCESS:
		return 0;
	case CUDA_ERROR_INVALID_VALUE:
		return s->invalid;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return s->alloc_failed;
	case CUDA_ERROR_NOT_SUPPORTED:
		return s->not_supported;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_INVALID_HANDLE:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return s->not_initialized;
	default:
		return s->failed;
	}
}

int forward_end(struct forward_call *c)
{
	CUresult result;

	if (!c->client)
		return c->status;
	if (c->call.in.bad)
		c->status = c->library->status.internal;
	result = c->client->end(&c->call);
	if (c->status)
		return c->status;
	return (unsigned int)result > FORWARD_STATUS ? (int)((unsigned int)result - FORWARD_STATUS)
						     : status_of(&c->library->status, result);
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

void forward_put_stream(struct forward_call *c, CUstream stream)
{
	bool good = c->call.result == CUDA_SUCCESS;
	uint64_t id = c->client->use_stream(&c->call, stream);

	/* another server's is no handle of this one, but a stream of another device all the same */
	good = good && (c->call.result == CUDA_SUCCESS || c->call.result == CUDA_ERROR_INVALID_HANDLE);
	if (good && !c->client->stream_is_near(&c->call, stream))
		c->call.result = CUDA_ERROR_INVALID_DEVICE;
	remote_put(&c->call.out, &id, sizeof(id));
}

void forward_put_placed(struct forward_call *c, const void *value, size_t bytes, unsigned int direction, bool here)
{
	uint64_t place = here ? FORWARD_IN_HOST : FORWARD_IN_DEVICE;

	if (!bytes)
		c->status = c->library->status.not_supported;
	forward_put(c, &place, sizeof(place));
	if (!here)
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

/* True once for each symbol, as long as there is room. */
static bool untold(const char *symbol)
{
	static _Atomic(const char *) told[32];

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		const char *none = NULL;

		if (atomic_compare_exchange_strong(&told[i], &none, symbol))
			return true;
		if (none == symbol)
			return false;
	}
	return false;
}

void forward_tell(const struct forward_library *library, const char *symbol)
{
	const struct forward_calls *f = forward_client();

	if (f && untold(symbol))
		f->log("%s: not forwarded on the way to a remote device; the program gets %s", symbol,
		       library->refused);
}

void forward_tell_own(const struct forward_library *library, const char *symbol)
{
	const struct forward_calls *f = forward_client();

	if (f && untold(symbol))
		f->log("%s: not supported by the software device's %s (docs/libraries.md lists what is)", symbol,
		       library->title);
}
