/* stream_calls.c: the calls on streams. */
#include "softdev/event.h"
#include "softdev/graph.h"
#include "softdev/mempool.h"
#include "softdev/stream.h"

#include <stdlib.h>
#include <string.h>

CUresult soft_cuStreamCreateWithPriority(CUstream *ret, unsigned flags, int priority)
{
	struct context *c;
	struct stream *s;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	s = stream_new(c, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority);
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret = (CUstream)s;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamCreate(CUstream *ret, unsigned flags)
{
	return soft_cuStreamCreateWithPriority(ret, flags, 0);
}

CUresult soft_cuStreamDestroy_v2(CUstream h)
{
	CUresult e = driver_ready();
	struct stream *s;

	if (e)
		return e;
	s = handle_find(HANDLE_STREAM, h);
	if (!s || s->legacy || s->per_thread)
		return CUDA_ERROR_INVALID_HANDLE;
	capture_abandon(s);
	stream_retire(s);
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamDestroy(CUstream h)
{
	return soft_cuStreamDestroy_v2(h);
}

CUresult soft_cuStreamQuery(CUstream h)
{
	struct stream *s;
	struct point p;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (capture_of(s))
		return capture_forbidden(s);
	p = stream_point(s);
	if (!point_reached(&p))
		return CUDA_ERROR_NOT_READY;
	return (CUresult)s->context->sticky;
}

CUresult soft_cuStreamSynchronize(CUstream h)
{
	struct stream *s;
	struct point p;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (capture_of(s))
		return capture_forbidden(s);
	p = stream_point(s);
	point_wait(&p);
	mempool_synchronised(s->context->device);
	return (CUresult)s->context->sticky;
}

CUresult soft_cuStreamWaitEvent(CUstream h, CUevent event, unsigned flags)
{
	struct work w = { .kind = WORK_WAIT };
	struct shared_record record;
	struct point p;
	struct event *ev;
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (!e)
		e = event_find(event, &ev);
	if (e)
		return e;
	if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (capture_of(s) || event_captured(ev))
		return capture_wait(s, ev, flags);
	if (event_foreign(ev, &record)) {
		if (shared_record_reached(ev->shared, record))
			return CUDA_SUCCESS;
		w = (struct work){ .kind = WORK_AWAIT, .await = { shared_event_ref(ev->shared), record } };
		return stream_submit(s, &w, false);
	}
	pthread_mutex_lock(&stream_mutex);
	p = ev->point;
	pthread_mutex_unlock(&stream_mutex);
	if (point_reached(&p))
		return CUDA_SUCCESS;
	return stream_submit_after(s, &w, &p, 1);
}

CUresult soft_cuStreamAddCallback(CUstream h, CUstreamCallback f, void *data, unsigned flags)
{
	struct work w = { .kind = WORK_CALLBACK, .callback = { f, h, data } };
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!f || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (capture_of(s))
		return capture_forbidden(s);
	return stream_submit(s, &w, false);
}

CUresult soft_cuLaunchHostFunc(CUstream h, CUhostFn f, void *data)
{
	struct work w = { .kind = WORK_HOST, .host = { f, data } };
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	return f ? stream_submit(s, &w, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuStreamGetPriority(CUstream h, int *ret)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = s->priority;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamGetFlags(CUstream h, unsigned *ret)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = s->flags;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamGetId(CUstream h, unsigned long long *ret)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = s->id;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamGetCtx(CUstream h, CUcontext *ret)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUcontext)s->context;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamGetCtx_v2(CUstream h, CUcontext *ret, CUgreenCtx *ret_green)
{
	CUresult e = soft_cuStreamGetCtx(h, ret);

	if (!e && ret_green)
		*ret_green = NULL;
	return e;
}

CUresult soft_cuStreamGetDevice(CUstream h, CUdevice *ret)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = s->context->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamGetAttribute(CUstream h, CUstreamAttrID attribute, CUstreamAttrValue *ret)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	memset(ret, 0, sizeof(*ret));
	switch (attribute) {
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		ret->syncPolicy = s->sync_policy;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		ret->priority = s->priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult soft_cuStreamSetAttribute(CUstream h, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		if (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)
			return CUDA_ERROR_INVALID_VALUE;
		s->sync_policy = value->syncPolicy;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		return CUDA_SUCCESS; /* hints without an effect here */
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult soft_cuStreamCopyAttributes(CUstream to, CUstream from)
{
	struct stream *s, *t;
	CUresult e = stream_find(to, &t);

	if (!e)
		e = stream_find(from, &s);
	if (!e)
		t->sync_policy = s->sync_policy;
	return e;
}

/* ---- values in memory ---- */

static CUresult value_check(CUdeviceptr address, size_t bytes)
{
	struct range *r;
	CUresult e = CUDA_SUCCESS;

	if (address % bytes)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory_mutex);
	if (!range_covers_locked(address, bytes, &r))
		e = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

static CUresult value_op_check(const CUstreamBatchMemOpParams *op)
{
	switch (op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		return value_check(op->waitValue.address, 4);
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return value_check(op->waitValue.address, 8);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return value_check(op->writeValue.address, 4);
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return value_check(op->writeValue.address, 8);
	case CU_STREAM_MEM_OP_BARRIER:
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult soft_cuStreamBatchMemOp_v2(CUstream h, unsigned count, CUstreamBatchMemOpParams *op, unsigned flags)
{
	struct work w = { .kind = WORK_VALUES };
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!count || count > 256 || !op || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		if ((e = value_op_check(&op[i])))
			return e;
	w.values.op = calloc(count, sizeof(*op));
	if (!w.values.op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(w.values.op, op, count * sizeof(*op));
	w.values.count = count;
	return stream_submit(s, &w, false);
}

CUresult soft_cuStreamWaitValue32_v2(CUstream h, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	CUstreamBatchMemOpParams op = { .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
						       .address = address } };

	op.waitValue.value = value;
	op.waitValue.flags = flags;
	return soft_cuStreamBatchMemOp_v2(h, 1, &op, 0);
}

CUresult soft_cuStreamWaitValue64_v2(CUstream h, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	CUstreamBatchMemOpParams op = { .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_64,
						       .address = address } };

	op.waitValue.value64 = value;
	op.waitValue.flags = flags;
	return soft_cuStreamBatchMemOp_v2(h, 1, &op, 0);
}

CUresult soft_cuStreamWriteValue32_v2(CUstream h, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	CUstreamBatchMemOpParams op = { .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
							.address = address } };

	op.writeValue.value = value;
	op.writeValue.flags = flags;
	return soft_cuStreamBatchMemOp_v2(h, 1, &op, 0);
}

CUresult soft_cuStreamWriteValue64_v2(CUstream h, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	CUstreamBatchMemOpParams op = { .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_64,
							.address = address } };

	op.writeValue.value64 = value;
	op.writeValue.flags = flags;
	return soft_cuStreamBatchMemOp_v2(h, 1, &op, 0);
}

/* The first versions of these calls: the same on this device. */

CUresult soft_cuStreamBatchMemOp(CUstream h, unsigned count, CUstreamBatchMemOpParams *op, unsigned flags)
{
	return soft_cuStreamBatchMemOp_v2(h, count, op, flags);
}

CUresult soft_cuStreamWaitValue32(CUstream h, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	return soft_cuStreamWaitValue32_v2(h, address, value, flags);
}

CUresult soft_cuStreamWaitValue64(CUstream h, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	return soft_cuStreamWaitValue64_v2(h, address, value, flags);
}

CUresult soft_cuStreamWriteValue32(CUstream h, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	return soft_cuStreamWriteValue32_v2(h, address, value, flags);
}

CUresult soft_cuStreamWriteValue64(CUstream h, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	return soft_cuStreamWriteValue64_v2(h, address, value, flags);
}
