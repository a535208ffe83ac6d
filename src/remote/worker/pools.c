/* pools.c: attributes of pools. */
#include "cuda_remote.h"
#include "remote/worker/worker.h"

#include <errno.h>

/* Reads the pool, the attribute, the value to set. False: malformed. */
static bool take(struct work *work, CUmemoryPool *ret, CUmemPool_attribute *ret_attribute, uint64_t *ret_value)
{
	uint64_t sent[3];
	bool known;

	remote_get(&work->in, sent, sizeof(sent));
	if (work->in.bad || work->in.used != work->in.size)
		return false;
	*ret = worker_find(work, KIND_MEMORY_POOL, sent[0], &known);
	if (!*ret && known)
		work->result = CUDA_ERROR_INVALID_VALUE;
	*ret_attribute = (CUmemPool_attribute)sent[1];
	*ret_value = sent[2];
	return true;
}

int worker_cuMemPoolSetAttribute(struct work *work)
{
	CUmemPool_attribute attribute;
	CUmemoryPool pool;
	uint64_t value;

	if (!take(work, &pool, &attribute, &value))
		return -EPROTO;
	if (pool)
		work->result = work->driver->cuMemPoolSetAttribute(pool, attribute, &value);
	return 0;
}

int worker_cuMemPoolGetAttribute(struct work *work)
{
	CUmemPool_attribute attribute;
	CUmemoryPool pool;
	uint64_t value = 0;

	if (!take(work, &pool, &attribute, &value))
		return -EPROTO;
	value = 0;
	if (pool)
		work->result = work->driver->cuMemPoolGetAttribute(pool, attribute, &value);
	if (work->result == CUDA_SUCCESS)
		remote_put(&work->out, &value, sizeof(value));
	return 0;
}
