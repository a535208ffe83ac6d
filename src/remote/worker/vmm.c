/* vmm.c: mappings, which are device memory of the session while they last; references to physical memory. */
#include "cuda_remote.h"
#include "remote/worker/worker.h"

#include <errno.h>

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

int worker_cuMemRelease(struct work *work)
{
	CUmemGenericAllocationHandle handle;
	uint64_t sent[2];
	bool known;

	remote_get(&work->in, sent, sizeof(sent));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	handle = (CUmemGenericAllocationHandle)(uintptr_t)worker_find(work, KIND_MEMORY_HANDLE, sent[0], &known);
	if (!handle)
		return 0;
	if (sent[1] && !worker_ending(work, sent[0]))
		return 0;
	work->result = work->driver->cuMemRelease(handle);
	if (sent[1])
		worker_remove(work, sent[0]);
	return 0;
}

int worker_cuMemRetainAllocationHandle(struct work *work)
{
	CUmemGenericAllocationHandle handle = 0;
	CUdeviceptr at;
	uint64_t id;

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
	id = worker_name(work, KIND_MEMORY_HANDLE, (void *)(uintptr_t)handle, 0);
	if (!id) {
		work->driver->cuMemRelease(handle);
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
		return 0;
	}
	work->created = true;
	remote_put(&work->out, &id, sizeof(id));
	return 0;
}
