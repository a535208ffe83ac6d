/* pinned.c: see pinned.h. */
#include "remote/client/pinned.h"

#include "cuda_remote.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/unified.h"
#include "remote/copy.h"

#include <errno.h>
#include <string.h>

#define PAGE UINT64_C(4096)
#define ALLOC_FLAGS (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)
#define REGISTER_FLAGS                                                                                                 \
	(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY |                    \
	 CU_MEMHOSTREGISTER_READ_ONLY)

static uint64_t offset_of(const struct range *r)
{
	return r->begin - (uint64_t)(uintptr_t)r->session->link.wall.arena;
}

static CUresult pin(struct client_call *c, uint64_t offset, uint64_t bytes, uint64_t *ret_device)
{
	struct pin_request r = { offset, bytes };

	if (client_begin(c, true)) {
		remote_put(&c->out, &r, sizeof r);
		client_send(c);
		if (c->result == CUDA_SUCCESS)
			remote_get(&c->in, ret_device, sizeof *ret_device);
	}
	return client_end(c);
}

static void unpin(struct session *s, uint64_t offset, uint64_t bytes)
{
	struct pin_request r = { offset, bytes };
	struct client_call c;

	client_request(&c, CALL_UNPIN);
	c.session = s;
	if (client_begin(&c, true)) {
		remote_put(&c.out, &r, sizeof r);
		client_send(&c);
	}
	client_end(&c);
	arena_heap_give(&s->arena, offset);
}

/* Known at its address here and, where that is another one, at the worker's. */
static int remember(const struct range *r)
{
	struct range alias = *r;
	int e = ranges_add(r);

	if (e || r->other == r->begin || !r->session->coherent)
		return e;
	alias.kind = RANGE_ALIAS;
	alias.begin = r->other;
	alias.other = r->begin;
	e = ranges_add(&alias);
	if (e)
		ranges_take(r->begin, 1u << RANGE_HOST, &alias);
	return e;
}

/*
 * Of memory that is in another machine than its device, and of the program's own, each side has its own copy: they are
 * made equal where the two may meet. Known by its address there from now on.
 */
static CUresult share(const struct range *r)
{
	struct range alias;
	CUresult e;

	if (unified_has(r->begin))
		return CUDA_SUCCESS;
	alias = *r;
	alias.kind = RANGE_ALIAS;
	alias.begin = r->other;
	alias.other = r->begin;
	if (r->other != r->begin && ranges_add(&alias))
		return CUDA_ERROR_NOT_SUPPORTED;
	e = unified_add(&(struct unified_place){ .session = r->session,
						 .context = r->context,
						 .host = r->begin,
						 .device = r->other,
						 .bytes = r->bytes,
						 .copy = r->kind == RANGE_HOST ? offset_of(r) : r->copy,
						 .start = UNIFIED_FROM_HOST });
	if (e != CUDA_SUCCESS && r->other != r->begin)
		ranges_take(r->other, 1u << RANGE_ALIAS, &alias);
	return e;
}

static CUresult host_alloc(void **ret, size_t bytes, unsigned int flags)
{
	struct context *context = NULL;
	uint64_t offset, device = 0, rounded = 0;
	struct client_call c;
	struct range r;

	client_request(&c, CALL_PIN);
	if (c.result == CUDA_SUCCESS)
		c.result = context_current(c.thread, &context);
	if (c.result == CUDA_SUCCESS)
		c.result = captures_unsafe();
	if (c.result == CUDA_SUCCESS &&
	    (!ret || !bytes || flags & ~(unsigned int)ALLOC_FLAGS || __builtin_add_overflow(bytes, PAGE - 1, &rounded)))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result != CUDA_SUCCESS)
		return client_end(&c);
	rounded -= rounded % PAGE;
	if (arena_heap_take(&context->session->arena, rounded, &offset) < 0) {
		c.result = CUDA_ERROR_OUT_OF_MEMORY;
		return client_end(&c);
	}
	c.session = context->session;
	if (pin(&c, offset, rounded, &device) != CUDA_SUCCESS) {
		arena_heap_give(&context->session->arena, offset);
		return c.result;
	}
	r = (struct range){ .begin = (uint64_t)(uintptr_t)context->session->link.wall.arena + offset,
			    .bytes = bytes,
			    .kind = RANGE_HOST,
			    .session = context->session,
			    .context = context->handle,
			    .device = context->device,
			    .flags = flags,
			    .other = device };
	if (remember(&r)) {
		unpin(context->session, offset, rounded);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	/* What is asked for so is for kernels; other pinned memory when its device address is asked for. */
	if (flags & CU_MEMHOSTALLOC_DEVICEMAP && !r.session->coherent)
		share(&r);
	*ret = (void *)(uintptr_t)r.begin;
	return CUDA_SUCCESS;
}

CUresult client_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
	return host_alloc(pp, bytesize, Flags);
}

CUresult client_cuMemAllocHost_v2(void **pp, size_t bytesize)
{
	return host_alloc(pp, bytesize, 0);
}

static uint64_t pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void forget_alias(const struct range *r)
{
	struct range alias;

	if (r->other != r->begin)
		ranges_take(r->other, 1u << RANGE_ALIAS, &alias);
	unified_remove(r->begin);
}

CUresult client_cuMemFreeHost(void *p)
{
	struct context *context;
	struct client_call c;
	struct range r;

	client_call(&c, CUDA_CALL_cuMemFreeHost);
	if (c.result == CUDA_SUCCESS)
		c.result = context_current(c.thread, &context);
	if (c.result == CUDA_SUCCESS)
		c.result = context_sound();
	if (c.result == CUDA_SUCCESS)
		c.result = captures_unsafe();
	if (c.result != CUDA_SUCCESS)
		return client_end(&c);
	if (!ranges_take((uint64_t)(uintptr_t)p, 1u << RANGE_HOST, &r))
		return CUDA_ERROR_INVALID_VALUE;
	forget_alias(&r);
	unpin(r.session, offset_of(&r), pages(r.bytes));
	return CUDA_SUCCESS;
}

