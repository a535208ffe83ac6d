/* values_test.c: streams that wait for and write values, stream attributes and priorities, events and their errors. */
#include "softdev/soft.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static CUstream stream_new(void)
{
	CUstream s = NULL;

	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return s;
}

/* One condition: does the wait end with this value in memory? */
struct row {
	bool wide;
	unsigned flags;
	uint64_t wanted, there;
	bool ends;
};

#define GEQ CU_STREAM_WAIT_VALUE_GEQ
#define EQ CU_STREAM_WAIT_VALUE_EQ
#define AND CU_STREAM_WAIT_VALUE_AND
#define NOR CU_STREAM_WAIT_VALUE_NOR

static const struct row rows[] = {
	{ false, GEQ, 5, 5, true },
	{ false, GEQ, 5, 4, false },
	{ false, GEQ, 5, 6, true },
	{ false, GEQ, 0xfffffff0, 5, true }, /* cyclic */
	{ false, GEQ, 5, 0xfffffff0, false },
	{ true, GEQ, 0xfffffffffffffff0, 5, true },
	{ true, GEQ, 5, 1ull << 40, true },
	{ true, GEQ, 1ull << 40, 5, false },
	{ false, EQ, 5, 5, true },
	{ false, EQ, 5, 6, false },
	{ true, EQ, 1ull << 33 | 1, 1, false },
	{ true, EQ, 1ull << 33 | 1, 1ull << 33 | 1, true },
	{ false, AND, 6, 2, true },
	{ false, AND, 6, 9, false },
	{ true, AND, 1ull << 40, 1ull << 40, true },
	{ true, AND, 1ull << 40, 0xffffffff, false },
	{ false, NOR, 0xfffffff0, 0xf, false },
	{ false, NOR, 0xfffffff0, 0x7, true },
	{ true, NOR, 0xffffffff00000000, 0xffffffff, false },
	{ true, NOR, 0xffffffff00000000, 0xfffffffe, true },
	{ false, EQ | CU_STREAM_WAIT_VALUE_FLUSH, 5, 5, true },
};

static void conditions(void)
{
	uint64_t *p;
	CUstream s = stream_new();

	CU(cuMemHostAlloc((void **)&p, 8, 0));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		CUdeviceptr d = (CUdeviceptr)(uintptr_t)p;
		CUresult e;

		*p = r->there;
		e = r->wide ? cuStreamWaitValue64(s, d, r->wanted, r->flags)
			    : cuStreamWaitValue32(s, d, (uint32_t)r->wanted, r->flags);
		is(e, 0);
		if (r->ends) {
			CU(cuStreamSynchronize(s));
			continue;
		}
		usleep(3000);
		FAILS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
		/* What ends it: the value itself, or for NOR a zero. */
		__atomic_store_n(p, (r->flags & 3) == NOR ? 0 : r->wanted, __ATOMIC_RELEASE);
		CU(cuStreamSynchronize(s));
	}
	CU(cuMemFreeHost(p));
	CU(cuStreamDestroy(s));
}

