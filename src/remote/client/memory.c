/*
 * memory.c: device memory: plain, pitched, managed; stream-ordered memory is ordered.c. An allocation waits for its
 * answer, because only the worker knows addresses and what is left; a free does not. An address that is taken in this
 * process is not given out: another one is asked for while the first is held, and with it twice as much each time. A
 * driver gives out the lowest address that is free: so it comes past what is in the way, however large that is, as far
 * as the quota reaches.
 */
#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/memory.h"
#include "remote/client/pools.h"
#include "remote/client/thread.h"
#include "remote/client/unified.h"
#include "core/log.h"

#include <errno.h>

#define TRIES 48u

/*
 * Nobody waits for it, unless the program has host functions: then the device may be waiting for this process, and
 * a free that waits for the device must not keep the worker from what other threads ask for meanwhile.
 */
static CUresult free_now(struct session *s, uint64_t context, CUdeviceptr at)
{
	struct client_call c;

	client_call(&c, CUDA_CALL_cuMemFree_v2);
	c.session = s;
	c.context = context;
	if (client_begin(&c, __atomic_load_n(&s->link.host, __ATOMIC_ACQUIRE))) {
		remote_put(&c.out, &at, sizeof at);
		client_send(&c);
	}
	return client_end(&c);
}

CUdevice memory_device(const struct memory_want *w, const struct client_call *c, uint64_t current)
{
	CUdevice device = w->ordered ? pools_device(w->pool) : -1;

	if (device < 0 && w->ordered && c->context)
		device = context_device(c->context);
	return device < 0 ? context_device(current) : device;
}

static CUresult ask(const struct memory_want *w, struct range *ret, size_t *ret_pitch)
{
	struct context *context;
	struct client_call c;
	uint64_t ids[2] = { 0 };

	client_call(&c, w->call);
	if (w->ordered) {
		ids[0] = client_use(&c, KIND_MEMORY_POOL, w->pool);
		ids[1] = client_use_stream(&c, w->stream);
	}
	if (client_begin(&c, true)) {
		remote_put(&c.out, w->sent, w->count * sizeof *w->sent);
		if (w->ordered)
			remote_put(&c.out, ids, sizeof ids);
		client_send(&c);
	}
	if (c.result == CUDA_SUCCESS && w->ordered && captures_any())
		atomic_store_explicit(&c.session->graph_memory, 1, memory_order_relaxed);
	if (c.result == CUDA_SUCCESS) {
		remote_get(&c.in, &ret->begin, sizeof ret->begin);
		if (ret_pitch)
			remote_get(&c.in, ret_pitch, sizeof *ret_pitch);
		ret->session = c.session;
		ret->context = context_current(c.thread, &context) == CUDA_SUCCESS ? context->handle : 0;
		ret->device = memory_device(w, &c, ret->context);
	}
	return client_end(&c);
}

/* Twice as much as the last time: columns of it, where there are any. False: there is not as much, or it is too much.
 */
static bool get_more(struct memory_want *more, struct range *ret, size_t *ret_pitch)
{
	uint64_t *size = &more->sent[ret_pitch ? 1 : 0];

	return !__builtin_mul_overflow(*size, 2, size) && ask(more, ret, ret_pitch) == CUDA_SUCCESS;
}

CUresult memory_get(const struct memory_want *w, struct range *r, size_t *ret_pitch)
{
	struct memory_want more = *w;
	struct range held[TRIES];
	unsigned int count = 0;
	bool growing = true;
	CUresult e;
	int a = 0;

	for (;;) {
		e = ask(w, r, ret_pitch);
		if (e != CUDA_SUCCESS)
			break;
		if (ret_pitch)
			r->bytes = *ret_pitch * w->sent[1];
		a = ranges_add(r);
		if (!a)
			break;
		held[count++] = *r;
		if (a != -EEXIST || count + 1 >= TRIES)
			break;
		growing = growing && get_more(&more, &held[count], ret_pitch);
		count += growing;
	}
	if (e == CUDA_SUCCESS && a) {
		e = CUDA_ERROR_OUT_OF_MEMORY;
		log_line("the device has memory at addresses alone where this program has something itself; give it a "
			 "larger quota, or start it again");
	}
	while (count--)
		free_now(held[count].session, held[count].context, held[count].begin);
	return e;
}

