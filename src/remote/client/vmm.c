/*
 * vmm.c: reserved addresses, physical memory, mappings. The generated bodies speak with the worker; here the addresses
 * are kept in this process as well, and handles are counted: a handle that the driver gives out again is the same one.
 * See vmm.h.
 */
#include "remote/client/vmm.h"
#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/context.h"
#include "remote/client/ranges.h"
#include "remote/client/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define TRIES 16u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all that follows, and the counts */
static struct physical *all;
/* Held while a handle gets its name from the worker, or loses it. */
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;

static void *handle_of(CUmemGenericAllocationHandle h)
{
	return (void *)(uintptr_t)h;
}

/* ---- what is known of physical memory ---- */

CUmemAllocationProp physical_asked(const struct physical *p)
{
	CUmemAllocationProp prop = p->prop;

	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	prop.win32HandleMetaData = NULL;
	return prop;
}

/* Neither a handle nor a mapping has it. */
static void drop_unused_locked(struct physical *p)
{
	if (p->references || p->mappings)
		return;
	for (struct physical **at = &all; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	free(p);
}

/* NULL: no allocation of ours. */
static struct physical *find_locked(CUmemGenericAllocationHandle handle)
{
	return client_kept(KIND_MEMORY_HANDLE, handle_of(handle));
}

static struct physical *map_begins(CUmemGenericAllocationHandle handle)
{
	struct physical *p;

	pthread_mutex_lock(&lock);
	p = find_locked(handle);
	if (p)
		p->mappings++;
	pthread_mutex_unlock(&lock);
	return p;
}

static void map_ends(struct physical *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&lock);
	p->mappings--;
	drop_unused_locked(p);
	pthread_mutex_unlock(&lock);
}

struct physical_seen *physical_all(const struct session *session, size_t *ret_count)
{
	struct physical_seen *list;
	size_t n = 0;

	pthread_mutex_lock(&lock);
	for (struct physical *p = all; p; p = p->next)
		n += p->session == session;
	list = calloc(n + 1, sizeof(*list));
	*ret_count = list ? n : 0;
	for (struct physical *p = all; list && p; p = p->next)
		if (p->session == session)
			list[--n] = (struct physical_seen){ p, p->bytes, p->prop.location.type };
	pthread_mutex_unlock(&lock);
	return list;
}

void physical_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = naming = unlocked;
	all = NULL;
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
	struct physical *p = map_begins(handle);
	struct range reserved, r = {
		.begin = ptr, .bytes = size, .kind = RANGE_MAPPED, .owner = (uint64_t)(uintptr_t)p, .copy = offset
	};
	CUresult e = client_plain_cuMemMap(ptr, size, offset, handle, flags);

	if (e == CUDA_SUCCESS && ranges_find_reserved(ptr, &reserved)) {
		r.session = reserved.session;
		r.context = reserved.context;
		r.device = p ? (CUdevice)p->prop.location.id : 0;
		if (!ranges_add(&r))
			return e;
	}
	map_ends(p);
	return e;
}

CUresult client_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	CUresult r = client_plain_cuMemUnmap(ptr, size);
	struct range range;
	CUdeviceptr at = ptr;

	while (r == CUDA_SUCCESS && at < ptr + size && ranges_take(at, 1u << RANGE_MAPPED, &range)) {
		map_ends((struct physical *)(uintptr_t)range.owner);
		at += range.bytes;
	}
	return r;
}

CUresult client_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	CUresult r = client_plain_cuMemSetAccess(ptr, size, desc, count);

	if (r == CUDA_SUCCESS && desc && count)
		ranges_set_access(ptr, size, desc[0].flags,
				  count > 1 || desc[0].location.type != CU_MEM_LOCATION_TYPE_DEVICE
					  ? CU_DEVICE_INVALID
					  : desc[0].location.id);
	return r;
}

/* ---- physical memory ---- */

static void add(struct physical *p)
{
	pthread_mutex_lock(&lock);
	p->session = sessions[handle_session(p->handle)];
	p->next = all;
	all = p;
	client_keep(handle_of(p->handle), p, NULL);
	pthread_mutex_unlock(&lock);
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
	if (prop->requestedHandleTypes)
		client_refused(CUDA_CALL_cuMemExportToShareableHandle);
	p = calloc(1, sizeof(*p));
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*p = (struct physical){ .references = 1, .bytes = size, .flags = flags, .prop = *prop };
	own = physical_asked(p);
	r = client_plain_cuMemCreate(handle, size, &own, flags);
	if (r != CUDA_SUCCESS) {
		free(p);
		return r;
	}
	p->handle = *handle;
	add(p);
	return r;
}

