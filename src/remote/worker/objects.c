/* objects.c: what worker.h says of ids and addresses, over the session's tables. */
#include "remote/worker/uses.h"

#include <errno.h>

/* What the driver's documentation names for a handle that is none, by kind. */
static CUresult error_of(enum remote_kind kind)
{
	switch (kind) {
	case KIND_CONTEXT:
	case KIND_GREEN_CONTEXT:
		return CUDA_ERROR_INVALID_CONTEXT;
	case KIND_TEXTURE_OBJECT:
	case KIND_SURFACE_OBJECT:
	case KIND_TEXTURE_REFERENCE:
	case KIND_SURFACE_REFERENCE:
	case KIND_GRAPH:
	case KIND_GRAPH_NODE:
	case KIND_GRAPH_EXEC:
	case KIND_MEMORY_POOL:
	case KIND_MEMORY_HANDLE:
	case KIND_USER_OBJECT:
	case KIND_RESOURCE_DESCRIPTION:
	case KIND_GRAPH_CONDITION:
		return CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_HANDLE;
	}
}

void *worker_find(struct work *work, enum remote_kind kind, uint64_t id, bool *known)
{
	struct id_entry *e;
	void *handle;

	*known = true;
	if (!id)
		return NULL;
	e = uses_find(work, kind, id);
	handle = e ? atomic_load_explicit(&e->handle, memory_order_relaxed) : NULL;
	/* Looked at again: the slot may have gone to another object in between. */
	atomic_thread_fence(memory_order_acquire);
	if (e && atomic_load_explicit(&e->id, memory_order_relaxed) == id) {
		if (kind == KIND_FUNCTION)
			work->function = handle;
		return handle;
	}
	*known = false;
	work->result = error_of(kind);
	return NULL;
}

CUstream worker_find_stream(struct work *work, uint64_t id, bool *known)
{
	CUstream stream;

	*known = true;
	if (!id || id == ID_STREAM_LEGACY)
		return id ? CU_STREAM_LEGACY : NULL;
	if (id != ID_STREAM_PER_THREAD)
		return worker_find(work, KIND_STREAM, id, known);
	stream = contexts_thread_stream(work);
	*known = stream;
	return stream;
}

int worker_add(struct work *work, enum remote_kind kind, uint64_t id, void *handle, uint64_t owner)
{
	work->created = true;
	if (!owner && kind_of_context(kind))
		owner = work->head.context;
	return ids_add(&work->worker->ids, kind, id, handle, owner);
}

uint64_t worker_name(struct work *work, enum remote_kind kind, void *handle, uint64_t owner)
{
	uint64_t id;
	bool is_new;

	if (!handle)
		return 0;
	id = ids_name(&work->worker->ids, kind, handle, owner, &is_new);
	work->created |= is_new;
	return id;
}

uint64_t worker_known(struct work *work, enum remote_kind kind, void *handle)
{
	return handle ? ids_known(&work->worker->ids, kind, handle) : 0;
}

uint64_t worker_owner(struct work *work, uint64_t id)
{
	return ids_owner(&work->worker->ids, id);
}

/* What all functions belong to that were named without their module: an object that no request can name. */
static uint64_t loose_find(struct worker *worker)
{
	return ids_known(&worker->ids, KIND_NONE, &worker->code_ended);
}

uint64_t worker_name_loose(struct work *work, void *function)
{
	struct worker *worker = work->worker;
	uint64_t id = worker_known(work, KIND_FUNCTION, function), loose;

	if (id || !function || atomic_load(&worker->code_ended))
		return id;
	loose = worker_name(work, KIND_NONE, &worker->code_ended, 0);
	return loose ? worker_name(work, KIND_FUNCTION, function, loose) : 0;
}

static bool holds_code(uint64_t id)
{
	return ids_kind(id) == KIND_MODULE || ids_kind(id) == KIND_LIBRARY || ids_kind(id) == KIND_CONTEXT;
}

void worker_keep(struct work *work, uint64_t id, void *data, void (*gone)(void *data))
{
	ids_keep(&work->worker->ids, id, data, gone);
}

void *worker_kept(struct work *work, enum remote_kind kind, uint64_t id)
{
	struct id_entry *e;

	if (work->reader)
		ids_read(&work->worker->ids, work->reader);
	e = ids_find(&work->worker->ids, kind, id);
	return e && ids_kind(id) == kind ? atomic_load_explicit(&e->kept, memory_order_acquire) : NULL;
}

bool worker_ending(struct work *work, uint64_t id, const void *handle)
{
	struct id_entry *e = ids_look(&work->worker->ids, ids_kind(id), id);

	if (e && e->ranges)
		ranges_remove_owner(&work->worker->ranges, id);
	if (!ids_hide(&work->worker->ids, id, handle)) {
		work->result = error_of(ids_kind(id));
		return false;
	}
	if (ids_kind(id) == KIND_CONTEXT)
		contexts_changed(&work->worker->contexts);
	if (holds_code(id))
		atomic_store(&work->worker->code_ended, true);
	if (work->holds)
		uses_await(work, id);
	/* After that nobody names another one: the executor was waited for, or is this thread. */
	if (holds_code(id))
		ids_remove(&work->worker->ids, loose_find(work->worker));
	return true;
}

void worker_own(struct work *work, uint64_t id, uint64_t owner)
{
	ids_own(&work->worker->ids, id, owner);
}

void worker_stays(struct work *work, uint64_t id)
{
	ids_show(&work->worker->ids, id);
}

void worker_remove(struct work *work, uint64_t id)
{
	ids_remove(&work->worker->ids, id);
}

bool worker_range(struct work *work, CUdeviceptr at, size_t bytes)
{
	return ranges_cover(&work->worker->ranges, at, bytes);
}

int worker_range_add(struct work *work, CUdeviceptr at, size_t bytes, uint64_t owner)
{
	struct id_entry *e = owner ? ids_look(&work->worker->ids, ids_kind(owner), owner) : NULL;

	work->created = true;
	if (e)
		e->ranges = true;
	return ranges_add(&work->worker->ranges, at, bytes, e ? owner : 0);
}

int worker_range_put(struct work *work, CUdeviceptr at, size_t bytes, uint64_t owner)
{
	int r = worker_range_add(work, at, bytes, owner);
	struct id_entry *e;

	if (r != -EEXIST)
		return r;
	e = owner ? ids_look(&work->worker->ids, ids_kind(owner), owner) : NULL;
	return ranges_put(&work->worker->ranges, at, bytes, e ? owner : 0);
}

size_t worker_range_remove(struct work *work, CUdeviceptr at)
{
	return ranges_remove(&work->worker->ranges, at);
}

bool worker_range_find(struct work *work, CUdeviceptr at, CUdeviceptr *ret_begin, size_t *ret_bytes,
		       uint64_t *ret_owner)
{
	uint64_t begin, bytes, owner;

	if (!ranges_find(&work->worker->ranges, at, &begin, &bytes, &owner))
		return false;
	*ret_begin = begin;
	*ret_bytes = bytes;
	*ret_owner = owner;
	return true;
}
