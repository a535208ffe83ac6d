/*
 * ipc.c: interprocess handles of memory and events.
 *
 * A handle says which shared object lies behind it and in which life of the segment. It is good as long as some process
 * has the object: after the exporter has freed the memory, or died, those who have opened it keep what they see, and
 * its charge stays until the last one closes it.
 */
#include "softdev/context.h"
#include "softdev/event.h"
#include "softdev/share.h"
#include "softdev/stream.h"

#include <string.h>

#define MEMORY_MAGIC 0x6d63706du
#define EVENT_MAGIC 0x6563706du

struct handle_text {
	uint32_t magic;
	uint32_t device; /* in the segment */
	uint64_t generation;
	struct share_place place;
	uint64_t bytes;
	uint32_t pid; /* of the exporter */
	uint32_t start_time;
};

_Static_assert(sizeof(struct handle_text) <= sizeof(CUipcMemHandle), "fits into a handle");
_Static_assert(sizeof(struct handle_text) <= sizeof(CUipcEventHandle), "fits into a handle");

static const struct segment_process *self(void)
{
	return &driver.place.segment->process[driver.place.index];
}

static struct handle_text text_make(uint32_t magic, const struct device *d)
{
	return (struct handle_text){ .magic = magic,
				     .device = d->index,
				     .generation = driver.place.segment->generation,
				     .pid = (uint32_t)self()->pid,
				     .start_time = (uint32_t)self()->start_time };
}

/* A handle of this segment's life, and the device it speaks of. */
static CUresult text_read(const char *handle, uint32_t magic, struct handle_text *ret, struct device **ret_device)
{
	memcpy(ret, handle, sizeof(*ret));
	if (ret->magic != magic || ret->generation != driver.place.segment->generation)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_device = device_at(ret->device);
	return *ret_device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* ---- memory ---- */

/* The plain allocation that contains the address, shared from now on. */
static CUresult memory_export(CUdeviceptr address, struct handle_text *ret)
{
	CUresult e = CUDA_ERROR_INVALID_VALUE;
	struct range *r;

	pthread_rwlock_wrlock(&share_lock);
	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked(address);
	if (r && r->kind == RANGE_DEVICE && !r->released) {
		*ret = text_make(MEMORY_MAGIC, r->device);
		ret->bytes = r->bytes;
		e = share_export_locked(r, &ret->place);
	}
	pthread_mutex_unlock(&memory_mutex);
	pthread_rwlock_unlock(&share_lock);
	return e;
}

CUresult soft_cuIpcGetMemHandle(CUipcMemHandle *ret, CUdeviceptr address)
{
	struct handle_text text;
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	e = memory_export(address, &text);
	if (e)
		return e;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->reserved, &text, sizeof(text));
	return CUDA_SUCCESS;
}

/* The same memory, opened before in this context: counted once more. */
static struct range *imported_again(struct context *c, const struct handle_text *t)
{
	struct range *r;

	pthread_mutex_lock(&memory_mutex);
	for (r = c->ranges; r; r = r->next)
		if (r->kind == RANGE_IMPORTED && !r->released && r->object == t->place.object && !r->pool &&
		    r->begin - (uint64_t)(uintptr_t)r->owned == t->place.offset && r->bytes == t->bytes)
			break;
	if (r)
		r->opens++;
	pthread_mutex_unlock(&memory_mutex);
	return r;
}

CUresult soft_cuIpcOpenMemHandle_v2(CUdeviceptr *ret, CUipcMemHandle handle, unsigned flags)
{
	struct handle_text text;
	struct context *c;
	struct device *d;
	struct range *r;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	e = text_read(handle.reserved, MEMORY_MAGIC, &text, &d);
	if (e)
		return e;
	if (text.pid == (uint32_t)self()->pid && text.start_time == (uint32_t)self()->start_time)
		return CUDA_ERROR_INVALID_CONTEXT; /* a process cannot open its own */
	r = imported_again(c, &text);
	if (!r)
		e = share_import(d, c, &text.place, text.bytes, &r);
	if (!e)
		*ret = r->begin;
	return e;
}

CUresult soft_cuIpcOpenMemHandle(CUdeviceptr *ret, CUipcMemHandle handle, unsigned flags)
{
	return soft_cuIpcOpenMemHandle_v2(ret, handle, flags);
}

CUresult soft_cuIpcCloseMemHandle(CUdeviceptr address)
{
	bool last = false;
	struct context *c;
	struct range *r;
	CUresult e = context_current(&c);

	if (e)
		return e;
	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked(address);
	if (r && r->kind == RANGE_IMPORTED && r->begin == address && !r->released && !r->pool)
		last = r->released = !--r->opens;
	else
		e = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&memory_mutex);
	if (!last)
		return e;
	for (uint32_t i = 0; i < driver.device_count; i++)
		stream_wait_device(&driver.device[i]); /* work in flight may still use it */
	pthread_mutex_lock(&memory_mutex);
	range_remove_locked(r);
	pthread_mutex_unlock(&memory_mutex);
	share_close(r);
	return CUDA_SUCCESS;
}

/* ---- events ---- */

CUresult soft_cuIpcGetEventHandle(CUipcEventHandle *ret, CUevent h)
{
	struct handle_text text;
	struct event *ev;
	CUresult e = event_find(h, &ev);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ev->shared)
		return CUDA_ERROR_INVALID_HANDLE; /* made without CU_EVENT_INTERPROCESS */
	text = text_make(EVENT_MAGIC, ev->context->device);
	text.place.object = shared_event_object(ev->shared);
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->reserved, &text, sizeof(text));
	return CUDA_SUCCESS;
}

CUresult soft_cuIpcOpenEventHandle(CUevent *ret, CUipcEventHandle handle)
{
	struct shared_event *shared;
	struct handle_text text;
	struct context *c;
	struct device *d;
	struct event *ev;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	e = text_read(handle.reserved, EVENT_MAGIC, &text, &d);
	if (!e)
		e = shared_event_open(text.place.object, &shared);
	if (e)
		return e;
	e = event_new(c, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, shared, &ev);
	if (e)
		shared_event_unref(shared);
	else
		*ret = (CUevent)ev;
	return e;
}
