/*
 * vmm.c: reserved addresses, physical memory, mappings. The generated bodies speak with the worker; here the addresses
 * are kept in this process as well, and handles are counted: a handle that the driver gives out again is the same one.
 */
#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/context.h"
#include "remote/client/ranges.h"
#include "remote/client/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define TRIES 16u

/* Kept with the handle of physical memory. */
struct physical {
	_Atomic uint32_t references; /* the program's */
	bool known;		     /* prop is what it was made with */
	CUmemAllocationProp prop;
};

static void *handle_of(CUmemGenericAllocationHandle h)
{
	return (void *)(uintptr_t)h;
}

/* Where a request without a handle goes: to the owner of the address, else to the current context's worker. */
static void use_address(struct client_call *c, CUdeviceptr at)
{
	struct range r;

	if (c->result != CUDA_SUCCESS || c->session || !ranges_find_reserved(at, &r))
		return;
	c->session = r.session;
	c->context = r.context;
}

/* ---- addresses ---- */

CUresult client_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
				    unsigned long long flags)
{
	CUdeviceptr held[TRIES], at = 0;
	unsigned int count = 0;
	struct client_call c;
	CUresult e;
	int a = 0;

	client_call(&c, CUDA_CALL_cuMemAddressReserve);
	e = client_end(&c);
	if (e == CUDA_SUCCESS && !ptr)
		e = CUDA_ERROR_INVALID_VALUE;
	while (e == CUDA_SUCCESS && count < TRIES) {
		struct range r = { .kind = RANGE_RESERVED, .bytes = size };
		struct context *context;

		e = client_plain_cuMemAddressReserve(&at, size, alignment, count ? 0 : addr, flags);
		if (e != CUDA_SUCCESS)
			break;
		r.session = sessions[0];
		if (context_current(c.thread, &context) == CUDA_SUCCESS) {
			r.session = context->session;
			r.context = context->handle;
		}
		r.begin = at;
		a = ranges_add(&r);
		if (a != -EEXIST)
			break;
		held[count++] = at;
	}
	if (e == CUDA_SUCCESS && a) {
		if (a != -EEXIST)
			client_plain_cuMemAddressFree(at, size);
		e = CUDA_ERROR_OUT_OF_MEMORY;
	}
	while (count--)
		client_plain_cuMemAddressFree(held[count], size);
	if (e == CUDA_SUCCESS)
		*ptr = at;
	return e;
}

CUresult client_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	CUresult r = client_plain_cuMemAddressFree(ptr, size);
	struct range range;

	if (r == CUDA_SUCCESS)
		ranges_take(ptr, 1u << RANGE_RESERVED, &range);
	return r;
}

/* ---- mappings ---- */

CUresult client_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
			 unsigned long long flags)
{
	struct physical *p = client_kept(KIND_MEMORY_HANDLE, handle_of(handle));
	struct range reserved, r = { .begin = ptr, .bytes = size, .kind = RANGE_MAPPED, .owner = handle };
	CUresult e = client_plain_cuMemMap(ptr, size, offset, handle, flags);

	if (e != CUDA_SUCCESS || !ranges_find_reserved(ptr, &reserved))
		return e;
	r.session = reserved.session;
	r.context = reserved.context;
	r.device = p && p->known ? (CUdevice)p->prop.location.id : 0;
	ranges_add(&r);
	return e;
}

CUresult client_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	CUresult r = client_plain_cuMemUnmap(ptr, size);
	struct range range;
	CUdeviceptr at = ptr;

	while (r == CUDA_SUCCESS && at < ptr + size && ranges_take(at, 1u << RANGE_MAPPED, &range))
		at += range.bytes;
	return r;
}

CUresult client_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	CUresult r = client_plain_cuMemSetAccess(ptr, size, desc, count);

	if (r == CUDA_SUCCESS && desc && count)
		ranges_set_access(ptr, size, desc[0].flags);
	return r;
}

/* ---- physical memory ---- */

static struct physical *physical_new(const CUmemAllocationProp *prop)
{
	struct physical *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->references = 1;
	p->known = prop;
	if (prop)
		p->prop = *prop;
	return p;
}

/* Handles that other processes could open are not made: what is exported could not reach them. */
CUresult client_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
			    unsigned long long flags)
{
	CUmemAllocationProp own;
	struct physical *p;
	CUresult r;

	if (!prop)
		return client_plain_cuMemCreate(handle, size, prop, flags);
	own = *prop;
	if (own.requestedHandleTypes) {
		client_refused(CUDA_CALL_cuMemExportToShareableHandle);
		own.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	}
	own.win32HandleMetaData = NULL;
	p = physical_new(prop);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = client_plain_cuMemCreate(handle, size, &own, flags);
	if (r == CUDA_SUCCESS)
		client_keep(handle_of(*handle), p, free);
	else
		free(p);
	return r;
}

CUresult client_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	struct physical *p = client_kept(KIND_MEMORY_HANDLE, handle_of(handle));
	struct client_call c;

	client_call(&c, CUDA_CALL_cuMemGetAllocationPropertiesFromHandle);
	if (client_end(&c) != CUDA_SUCCESS)
		return c.result;
	if (!p || !prop || !p->known)
		return CUDA_ERROR_INVALID_VALUE;
	*prop = p->prop;
	return CUDA_SUCCESS;
}

CUresult client_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct physical *p = client_kept(KIND_MEMORY_HANDLE, handle_of(handle));
	struct client_call c;
	uint64_t sent[2] = { 0 }; /* the id; whether it was the program's last reference */

	client_call(&c, CUDA_CALL_cuMemRelease);
	if (c.result == CUDA_SUCCESS && !p)
		c.result = CUDA_ERROR_INVALID_VALUE;
	sent[0] = client_use(&c, KIND_MEMORY_HANDLE, handle_of(handle));
	if (c.result == CUDA_SUCCESS)
		sent[1] = atomic_fetch_sub(&p->references, 1) == 1;
	if (client_begin(&c, false)) {
		remote_put(&c.out, sent, sizeof sent);
		client_send(&c);
	}
	if (c.result == CUDA_SUCCESS && sent[1])
		client_drop(handle_of(handle));
	return client_end(&c);
}

CUresult client_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)addr;
	struct physical *p;
	struct client_call c;
	uint64_t id = 0;
	void *h = NULL;

	client_call(&c, CUDA_CALL_cuMemRetainAllocationHandle);
	if (c.result == CUDA_SUCCESS && !handle)
		c.result = CUDA_ERROR_INVALID_VALUE;
	use_address(&c, at);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &at, sizeof at);
		client_send(&c);
		if (c.result == CUDA_SUCCESS) {
			remote_get(&c.in, &id, sizeof id);
			h = client_meet(&c, KIND_MEMORY_HANDLE, NULL, id);
		}
	}
	if (c.result == CUDA_SUCCESS) {
		p = client_kept(KIND_MEMORY_HANDLE, h);
		if (p)
			atomic_fetch_add(&p->references, 1);
		else if ((p = physical_new(NULL)))
			client_keep(h, p, free);
		*handle = (CUmemGenericAllocationHandle)(uintptr_t)h;
	}
	return client_end(&c);
}
