/* stream_values.c: streams that wait for values in memory and write them, one by one and in batches. */
#include "softdev/memory.h"
#include "softdev/stream.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_MOST 256u

static bool range_allows(const struct range *r, bool write)
{
	if (r->kind != RANGE_MAPPED)
		return true;
	return write ? r->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE : r->flags & CU_MEM_ACCESS_FLAGS_PROT_READ;
}

static CUresult address_check(CUdeviceptr address, size_t bytes, bool write)
{
	struct range *r;
	CUresult e = CUDA_SUCCESS;

	if (address % bytes)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory_mutex);
	if (!range_covers_locked(address, bytes, &r) || !range_allows(r, write))
		e = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

/* A flush is nothing here: writes of others are seen as they come. */
static CUresult wait_check(const CUstreamBatchMemOpParams *op, size_t bytes)
{
	if (op->waitValue.flags & ~(3u | CU_STREAM_WAIT_VALUE_FLUSH))
		return CUDA_ERROR_INVALID_VALUE;
	return address_check(op->waitValue.address, bytes, false);
}

/* The older calls may leave the barrier away; the newer ones do not know the flag. */
static CUresult write_check(const CUstreamBatchMemOpParams *op, size_t bytes, bool old)
{
	if (op->writeValue.flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
		return CUDA_ERROR_INVALID_VALUE;
	if (op->writeValue.flags && !old)
		return CUDA_ERROR_NOT_SUPPORTED;
	return address_check(op->writeValue.address, bytes, true);
}

static CUresult op_check(const CUstreamBatchMemOpParams *op, bool old)
{
	switch (op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		return wait_check(op, 4);
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return wait_check(op, 8);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return write_check(op, 4, old);
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return write_check(op, 8, old);
	case CU_STREAM_MEM_OP_BARRIER:
		return op->memoryBarrier.flags > CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_ERROR_INVALID_VALUE
										   : CUDA_SUCCESS;
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return op->flushRemoteWrites.flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult describe(unsigned count, const CUstreamBatchMemOpParams *op, unsigned flags, bool old,
			 struct work *ret)
{
	CUresult e;

	if (!count || count > BATCH_MOST || !op || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		if ((e = op_check(&op[i], old)))
			return e;
	*ret = (struct work){ .kind = WORK_VALUES };
	ret->values.op = calloc(count, sizeof(*op));
	if (!ret->values.op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(ret->values.op, op, count * sizeof(*op));
	ret->values.count = count;
	return CUDA_SUCCESS;
}

CUresult stream_values_describe(unsigned count, const CUstreamBatchMemOpParams *op, unsigned flags, struct work *ret)
{
	return describe(count, op, flags, false, ret);
}

static CUresult batch(CUstream h, unsigned count, const CUstreamBatchMemOpParams *op, unsigned flags, bool old)
{
	struct stream *s;
	struct work w;
	CUresult e = stream_find(h, &s);

	/* Nothing to do is no fault: NVIDIA's driver 580. */
	if (!e && !count && !flags)
		return CUDA_SUCCESS;
	if (!e)
		e = describe(count, op, flags, old, &w);
	return e ? e : stream_submit(s, &w, false);
}

static CUresult wait32(CUstream h, CUdeviceptr address, cuuint32_t value, unsigned flags, bool old)
{
	CUstreamBatchMemOpParams op = { .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
						       .address = address,
						       .flags = flags } };

	op.waitValue.value = value;
	return batch(h, 1, &op, 0, old);
}

static CUresult wait64(CUstream h, CUdeviceptr address, cuuint64_t value, unsigned flags, bool old)
{
	CUstreamBatchMemOpParams op = { .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_64,
						       .address = address,
						       .flags = flags } };

	op.waitValue.value64 = value;
	return batch(h, 1, &op, 0, old);
}

static CUresult write32(CUstream h, CUdeviceptr address, cuuint32_t value, unsigned flags, bool old)
{
	CUstreamBatchMemOpParams op = { .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
							.address = address,
							.flags = flags } };

	op.writeValue.value = value;
	return batch(h, 1, &op, 0, old);
}

static CUresult write64(CUstream h, CUdeviceptr address, cuuint64_t value, unsigned flags, bool old)
{
	CUstreamBatchMemOpParams op = { .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_64,
							.address = address,
							.flags = flags } };

	op.writeValue.value64 = value;
	return batch(h, 1, &op, 0, old);
}

CUresult soft_cuStreamBatchMemOp_v2(CUstream h, unsigned count, CUstreamBatchMemOpParams *op, unsigned flags)
{
	return batch(h, count, op, flags, false);
}

CUresult soft_cuStreamWaitValue32_v2(CUstream h, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	return wait32(h, address, value, flags, false);
}

CUresult soft_cuStreamWaitValue64_v2(CUstream h, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	return wait64(h, address, value, flags, false);
}

CUresult soft_cuStreamWriteValue32_v2(CUstream h, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	return write32(h, address, value, flags, false);
}

CUresult soft_cuStreamWriteValue64_v2(CUstream h, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	return write64(h, address, value, flags, false);
}

CUresult soft_cuStreamBatchMemOp(CUstream h, unsigned count, CUstreamBatchMemOpParams *op, unsigned flags)
{
	return batch(h, count, op, flags, true);
}

CUresult soft_cuStreamWaitValue32(CUstream h, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	return wait32(h, address, value, flags, true);
}

CUresult soft_cuStreamWaitValue64(CUstream h, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	return wait64(h, address, value, flags, true);
}

CUresult soft_cuStreamWriteValue32(CUstream h, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	return write32(h, address, value, flags, true);
}

CUresult soft_cuStreamWriteValue64(CUstream h, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	return write64(h, address, value, flags, true);
}