static void batches(void)
{
	CUstreamBatchMemOpParams op[4], many[257];
	CUdeviceptr d;
	uint32_t back[4];
	CUstream s = stream_new(), t = stream_new();
	CUresult (*old)(CUstream, CUdeviceptr, cuuint32_t, unsigned) = NULL;

	memset(op, 0, sizeof(op));
	memset(many, 0, sizeof(many));
	CU(cuMemAlloc(&d, 16));
	op[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	op[0].waitValue.address = d;
	op[0].waitValue.value = 1;
	op[0].waitValue.flags = EQ;
	op[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
	op[1].writeValue.address = d + 8;
	op[1].writeValue.value64 = 0x1122334455667788;
	op[2].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
	op[2].memoryBarrier.flags = CU_STREAM_MEMORY_BARRIER_TYPE_GPU;
	op[3].flushRemoteWrites.operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
	CU(cuStreamBatchMemOp(s, 4, op, 0));
	usleep(2000);
	FAILS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	CU(cuStreamWriteValue32(t, d, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
	CU(cuStreamSynchronize(s));
	CU(cuMemcpyDtoH(back, d, 16));
	ok(back[0] == 1 && back[2] == 0x55667788 && back[3] == 0x11223344);
	/* Errors: nothing of a batch happens when one is wrong. */
	op[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	op[0].writeValue.address = d;
	op[0].writeValue.value = 9;
	op[0].writeValue.flags = 0;
	op[2].memoryBarrier.flags = 7;
	FAILS(cuStreamBatchMemOp(s, 4, op, 0), CUDA_ERROR_INVALID_VALUE);
	CU(cuStreamSynchronize(s));
	CU(cuMemcpyDtoH(back, d, 4));
	is(back[0], 1);
	FAILS(cuStreamBatchMemOp(s, 1, op, 1), CUDA_ERROR_INVALID_VALUE);
	CU(cuStreamBatchMemOp(s, 0, op, 0)); /* nothing to do */
	FAILS(cuStreamBatchMemOp(s, 1, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	for (int i = 0; i < 257; i++)
		many[i] = op[0];
	CU(cuStreamBatchMemOp(s, 256, many, 0));
	FAILS(cuStreamBatchMemOp(s, 257, many, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamWaitValue32(s, d, 0, 4), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamWaitValue64(s, d + 4, 0, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamWriteValue64(s, d + 16, 0, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamWriteValue32(s, d, 0, 2), CUDA_ERROR_INVALID_VALUE);
	/* The flag of the first versions only. */
	FAILS(cuStreamWriteValue32(s, d, 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER), CUDA_ERROR_NOT_SUPPORTED);
	CU(cuGetProcAddress("cuStreamWriteValue32", (void **)&old, 8000, 0, NULL));
	CU(old(s, d, 3, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
	CU(cuStreamSynchronize(s));
	CU(cuMemcpyDtoH(back, d, 4));
	is(back[0], 3);
	CU(cuMemFree(d));
	CU(cuStreamDestroy(s));
	CU(cuStreamDestroy(t));
}

static void attributes(void)
{
	CUstreamAttrValue v, back;
	CUstream s = stream_new(), t = stream_new();

	memset(&v, 0, sizeof(v));
	v.accessPolicyWindow = (CUaccessPolicyWindow){ NULL, 4096, 0.5f, CU_ACCESS_PROPERTY_PERSISTING,
						       CU_ACCESS_PROPERTY_STREAMING };
	CU(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
	v.accessPolicyWindow.hitRatio = 1.5f;
	FAILS(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v), CUDA_ERROR_INVALID_VALUE);
	v.syncPolicy = CU_SYNC_POLICY_SPIN;
	CU(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
	v.syncPolicy = (CUsynchronizationPolicy)9;
	FAILS(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v), CUDA_ERROR_INVALID_VALUE);
	CU(cuStreamCopyAttributes(t, s));
	CU(cuStreamGetAttribute(t, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &back));
	ok(back.accessPolicyWindow.num_bytes == 4096 && back.accessPolicyWindow.hitRatio == 0.5f);
	CU(cuStreamGetAttribute(t, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &back));
	is(back.syncPolicy, CU_SYNC_POLICY_SPIN);
	v.priority = -3;
	CU(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	CU(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &back));
	is(back.priority, -3);
	CU(cuStreamGetAttribute(t, CU_LAUNCH_ATTRIBUTE_PRIORITY, &back));
	is(back.priority, 0);
	memset(&v, 0, sizeof(v));
	v.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
	CU(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &v));
	CU(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &back));
	is(back.memSyncDomain, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
	v.memSyncDomainMap.remote = 1; /* the device has one domain */
	FAILS(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &v), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &back), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuStreamDestroy(s));
	CU(cuStreamDestroy(t));
}

static void about(void)
{
	CUstream s = stream_new();
	unsigned long long id = 0, other = 0;
	CUcontext c = NULL, current;
	CUgreenCtx green = (CUgreenCtx)&id;
	CUdevice d = -1;
	int priority;

	CU(cuStreamGetDevice(s, &d));
	is(d, 0);
	CU(cuCtxGetCurrent(&current));
	CU(cuStreamGetCtx_v2(s, &c, &green));
	ok(c == current && !green);
	CU(cuStreamGetId(s, &id));
	CU(cuStreamGetId(NULL, &other));
	ok(id != other);
	CU(cuStreamGetId(CU_STREAM_LEGACY, &id));
	is(id, other);
	CU(cuStreamGetId(CU_STREAM_PER_THREAD, &other));
	ok(id != other);
	CU(cuStreamDestroy(s));
	CU(cuStreamCreateWithPriority(&s, CU_STREAM_DEFAULT, -100));
	CU(cuStreamGetPriority(s, &priority));
	is(priority, -5);
	CU(cuStreamDestroy(s));
	CU(cuStreamCreateWithPriority(&s, CU_STREAM_DEFAULT, 100));
	CU(cuStreamGetPriority(s, &priority));
	is(priority, 0);
	CU(cuStreamDestroy(s));
	FAILS(cuStreamCreate(&s, 2), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamGetId((CUstream)(uintptr_t)0x1000, &id), CUDA_ERROR_INVALID_HANDLE);
}

static atomic_int calls;
static CUstream expected_stream;

static void count_call(void *value)
{
	atomic_fetch_add(&calls, (int)(intptr_t)value);
}

static void count_callback(CUstream s, CUresult status, void *value)
{
	/* No calls are permitted in here. */
	if (s == expected_stream && !status && cuStreamQuery(s) == CUDA_ERROR_NOT_PERMITTED)
		atomic_fetch_add(&calls, (int)(intptr_t)value);
}

static void host_functions(void)
{
	CUstream s = stream_new();

	expected_stream = s;
	CU(cuLaunchHostFunc(s, count_call, (void *)1));
	CU(cuStreamAddCallback(s, count_callback, (void *)10, 0));
	CU(cuStreamSynchronize(s));
	is(calls, 11);
	FAILS(cuLaunchHostFunc(s, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamAddCallback(s, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamAddCallback(s, count_callback, NULL, 1), CUDA_ERROR_INVALID_VALUE);
	CU(cuStreamDestroy(s));
}

static void events(void)
{
	CUstream s = stream_new();
	CUevent a, b, quiet;
	CUdeviceptr d;
	float time = -1;

	CU(cuEventCreate(&a, CU_EVENT_DEFAULT));
	CU(cuEventCreate(&b, CU_EVENT_BLOCKING_SYNC));
	CU(cuEventCreate(&quiet, CU_EVENT_DISABLE_TIMING));
	FAILS(cuEventCreate(&a, 8), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuEventElapsedTime(&time, a, b), CUDA_ERROR_INVALID_HANDLE); /* never recorded */
	CU(cuEventQuery(a));
	CU(cuEventSynchronize(a));
	CU(cuMemAlloc(&d, 4));
	CU(cuMemsetD32(d, 0, 1));
	CU(cuCtxSynchronize());
	CU(cuEventRecord(a, s));
	CU(cuStreamWaitValue32(s, d, 1, EQ));
	CU(cuEventRecordWithFlags(b, s, CU_EVENT_RECORD_DEFAULT));
	FAILS(cuEventQuery(b), CUDA_ERROR_NOT_READY);
	FAILS(cuEventElapsedTime(&time, a, b), CUDA_ERROR_NOT_READY);
	usleep(20000);
	CU(cuStreamWriteValue32(NULL, d, 1, 0));
	CU(cuEventSynchronize(b));
	CU(cuEventElapsedTime(&time, a, b));
	ok(time >= 19 && time < 5000);
	CU(cuEventElapsedTime(&time, b, a));
	ok(time <= -19);
	CU(cuEventRecord(quiet, s));
	CU(cuEventSynchronize(quiet));
	FAILS(cuEventElapsedTime(&time, a, quiet), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuEventElapsedTime(NULL, a, b), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuEventRecordWithFlags(a, s, 2), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuEventRecordWithFlags(a, s, CU_EVENT_RECORD_EXTERNAL), CUDA_ERROR_ILLEGAL_STATE);
	FAILS(cuStreamWaitEvent(s, a, 2), CUDA_ERROR_INVALID_VALUE);
	CU(cuEventDestroy(quiet));
	FAILS(cuEventQuery(quiet), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuEventDestroy(quiet), CUDA_ERROR_INVALID_HANDLE);
	CU(cuEventDestroy(a));
	CU(cuEventDestroy(b));
	CU(cuMemFree(d));
	CU(cuStreamDestroy(s));
}

int main(void)
{
	soft_begin("1", "64M");
	soft_context();
	conditions();
	batches();
	attributes();
	about();
	host_functions();
	events();
	return soft_end();
}