CUresult client_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	struct client_call c;
	struct physical *p;

	client_call(&c, CUDA_CALL_cuMemGetAllocationPropertiesFromHandle);
	if (client_end(&c) != CUDA_SUCCESS)
		return c.result;
	pthread_mutex_lock(&lock);
	p = find_locked(handle);
	if (p && prop)
		*prop = p->prop;
	pthread_mutex_unlock(&lock);
	return p && prop ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult physical_release(CUmemGenericAllocationHandle handle)
{
	uint64_t sent[2] = { 0, 1 }; /* the id; it is the last reference */
	struct client_call c;

	client_call(&c, CUDA_CALL_cuMemRelease);
	sent[0] = client_use(&c, KIND_MEMORY_HANDLE, handle_of(handle));
	if (client_begin(&c, false)) {
		remote_put(&c.out, sent, sizeof sent);
		client_send(&c);
	}
	return client_end(&c);
}

/*
 * False: the program has more of them. What is no memory (multicast) has one. The last one counts until handle_ends(),
 * so that a thread that ends the last mapping meanwhile does not free what the handle still names.
 */
static bool was_last(CUmemGenericAllocationHandle handle)
{
	struct physical *p;
	bool last;

	pthread_mutex_lock(&lock);
	p = find_locked(handle);
	last = !p || p->references == 1;
	if (p && last)
		p->handle = 0;
	else if (p)
		p->references--;
	pthread_mutex_unlock(&lock);
	return last;
}

/* The handle ends before its allocation is forgotten, so nobody finds that one by it. `naming` is held. */
static void handle_ends(CUmemGenericAllocationHandle handle)
{
	struct physical *p;

	pthread_mutex_lock(&lock);
	p = find_locked(handle);
	client_drop(handle_of(handle));
	if (p) {
		p->references = 0;
		drop_unused_locked(p);
	}
	pthread_mutex_unlock(&lock);
}

CUresult client_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct client_call c;
	CUresult r;

	client_call(&c, CUDA_CALL_cuMemRelease);
	client_use(&c, KIND_MEMORY_HANDLE, handle_of(handle));
	r = client_end(&c);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&naming);
	if (was_last(handle)) {
		r = physical_release(handle);
		handle_ends(handle);
	}
	pthread_mutex_unlock(&naming);
	return r;
}

/* The handle is the program's still: the worker need not hear of one more reference. */
static bool retain_known(CUdeviceptr at, CUmemGenericAllocationHandle *ret)
{
	struct physical *p = NULL;
	struct range r;

	pthread_mutex_lock(&lock);
	if (ranges_find(at, &r) && r.kind == RANGE_MAPPED)
		p = (struct physical *)(uintptr_t)r.owner;
	if (p && p->handle) {
		p->references++;
		*ret = p->handle;
	} else {
		p = NULL;
	}
	pthread_mutex_unlock(&lock);
	return p;
}

/*
 * What a worker has mapped at an address when another thread changes that may be other memory than what is known to be
 * there. True: it has the name that it had, and one more reference through it.
 */
static bool is_known(CUmemGenericAllocationHandle handle)
{
	struct physical *p;

	pthread_mutex_lock(&lock);
	p = find_locked(handle);
	if (p)
		p->references++;
	pthread_mutex_unlock(&lock);
	return p;
}

/* The worker has given it a name anew. */
static void named(CUdeviceptr at, CUmemGenericAllocationHandle handle)
{
	struct physical *p = NULL;
	struct range r;

	pthread_mutex_lock(&lock);
	if (ranges_find(at, &r) && r.kind == RANGE_MAPPED)
		p = (struct physical *)(uintptr_t)r.owner;
	if (p && !p->references) {
		p->references = 1;
		p->handle = handle;
		client_keep(handle_of(handle), p, NULL);
	}
	pthread_mutex_unlock(&lock);
}

static CUresult retain(CUdeviceptr at, CUmemGenericAllocationHandle *ret)
{
	struct client_call c;
	uint64_t id = 0;
	void *h = NULL;

	client_call(&c, CUDA_CALL_cuMemRetainAllocationHandle);
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
		*ret = (CUmemGenericAllocationHandle)(uintptr_t)h;
		if (!is_known(*ret))
			named(at, *ret);
	}
	return client_end(&c);
}

CUresult client_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)addr;
	struct client_call c;
	CUresult r;

	client_call(&c, CUDA_CALL_cuMemRetainAllocationHandle);
	r = client_end(&c);
	if (r == CUDA_SUCCESS && !handle)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS || retain_known(at, handle))
		return r;
	pthread_mutex_lock(&naming);
	r = retain_known(at, handle) ? CUDA_SUCCESS : retain(at, handle);
	pthread_mutex_unlock(&naming);
	return r;
}