CUresult memory_begin(bool good)
{
	CUcontext context;
	CUresult r = client_cuCtxGetCurrent(&context);
	CUdevice device;

	if (r == CUDA_SUCCESS)
		r = client_cuCtxGetDevice(&device);
	return r != CUDA_SUCCESS ? r : good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The same of calls that are not allowed while something is in capture. */
static CUresult begin_unsafe(bool good)
{
	CUresult r = memory_begin(true);

	if (r == CUDA_SUCCESS)
		r = captures_unsafe();
	return r != CUDA_SUCCESS ? r : good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult client_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	struct memory_want w = { .call = CUDA_CALL_cuMemAlloc_v2, .sent = { bytesize }, .count = 1 };
	struct range range = { .kind = RANGE_DEVICE, .bytes = bytesize };
	CUresult r = begin_unsafe(dptr && bytesize);

	if (r == CUDA_SUCCESS)
		r = memory_get(&w, &range, NULL);
	if (r == CUDA_SUCCESS)
		*dptr = range.begin;
	return r;
}

CUresult client_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
				   unsigned int ElementSizeBytes)
{
	struct memory_want w = { .call = CUDA_CALL_cuMemAllocPitch_v2,
				 .sent = { WidthInBytes, Height, ElementSizeBytes },
				 .count = 3 };
	struct range range = { .kind = RANGE_DEVICE };
	size_t pitch = 0;
	CUresult r = begin_unsafe(dptr && pPitch && WidthInBytes && Height &&
				  (ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16));

	if (r == CUDA_SUCCESS)
		r = memory_get(&w, &range, &pitch);
	if (r != CUDA_SUCCESS)
		return r;
	*dptr = range.begin;
	*pPitch = pitch;
	return r;
}

/* Memory of the device; the program has as much at the same address. */
CUresult client_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	bool good = dptr && bytesize && (flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
	struct memory_want w = { .call = CUDA_CALL_cuMemAlloc_v2, .sent = { bytesize }, .count = 1 };
	struct range range = { .kind = RANGE_DEVICE, .bytes = bytesize, .managed = true };
	CUresult r = begin_unsafe(good);

	if (r == CUDA_SUCCESS)
		r = memory_get(&w, &range, NULL);
	if (r != CUDA_SUCCESS)
		return r;
	r = unified_add(&(struct unified_place){ .session = range.session,
						 .context = range.context,
						 .host = range.begin,
						 .device = range.begin,
						 .bytes = bytesize });
	if (r == CUDA_SUCCESS)
		*dptr = range.begin;
	else
		client_cuMemFree_v2(range.begin);
	return r;
}

/* ---- whose it is: it lies on both sides already; advice about it: advice.c ---- */

static bool is_managed(CUdeviceptr at, size_t bytes)
{
	struct range r;

	return bytes && ranges_find(at, &r) && r.managed && ranges_cover(at, bytes, &r);
}

CUresult client_cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags)
{
	bool one = flags == CU_MEM_ATTACH_SINGLE && hStream && hStream != CU_STREAM_LEGACY;

	return is_managed(dptr, 1) && (one || flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST)
		       ? CUDA_SUCCESS
		       : client_plain_cuStreamAttachMemAsync(hStream, dptr, length, flags);
}

/* What is not known here may be memory of a graph: the worker judges, and is waited for. */
CUresult client_cuMemFree_v2(CUdeviceptr dptr)
{
	struct client_call c;
	struct range range;
	CUresult r = begin_unsafe(true);

	if (r != CUDA_SUCCESS || !dptr)
		return r;
	if (ranges_take(dptr, MEMORY_FREED, &range)) {
		if (range.managed)
			unified_remove(dptr);
		if (range.kind == RANGE_POOL)
			ordered_gone(&range);
		return free_now(range.session, range.context, dptr);
	}
	if (ranges_find(dptr, &range))
		return CUDA_ERROR_INVALID_VALUE;
	client_call(&c, CUDA_CALL_cuMemFree_v2);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &dptr, sizeof dptr);
		client_send(&c);
	}
	return client_end(&c);
}
