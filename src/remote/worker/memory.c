/*
 * memory.c: memory that the client asks for: plain, pitched, of pools, and the physical kind; pinned memory in the
 * arena's heap. Every address that is given out is remembered, so that none that was not can be used.
 */
#include "remote/worker/memory.h"

#include "cuda_remote.h"
#include "remote/copy.h"
#include "remote/merge.h"
#include "remote/worker/payload.h"
#include "remote/worker/places.h"

#include <errno.h>
#include <string.h>

static bool whole(const struct work *work)
{
	return !work->in.bad && work->in.used == work->in.size;
}

/* ---- what is there ---- */

static bool in_heap(struct work *work, CUdeviceptr at, uint64_t bytes)
{
	const struct wall_welcome *w = worker_welcome(work->worker);
	uint64_t begin = (uint64_t)(uintptr_t)worker_arena(work, w->heap_offset, 0);
	uint64_t most = w->arena_bytes - w->heap_offset;

	return at >= begin && at - begin <= most && bytes <= most - (at - begin);
}

/* Memory that came without our doing (of graphs, of modules): the driver knows it. */
static bool driver_knows(struct work *work, CUdeviceptr at, uint64_t bytes)
{
	unsigned int type = 0;
	CUdeviceptr base = 0;
	size_t size = 0;

	if (work->driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) != CUDA_SUCCESS ||
	    type != CU_MEMORYTYPE_DEVICE || work->driver->cuMemGetAddressRange_v2(&base, &size, at) != CUDA_SUCCESS)
		return false;
	return at >= base && at - base <= size && bytes <= size - (at - base);
}

bool memory_good(struct work *work, CUdeviceptr at, uint64_t bytes)
{
	return at && (worker_range(work, at, bytes) || in_heap(work, at, bytes) || driver_knows(work, at, bytes));
}

bool worker_reaches(struct work *work, CUdeviceptr at, size_t bytes)
{
	return memory_good(work, at, bytes);
}

CUresult memory_bad(struct work *work)
{
	size_t unused[2];
	CUresult r = work->driver->cuMemGetInfo_v2(&unused[0], &unused[1]);

	return r != CUDA_SUCCESS ? r : CUDA_ERROR_INVALID_VALUE;
}

/* ---- plain ---- */

/* The address goes to the client; without room to remember it, it goes back. */
static void give_out(struct work *work, CUdeviceptr at, size_t bytes)
{
	if (work->result != CUDA_SUCCESS)
		return;
	if (worker_range_put(work, at, bytes, work->head.context)) {
		work->driver->cuMemFree_v2(at);
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
		return;
	}
	remote_put(&work->out, &at, sizeof(at));
}

int worker_cuMemAlloc_v2(struct work *work)
{
	CUdeviceptr at = 0;
	uint64_t bytes;

	remote_get(&work->in, &bytes, sizeof(bytes));
	if (!whole(work))
		return -EPROTO;
	places_reap(work->driver);
	work->result = work->driver->cuMemAlloc_v2(&at, bytes);
	give_out(work, at, bytes);
	return 0;
}

int worker_cuMemAllocPitch_v2(struct work *work)
{
	uint64_t sent[3]; /* width, height, element */
	CUdeviceptr at = 0;
	size_t pitch = 0;

	remote_get(&work->in, sent, sizeof(sent));
	if (!whole(work))
		return -EPROTO;
	work->result = work->driver->cuMemAllocPitch_v2(&at, &pitch, sent[0], sent[1], (unsigned int)sent[2]);
	give_out(work, at, pitch * sent[1]);
	if (work->result == CUDA_SUCCESS)
		remote_put(&work->out, &pitch, sizeof(pitch));
	return 0;
}

/* Waits for the device, so whoever waits for the answer leaves the executor's role to others. */
int worker_cuMemFree_v2(struct work *work)
{
	CUdeviceptr at;
	bool block;

	remote_get(&work->in, &at, sizeof(at));
	if (!whole(work))
		return -EPROTO;
	block = worker_range_remove(work, at);
	if (!block && !driver_knows(work, at, 1)) {
		work->result = at ? memory_bad(work) : CUDA_SUCCESS;
		return 0;
	}
	if (work->head.ticket)
		worker_yield(work);
	places_reap(work->driver);
	if (!places_free(work, at, block))
		work->result = work->driver->cuMemFree_v2(at);
	return 0;
}

/* ---- pools ---- */

