/* vmm.c: mappings, which are device memory of the session while they last; references to physical memory. */
#include "cuda_remote.h"
#include "remote/worker/session.h"

#include <errno.h>
#include <stdlib.h>

/* The first two values of the request: an address and a size. */
static void peek(const struct work *work, uint64_t ret[2])
{
	struct remote_reader in = work->in;

	remote_get(&in, &ret[0], sizeof(ret[0]));
	remote_get(&in, &ret[1], sizeof(ret[1]));
}

int worker_cuMemMap(struct work *work)
{
	uint64_t place[2];
	int r;

	peek(work, place);
	r = worker_plain_cuMemMap(work);
	if (!r && work->result == CUDA_SUCCESS)
		worker_range_add(work, place[0], place[1], 0);
	return r;
}

int worker_cuMemUnmap(struct work *work)
{
	uint64_t place[2];
	size_t gone;
	int r;

	peek(work, place);
	r = worker_plain_cuMemUnmap(work);
	for (uint64_t at = place[0]; !r && work->result == CUDA_SUCCESS && at - place[0] < place[1]; at += gone) {
		gone = worker_range_remove(work, at);
		if (!gone)
			break;
	}
	return r;
}

/* References beyond the first, which comes with the id. The driver may keep none of a handle that has none left. */
static uint64_t *more(struct work *work, uint64_t id, bool make)
{
	uint64_t *n = worker_kept(work, KIND_MEMORY_HANDLE, id);

	if (n || !make)
		return n;
	n = calloc(1, sizeof(*n));
	if (n)
		worker_keep(work, id, n, free);
	return n;
}

/*
 * The client says whether it is its last reference: then all that came by this id are given back, and the id is free to
 * be used again. That there are more is not believed.
 */
int worker_cuMemRelease(struct work *work)
{
	CUmemGenericAllocationHandle handle;
	uint64_t sent[2], *left, count = 1;
	bool known, last;

	remote_get(&work->in, sent, sizeof(sent));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	handle = (CUmemGenericAllocationHandle)(uintptr_t)worker_find(work, KIND_MEMORY_HANDLE, sent[0], &known);
	if (!handle)
		return 0;
	left = more(work, sent[0], false);
	last = sent[1] || !left || !*left;
	if (last && left)
		count += *left;
	if (!last)
		--*left;
	else if (!worker_ending(work, sent[0], (void *)(uintptr_t)handle))
		return 0;
	while (count--)
		work->result = work->driver->cuMemRelease(handle);
	if (last)
		worker_remove(work, sent[0]);
	return 0;
}

int worker_cuMemRetainAllocationHandle(struct work *work)
{
	CUmemGenericAllocationHandle handle = 0;
	CUdeviceptr at;
	uint64_t id, *n;
	bool is_new;

	remote_get(&work->in, &at, sizeof(at));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	if (!worker_range(work, at, 1)) {
		work->result = CUDA_ERROR_INVALID_VALUE;
		return 0;
	}
	work->result = work->driver->cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)at);
	if (work->result != CUDA_SUCCESS)
		return 0;
	id = ids_name(&work->worker->ids, KIND_MEMORY_HANDLE, (void *)(uintptr_t)handle, 0, &is_new);
	n = id && !is_new ? more(work, id, true) : NULL;
	if (n)
		++*n;
	if (!id || (!n && !is_new)) {
		work->driver->cuMemRelease(handle);
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
		return 0;
	}
	work->created = true;
	remote_put(&work->out, &id, sizeof(id));
	return 0;
}
