/*
 * ordered.c: stream-ordered memory. What a loop frees and asks for again stays here meanwhile: parked.h. That is for
 * streams whose order this process knows, while none of its streams is in capture and no error is on its way.
 */
#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/memory.h"
#include "remote/client/parked.h"
#include "remote/client/start.h"
#include "remote/client/thread.h"

static bool may_park(const struct session *s, uint64_t stream)
{
	return stream != ID_STREAM_PER_THREAD && !captures_any() && !start_waits &&
	       !atomic_load_explicit(&s->faulted, memory_order_relaxed) && !link_lost(&s->link);
}

static struct reuse_kind kind_of(const struct range *r, uint64_t stream)
{
	return (struct reuse_kind){ .device = (uint64_t)r->device,
				    .pool = r->owner,
				    .context = r->context,
				    .stream = stream,
				    .bytes = r->bytes };
}

/* What a request of this thread for `range` will be of. False: it is none for parked.h, or a wrong one. */
static bool kind_wanted(const struct memory_want *w, struct range *range, struct reuse_kind *ret)
{
	struct context *context;
	struct client_call c;
	uint64_t stream;
	bool good;

	client_call(&c, w->call);
	client_use(&c, KIND_MEMORY_POOL, w->pool);
	stream = client_use_stream(&c, w->stream);
	good = c.result == CUDA_SUCCESS && context_current(c.thread, &context) == CUDA_SUCCESS &&
	       (!c.session || c.session == context->session) && may_park(context->session, stream);
	if (good) {
		range->session = context->session;
		range->context = context->handle;
		range->device = memory_device(w, &c, context->handle);
		*ret = kind_of(range, stream);
	}
	client_end(&c);
	return good;
}

/* What the program has freed in this stream before. */
static bool take(const struct reuse_kind *kind, struct range *range)
{
	range->begin = parked_take(kind);
	if (!range->begin || !ranges_add(range))
		return range->begin;
	parked_drop(kind, range->begin); /* the place was taken meanwhile */
	return false;
}

static CUresult get(const struct memory_want *w, const struct reuse_kind *kind, struct range *range)
{
	struct parked_asking *asking = parked_ask(kind);
	CUresult r = memory_get(w, range, NULL);

	parked_asked(asking, kind, r == CUDA_SUCCESS);
	return r;
}

static CUresult alloc_ordered(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream stream)
{
	struct memory_want w = { .call = CUDA_CALL_cuMemAllocFromPoolAsync,
				 .sent = { bytesize },
				 .count = 1,
				 .stream = stream,
				 .pool = pool,
				 .ordered = true };
	struct range range = { .kind = RANGE_POOL, .bytes = bytesize };
	CUresult r = memory_begin(dptr && bytesize);
	struct reuse_kind kind;
	bool known;

	range.owner = (uint64_t)(uintptr_t)pool;
	if (r != CUDA_SUCCESS)
		return r;
	known = kind_wanted(&w, &range, &kind);
	if (!known || !take(&kind, &range)) {
		r = known ? get(&w, &kind, &range) : memory_get(&w, &range, NULL);
		if (r == CUDA_ERROR_OUT_OF_MEMORY && parked_let_go())
			r = memory_get(&w, &range, NULL);
	}
	if (r == CUDA_SUCCESS)
		*dptr = range.begin;
	return r;
}

CUresult client_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	return alloc_ordered(dptr, bytesize, NULL, hStream);
}

CUresult client_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
	CUresult r = memory_begin(pool);

	return r == CUDA_SUCCESS ? alloc_ordered(dptr, bytesize, pool, hStream) : r;
}

void ordered_gone(const struct range *range)
{
	struct reuse_kind kind = kind_of(range, 0);

	parked_gone(&kind);
}

/* It may stay here, in the context in which the program got it. */
static bool park(const struct client_call *c, const struct range *range, uint64_t stream)
{
	struct reuse_kind kind = kind_of(range, stream);
	struct context *context;

	if (range->kind != RANGE_POOL)
		return false;
	if (c->session == range->session && may_park(range->session, stream) &&
	    context_current(c->thread, &context) == CUDA_SUCCESS && context->handle == range->context)
		return parked_put(&kind, range->begin);
	parked_gone(&kind);
	return false;
}

CUresult client_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	struct client_call c;
	struct range range;
	uint64_t stream;
	bool known;
	CUresult r = memory_begin(dptr);

	if (r != CUDA_SUCCESS)
		return r;
	client_call(&c, CUDA_CALL_cuMemFreeAsync);
	stream = client_use_stream(&c, hStream);
	if (c.result != CUDA_SUCCESS)
		return client_end(&c);
	known = ranges_take(dptr, MEMORY_FREED, &range);
	if (known && !c.session) {
		c.session = range.session;
		c.context = range.context;
	}
	if (!known)
		parked_doubt(dptr);
	else if (park(&c, &range, stream))
		return client_end(&c);
	if (client_begin(&c, !known)) {
		remote_put(&c.out, &dptr, sizeof dptr);
		remote_put(&c.out, &stream, sizeof stream);
		client_send(&c);
	}
	return client_end(&c);
}