/* The driver has let go of it. */
void pinned_gone(const struct range *range)
{
	if (range->kind != RANGE_HOST)
		return;
	arena_heap_give(&range->session->arena, offset_of(range));
}

/* ---- the program's own ---- */

/* The device's own copy of it, in the arena; `other` becomes its address there. */
static CUresult registered_share(struct range *r)
{
	uint64_t offset, device = 0;
	struct client_call c;
	struct range old;
	CUresult e;

	if (r->other != r->begin)
		return CUDA_SUCCESS;
	if (arena_heap_take(&r->session->arena, pages(r->bytes), &offset) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	client_request(&c, CALL_PIN);
	c.session = r->session;
	e = pin(&c, offset, pages(r->bytes), &device);
	if (e != CUDA_SUCCESS) {
		arena_heap_give(&r->session->arena, offset);
		return e;
	}
	r->other = device;
	r->copy = offset;
	e = share(r);
	if (e == CUDA_SUCCESS && ranges_take(r->begin, 1u << RANGE_REGISTERED, &old) && !ranges_add(r))
		return CUDA_SUCCESS;
	forget_alias(r);
	unpin(r->session, offset, pages(r->bytes));
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult client_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
	uint64_t begin = (uint64_t)(uintptr_t)p;
	struct context *context;
	struct client_call c;
	struct range r;
	int e;

	client_call(&c, CUDA_CALL_cuMemHostRegister_v2);
	if (c.result == CUDA_SUCCESS)
		c.result = context_current(c.thread, &context);
	if (c.result == CUDA_SUCCESS)
		c.result = context_sound();
	if (c.result != CUDA_SUCCESS)
		return client_end(&c);
	if (!p || !bytesize || begin + bytesize < begin || Flags & ~(unsigned int)REGISTER_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	if (Flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return CUDA_ERROR_NOT_SUPPORTED;
	r = (struct range){ .begin = begin,
			    .bytes = bytesize,
			    .kind = RANGE_REGISTERED,
			    .session = context->session,
			    .context = context->handle,
			    .device = context->device,
			    .flags = Flags,
			    .other = begin };
	e = ranges_add(&r);
	if (!e && Flags & CU_MEMHOSTREGISTER_DEVICEMAP)
		registered_share(&r);
	return !e ? CUDA_SUCCESS : e == -EEXIST ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult client_cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
	return client_cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult client_cuMemHostUnregister(void *p)
{
	struct context *context;
	struct client_call c;
	struct range r;

	client_call(&c, CUDA_CALL_cuMemHostUnregister);
	if (c.result == CUDA_SUCCESS)
		c.result = context_current(c.thread, &context);
	if (c.result == CUDA_SUCCESS)
		c.result = context_sound();
	if (c.result != CUDA_SUCCESS)
		return client_end(&c);
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ranges_take((uint64_t)(uintptr_t)p, 1u << RANGE_REGISTERED, &r))
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	if (r.other != r.begin) {
		forget_alias(&r);
		unpin(r.session, r.copy, pages(r.bytes));
	}
	return CUDA_SUCCESS;
}

/* ---- asked ---- */

static bool host_find(const void *p, struct range *ret)
{
	return ranges_find((uint64_t)(uintptr_t)p, ret) && (ret->kind == RANGE_HOST || ret->kind == RANGE_REGISTERED);
}

CUresult client_cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
	CUresult shared = CUDA_SUCCESS;
	struct context *context;
	struct client_call c;
	struct range r;

	client_call(&c, CUDA_CALL_cuMemHostGetDevicePointer_v2);
	if (c.result == CUDA_SUCCESS)
		c.result = context_current(c.thread, &context);
	if (c.result == CUDA_SUCCESS)
		c.result = context_sound();
	if (c.result != CUDA_SUCCESS)
		return client_end(&c);
	if (!pdptr || Flags || !host_find(p, &r))
		return CUDA_ERROR_INVALID_VALUE;
	if (r.kind == RANGE_REGISTERED)
		shared = registered_share(&r);
	else if (!r.session->coherent)
		shared = share(&r);
	if (shared != CUDA_SUCCESS)
		return shared == CLIENT_LOST ? shared : CUDA_ERROR_OUT_OF_MEMORY;
	*pdptr = r.other + ((uint64_t)(uintptr_t)p - r.begin);
	return CUDA_SUCCESS;
}

CUresult pinned_passed(struct session *session, uint64_t address)
{
	const struct wall *wall = &session->link.wall;
	CUresult e;
	struct range r;

	if (session->coherent || address - (uint64_t)(uintptr_t)wall->arena >= wall->arena_bytes)
		return CUDA_SUCCESS;
	if (!ranges_find(address, &r) || r.kind != RANGE_HOST || r.session != session || r.other != r.begin)
		return CUDA_SUCCESS;
	e = share(&r);
	return e == CUDA_SUCCESS || e == CLIENT_LOST ? e : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult client_cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
	struct context *context;
	struct client_call c;
	struct range r;

	client_call(&c, CUDA_CALL_cuMemHostGetFlags);
	if (c.result == CUDA_SUCCESS)
		c.result = context_current(c.thread, &context);
	if (c.result == CUDA_SUCCESS)
		c.result = context_sound();
	if (c.result != CUDA_SUCCESS)
		return client_end(&c);
	if (!pFlags || !host_find(p, &r))
		return CUDA_ERROR_INVALID_VALUE;
	*pFlags = r.flags;
	return CUDA_SUCCESS;
}