int worker_cuMemAllocFromPoolAsync(struct work *work)
{
	uint64_t bytes, pool_id, stream_id;
	CUdeviceptr at = 0;
	CUmemoryPool pool;
	CUstream stream;
	bool known;

	remote_get(&work->in, &bytes, sizeof(bytes));
	remote_get(&work->in, &pool_id, sizeof(pool_id));
	remote_get(&work->in, &stream_id, sizeof(stream_id));
	if (!whole(work))
		return -EPROTO;
	pool = worker_find(work, KIND_MEMORY_POOL, pool_id, &known);
	if (!known)
		return 0;
	stream = worker_find_stream(work, stream_id, &known);
	if (!known)
		return 0;
	places_reap(work->driver);
	work->result = pool ? work->driver->cuMemAllocFromPoolAsync(&at, bytes, pool, stream)
			    : work->driver->cuMemAllocAsync(&at, bytes, stream);
	if (work->result != CUDA_SUCCESS)
		return 0;
	/* The place of memory that a graph has freed is given out again. */
	if (worker_range_add(work, at, bytes, 0) && !worker_range(work, at, bytes)) {
		worker_range_remove(work, at);
		worker_range_add(work, at, bytes, 0);
	}
	remote_put(&work->out, &at, sizeof(at));
	return 0;
}

int worker_cuMemFreeAsync(struct work *work)
{
	CUdeviceptr at, begin = 0;
	uint64_t stream_id, owner;
	CUstream stream;
	size_t bytes;
	bool known;

	remote_get(&work->in, &at, sizeof(at));
	remote_get(&work->in, &stream_id, sizeof(stream_id));
	if (!whole(work))
		return -EPROTO;
	stream = worker_find_stream(work, stream_id, &known);
	if (!known)
		return 0;
	if (!worker_range(work, at, 1) && !driver_knows(work, at, 1)) {
		work->result = memory_bad(work);
		return 0;
	}
	known = worker_range_find(work, at, &begin, &bytes, &owner) && begin == at;
	if (!places_free_ordered(work, at, known, stream))
		work->result = work->driver->cuMemFreeAsync(at, stream);
	if (work->result == CUDA_SUCCESS)
		worker_range_remove(work, at);
	return 0;
}

/*
 * Nobody waits for the end of a stream in which all is done but frees: pools give back at a wait what they keep. What
 * the client sends next comes behind it.
 */
int worker_cuStreamSynchronize(struct work *work)
{
	uint64_t stream_id;
	CUstream stream;
	bool known;

	if (work->head.ticket)
		return worker_plain_cuStreamSynchronize(work);
	remote_get(&work->in, &stream_id, sizeof(stream_id));
	if (!whole(work))
		return -EPROTO;
	stream = worker_find_stream(work, stream_id, &known);
	if (known)
		work->result = work->driver->cuStreamSynchronize(stream);
	return 0;
}

/* ---- pinned ---- */

static bool pin_take(struct work *work, struct pin_request *ret, void **ret_at)
{
	const struct wall_welcome *w = worker_welcome(work->worker);

	remote_get(&work->in, ret, sizeof(*ret));
	if (!whole(work) || !ret->bytes || ret->offset < w->heap_offset || ret->offset % 4096)
		return false;
	*ret_at = worker_arena(work, ret->offset, ret->bytes);
	return *ret_at;
}

int memory_pin(struct work *work)
{
	struct pin_request r;
	CUdeviceptr device = 0;
	void *at;

	if (!pin_take(work, &r, &at))
		return -EPROTO;
	work->result = work->driver->cuMemHostRegister_v2(at, r.bytes,
							  CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	if (work->result != CUDA_SUCCESS)
		return 0;
	work->result = work->driver->cuMemHostGetDevicePointer_v2(&device, at, 0);
	if (work->result != CUDA_SUCCESS) {
		work->driver->cuMemHostUnregister(at);
		return 0;
	}
	work->created = true;
	remote_put(&work->out, &device, sizeof(device));
	return 0;
}

/* Waits for the device: nothing may still read or write it when the client gives it to somebody else. */
int memory_unpin(struct work *work)
{
	struct pin_request r;
	void *at;

	if (!pin_take(work, &r, &at))
		return -EPROTO;
	if (work->head.ticket)
		worker_yield(work);
	work->result = work->driver->cuMemHostUnregister(at);
	return 0;
}

int memory_merge(struct work *work)
{
	const struct wall_welcome *w = worker_welcome(work->worker);
	const uint8_t *masks, *bytes;
	struct merge_request r;
	uint64_t mask;
	uint8_t *at;

	remote_get(&work->in, &r, sizeof(r));
	if (work->in.bad || !r.bytes || r.bytes > MERGE_BYTES || r.offset < w->heap_offset || r.offset % MERGE_LINE)
		return -EPROTO;
	masks = remote_take(&work->in, (r.bytes + MERGE_LINE - 1) / MERGE_LINE * sizeof(mask));
	bytes = remote_take(&work->in, r.bytes);
	at = worker_arena(work, r.offset, r.bytes);
	if (!whole(work) || !at)
		return -EPROTO;
	for (size_t i = 0; i < r.bytes; i += MERGE_LINE) {
		memcpy(&mask, masks + i / MERGE_LINE * sizeof(mask), sizeof(mask));
		merge_masked(at + i, bytes + i, mask, r.bytes - i < MERGE_LINE ? r.bytes - i : MERGE_LINE);
	}
	return 0;
}
