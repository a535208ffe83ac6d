/* globals.c: see globals.h. Variables of a library have an address per context. */
#include "remote/client/globals.h"

#include "remote/client/context.h"
#include "remote/client/ranges.h"
#include "remote/client/thread.h"
#include "remote/client/twins.h"
#include "remote/client/unified.h"

#include "cuda_remote.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct global {
	struct global *next;
	uint64_t context; /* id; 0: a module's */
	uint64_t address, bytes;
	bool managed;
	char name[];
};

void globals_free(struct global *g)
{
	while (g) {
		struct global *next = g->next;

		free(g);
		g = next;
	}
}

void globals_each(const struct code *code, void (*fn)(void *arg, const struct global_known *known), void *arg)
{
	for (const struct global *g = atomic_load_explicit(&code->globals, memory_order_acquire); g; g = g->next)
		fn(arg, &(struct global_known){
				.context = g->context, .address = g->address, .bytes = g->bytes, .name = g->name });
}

static const struct global *find(struct code *code, uint64_t context, bool managed, const char *name)
{
	struct global *g = atomic_load_explicit(&code->globals, memory_order_acquire); /* add() */

	while (g && (g->context != context || g->managed != managed || strcmp(g->name, name)))
		g = g->next;
	return g;
}

static void add(struct code *code, uint64_t context, bool managed, const char *name, const struct code_global *found)
{
	size_t bytes = strlen(name) + 1;
	struct global *g = malloc(sizeof(*g) + bytes);

	if (!g)
		return; /* it is asked for again */
	*g = (struct global){
		.context = context, .address = found->address, .bytes = found->bytes, .managed = managed
	};
	memcpy(g->name, name, bytes);
	pthread_mutex_lock(&code->lock);
	g->next = atomic_load_explicit(&code->globals, memory_order_relaxed);
	atomic_store_explicit(&code->globals, g, memory_order_release); /* find() */
	pthread_mutex_unlock(&code->lock);
}

static void ask(struct client_call *c, struct code *code, bool managed, const char *name, struct code_global *ret)
{
	struct code_ask what = { .owner = code->id, .itself = managed };

	client_request(c, CALL_CODE_GLOBAL);
	c->session = code->session;
	if (!client_begin_room(c, true, sizeof(what) + 16 + CODE_NAME_MOST))
		return;
	remote_put(&c->out, &what, sizeof(what));
	remote_put_string(&c->out, name);
	client_send(c);
	if (c->result == CUDA_SUCCESS)
		remote_get(&c->in, ret, offsetof(struct code_global, managed));
	if (c->result == CUDA_SUCCESS && c->in.used + sizeof(ret->managed) <= c->in.size)
		remote_get(&c->in, &ret->managed, sizeof(ret->managed));
	if (c->result == CUDA_SUCCESS && c->in.bad)
		c->result = CLIENT_LOST;
}

/* Where it lies becomes known to copies and to queries about pointers. */
static void note(struct code *code, const struct context *context, const struct code_global *found)
{
	struct range range = { .begin = found->address,
			       .bytes = found->bytes,
			       .kind = RANGE_VARIABLE,
			       .session = code->session,
			       .managed = found->managed,
			       .owner = (uint64_t)(uintptr_t)code->handle };

	if (!found->bytes || (!context && context_current(thread_get(), (struct context **)&context) != CUDA_SUCCESS))
		return;
	range.context = context->handle;
	range.device = context->device;
	ranges_add(&range);
}

/* A variable that the program's own instructions reach. */
static void share(struct code *code, const struct code_global *found)
{
	struct context *context;
	struct range r;

	if (context_current(thread_get(), &context) != CUDA_SUCCESS || !ranges_find(found->address, &r) || !r.managed)
		return;
	/* Another variable may be there already, and behind that one something of the program's. */
	if (found->bytes > r.bytes - (found->address - r.begin))
		return;
	unified_add(&(struct unified_place){ .session = code->session,
					     .context = context->handle,
					     .owner = (uint64_t)(uintptr_t)code->handle,
					     .host = found->address,
					     .device = found->address,
					     .bytes = found->bytes,
					     .start = UNIFIED_FROM_DEVICE });
}

/* A module's variable (kind KIND_MODULE), or a library's in the current context. */
static CUresult global_of(CUdeviceptr *dptr, size_t *bytes, enum remote_kind kind, const void *handle, bool managed,
			  const char *name)
{
	LOOKING;
	struct client_call c, asking;
	struct context *context = NULL;
	struct code_global found = { 0 };
	const struct global *g;
	struct code *code;
	uint64_t id = 0;

	client_call(&c, kind == KIND_MODULE ? CUDA_CALL_cuModuleGetGlobal_v2 : CUDA_CALL_cuLibraryGetGlobal);
	if (kind == KIND_LIBRARY && c.result == CUDA_SUCCESS)
		c.result = context_current(c.thread, &context);
	code = code_use(&c, kind, kind == KIND_LIBRARY ? twin_here(&c, handle) : handle);
	if (code && (!name || (kind == KIND_MODULE && (!name[0] || (!dptr && !bytes)))))
		c.result = CUDA_ERROR_INVALID_VALUE;
	else if (code && strlen(name) >= CODE_NAME_MOST - 1)
		c.result = CUDA_ERROR_NOT_FOUND;
	if (client_end(&c) != CUDA_SUCCESS)
		return c.result;
	if (context)
		id = context->id;
	g = find(code, id, managed, name);
	if (!g) {
		ask(&asking, code, managed, name, &found);
		if (client_end(&asking) != CUDA_SUCCESS)
			return asking.result;
		add(code, id, managed, name, &found);
		found.managed |= managed;
		note(code, context, &found);
		if (found.managed && found.bytes)
			share(code, &found);
	} else {
		found = (struct code_global){ .address = g->address, .bytes = g->bytes };
	}
	if (dptr)
		*dptr = found.address;
	if (bytes)
		*bytes = found.bytes;
	return CUDA_SUCCESS;
}

CUresult client_cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
	return global_of(dptr, bytes, KIND_MODULE, hmod, false, name);
}

CUresult client_cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
	return global_of(dptr, bytes, KIND_LIBRARY, library, false, name);
}

CUresult client_cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
	return global_of(dptr, bytes, KIND_LIBRARY, library, true, name);
}
