/* stream_test.c: streams run on their own and in order; events mark places in them. */
#include "kit.h"
#include "basic_ptx.h"

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#define N 1024u

static CUfunction fill, add, churn;

/* A gate in a stream: what was put behind it does not begin before the host opens it. */
static void CUDA_CB wait_for_host(void *gate)
{
	while (sem_wait(gate) && errno == EINTR)
		;
}

static void gate_put(CUstream s, sem_t *gate)
{
	sem_init(gate, 0, 0);
	needs(cuLaunchHostFunc(s, wait_for_host, gate));
}

/* A memset is asynchronous, and non-blocking streams do not wait for the null stream: so it is waited for. */
static void fill_words(CUdeviceptr p, unsigned int value, size_t count)
{
	works(cuMemsetD32(p, value, count));
	works(cuCtxSynchronize());
}

static unsigned int first_word(CUdeviceptr p)
{
	CUstream s;
	unsigned int v = 0;

	/* A stream of its own: the null stream would wait for the streams under test. */
	works(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	works(cuMemcpyDtoHAsync(&v, p, sizeof v, s));
	works(cuStreamSynchronize(s));
	works(cuStreamDestroy(s));
	return v;
}

static void order(CUdeviceptr p)
{
	unsigned int *host, wrong = 0;
	CUstream s;
	sem_t gate;

	/* Pinned: a copy to pageable memory would wait for its turn at the call. */
	needs(cuMemAllocHost((void **)&host, 4 * N));
	memset(host, 0, 4 * N);
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	works(cuStreamQuery(s));
	fill_words(p, 1, N);
	gate_put(s, &gate);
	works(kit_launch(fill, p, N, 10, s));
	works(kit_launch(add, p, N, 5, s));
	works(cuMemcpyDtoHAsync(host, p, 4 * N, s));
	works(cuMemsetD32Async(p, 99, N, s));
	answers(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	is(first_word(p), 1);
	sem_post(&gate);
	works(cuStreamSynchronize(s));
	works(cuStreamQuery(s));
	for (unsigned int i = 0; i < N; i++)
		wrong += host[i] != 15;
	is(wrong, 0);
	is(first_word(p), 99);
	works(cuStreamDestroy(s));
	works(cuMemFreeHost(host));
	sem_destroy(&gate);
}

static void side_by_side(CUdeviceptr p)
{
	CUstream held, other;
	sem_t gate;

	needs(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING));
	needs(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	fill_words(p, 0, 2 * N);
	gate_put(held, &gate);
	works(kit_launch(fill, p, N, 1, held));
	works(kit_launch(fill, p + 4 * N, N, 2, other));
	works(cuStreamSynchronize(other));
	is(first_word(p + 4 * N), 2);
	is(first_word(p), 0);
	sem_post(&gate);
	works(cuCtxSynchronize());
	is(first_word(p), 1);
	works(cuStreamDestroy(held));
	works(cuStreamDestroy(other));
	sem_destroy(&gate);
}

/* The null stream waits for blocking streams, and they for it; non-blocking ones do not care. */
static void null_stream(CUdeviceptr p)
{
	CUstream blocking;
	unsigned int v = 0;
	sem_t gate;

	needs(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	fill_words(p, 0, N);
	gate_put(blocking, &gate);
	works(kit_launch(fill, p, N, 7, blocking));
	works(kit_launch(add, p, N, 1, NULL));
	answers(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
	is(first_word(p), 0);
	sem_post(&gate);
	works(cuMemcpyDtoH(&v, p, sizeof v));
	is(v, 8);
	works(cuStreamDestroy(blocking));
	sem_destroy(&gate);
}

static void events(CUdeviceptr p)
{
	CUstream a, b;
	CUevent before, after, plain;
	float ms = -1;
	sem_t gate;

	needs(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	needs(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	needs(cuEventCreate(&before, CU_EVENT_DEFAULT));
	needs(cuEventCreate(&after, CU_EVENT_DEFAULT));
	needs(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
	works(cuEventQuery(after));

	fill_words(p, 0, N);
	works(cuEventRecord(before, a));
	gate_put(a, &gate);
	works(kit_launch(churn, p, N, 100000, a));
	works(kit_launch(fill, p, N, 3, a));
	works(cuEventRecord(after, a));
	works(cuStreamWaitEvent(b, after, 0));
	works(kit_launch(add, p, N, 4, b));
	works(cuEventSynchronize(before));
	answers(CUDA_ERROR_NOT_READY, cuEventQuery(after));
	answers(CUDA_ERROR_NOT_READY, cuStreamQuery(b));
	answers(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, before, after));
	usleep(5000);
	sem_post(&gate);
	works(cuStreamSynchronize(b));
	works(cuEventQuery(after));
	is(first_word(p), 7);
	works(cuEventElapsedTime(&ms, before, after));
	tap_ok(ms >= 4.0f && ms < 60000.0f, "the time between the events holds the 5 ms at the gate (%.2f ms)",
	       (double)ms);
	works(cuEventRecord(plain, a));
	works(cuEventSynchronize(plain));
	answers(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, before, plain));
	works(cuEventDestroy(before));
	works(cuEventDestroy(after));
	works(cuEventDestroy(plain));
	works(cuStreamDestroy(a));
	works(cuStreamDestroy(b));
	sem_destroy(&gate);
}

/* An event for several processes is an event like any other in its own, also where no other process can open it. */
static void event_of_several(CUdeviceptr p)
{
	CUevent e;
	CUstream s;

	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	answers(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&e, CU_EVENT_INTERPROCESS));
	needs(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	works(cuCtxSynchronize());
	works(cuMemsetD32Async(p, 5, N, s));
	works(cuEventRecord(e, s));
	works(cuEventSynchronize(e));
	is(first_word(p), 5);
	works(cuEventDestroy(e));
	works(cuStreamDestroy(s));
}

struct calls {
	int count;
	int order[8];
	CUresult status;
};

static void CUDA_CB callback(CUstream s, CUresult status, void *data)
{
	struct calls *c = data;

	c->status = status;
	c->order[c->count++ % 8] = 1;
}

static void CUDA_CB host_function(void *data)
{
	struct calls *c = data;

	c->order[c->count++ % 8] = 2;
}

static void callbacks(void)
{
	struct calls c = { .status = CUDA_ERROR_UNKNOWN };
	int version = 0;
	CUstream s;

	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	works(cuLaunchHostFunc(s, host_function, &c));
	works(cuStreamAddCallback(s, callback, &c, 0));
	works(cuLaunchHostFunc(s, host_function, &c));
	works(cuStreamSynchronize(s));
	is(c.count, 3);
	ok(c.order[0] == 2 && c.order[1] == 1 && c.order[2] == 2);
	is(c.status, CUDA_SUCCESS);
	works(cuDriverGetVersion(&version));
	if (version >= 13010) {
		works(cuLaunchHostFunc_v2(s, host_function, &c, CU_HOST_TASK_SPINWAIT));
		answers(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc_v2(s, host_function, &c, 2));
		works(cuStreamSynchronize(s));
		is(c.count, 4);
	}
	works(cuStreamDestroy(s));
}

static void properties(void)
{
	int least = 0, greatest = 0, priority = 99;
	unsigned int flags = 99;
	CUcontext c = NULL;
	CUstream s;

	works(cuCtxGetStreamPriorityRange(&least, &greatest));
	ok(greatest <= least);
	needs(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, greatest));
	works(cuStreamGetPriority(s, &priority));
	is(priority, greatest);
	works(cuStreamGetFlags(s, &flags));
	is(flags, CU_STREAM_NON_BLOCKING);
	works(cuStreamGetCtx(s, &c));
	ok(c == kit.context);
	works(cuStreamDestroy(s));
	answers(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(NULL, 0));
	answers(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&s, 0x1000));
}

/* A stream may be destroyed while work is still in it; the work is done all the same. */
static void destroyed_early(CUdeviceptr p)
{
	CUstream s;

	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	fill_words(p, 0, N);
	works(kit_launch(churn, p, N, 100000, s));
	works(kit_launch(fill, p, N, 21, s));
	works(cuStreamDestroy(s));
	works(cuCtxSynchronize());
	is(first_word(p), 21);
}

/* A capture that goes wrong says so with the call that made it wrong, and leaves nothing for the next one. */
static void bad_captures(CUdeviceptr p)
{
	unsigned int n = 8, v = 3;
	void *args[] = { &p, &n, &v };
	CUgraph graph = (CUgraph)&n;
	CUstream s, other;
	CUevent fork;

	needs(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	needs(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	needs(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	works(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	answers(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
	answers(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
	ok(!graph);

	graph = (CUgraph)&n;
	works(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	works(cuEventRecord(fork, s));
	works(cuStreamWaitEvent(other, fork, 0));
	works(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, other, args, NULL));
	answers(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(s, &graph));
	ok(!graph);

	works(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	works(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, s, args, NULL));
	works(cuStreamEndCapture(s, &graph));
	ok(graph != NULL);
	works(cuGraphDestroy(graph));
	works(cuEventDestroy(fork));
	works(cuStreamDestroy(other));
	works(cuStreamDestroy(s));
}

/* What the capture's next node needs may be asked for without the edges' data, as long as they say nothing. */
static void needed_by_capture(CUstream s)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	const CUgraphNode *nodes = NULL;
	size_t count = 0;

	works(cuStreamGetCaptureInfo_v3(s, &status, NULL, NULL, &nodes, NULL, &count));
	is(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	tap_ok(nodes && count == 1, "the capture goes on behind %zu node", count);
}

/* A stream that joined a capture may go before it ends: come back it is no loss, not come back the capture fails. */
static void joined_stream_goes(CUdeviceptr p)
{
	CUgraph graph = NULL, own;
	CUgraphExec x;
	CUstream s, other;
	CUevent fork, join;

	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	needs(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	needs(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	for (int back = 0; back < 2; back++) {
		needs(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
		works(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
		works(cuEventRecord(fork, s));
		works(cuStreamWaitEvent(other, fork, 0));
		works(cuMemsetD32Async(p, 77, N, other));
		works(cuEventRecord(join, other));
		works(cuStreamDestroy(other));
		if (back)
			works(cuStreamWaitEvent(s, join, 0));
		if (back)
			needed_by_capture(s);
		answers(back ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(s, &graph));
	}
	fill_words(p, 0, N);
	needs(cuGraphInstantiate(&x, graph, 0));
	works(cuGraphLaunch(x, s));
	works(cuStreamSynchronize(s));
	is(first_word(p), 77);
	works(cuGraphExecDestroy(x));
	works(cuGraphDestroy(graph));

	/* a capture into the program's own graph need not be given it */
	needs(cuGraphCreate(&own, 0));
	works(cuStreamBeginCaptureToGraph(s, own, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
	works(cuMemsetD32Async(p, 78, N, s));
	works(cuStreamEndCapture(s, NULL));
	needs(cuGraphInstantiate(&x, own, 0));
	works(cuGraphLaunch(x, s));
	works(cuStreamSynchronize(s));
	is(first_word(p), 78);
	works(cuGraphExecDestroy(x));
	works(cuGraphDestroy(own));
	works(cuEventDestroy(fork));
	works(cuEventDestroy(join));
	works(cuStreamDestroy(s));
}

/* Words in memory that host and device share are written and awaited by streams as well. */
static void host_values(CUdeviceptr p)
{
	unsigned int *word;
	CUdeviceptr at;
	CUstream s;

	needs(cuMemHostAlloc((void **)&word, 64, CU_MEMHOSTALLOC_DEVICEMAP));
	needs(cuMemHostGetDevicePointer(&at, word, 0));
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	word[0] = 1;
	word[1] = 2;
	works(cuStreamWriteValue32(s, at, 99, 0));
	works(cuStreamWaitValue32(s, at + 4, 2, CU_STREAM_WAIT_VALUE_EQ));
	works(cuStreamSynchronize(s));
	is(word[0], 99);
	works(cuStreamDestroy(s));
	works(cuMemFreeHost(word));
}

static void capture_modes(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	works(cuThreadExchangeStreamCaptureMode(&mode));
	is(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
	works(cuThreadExchangeStreamCaptureMode(&mode));
	is(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (kit.soft) { /* NVIDIA's driver 580 takes the first, and crashes with the second */
		mode = (CUstreamCaptureMode)3;
		answers(CUDA_ERROR_INVALID_VALUE, cuThreadExchangeStreamCaptureMode(&mode));
		answers(CUDA_ERROR_INVALID_VALUE, cuThreadExchangeStreamCaptureMode(NULL));
	}
	mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
	works(cuThreadExchangeStreamCaptureMode(&mode));
	is(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

/* A capture that has begun in this mode, and what a call that is unsafe meanwhile makes of it. */
static void unsafe_call(CUstreamCaptureMode mode, bool refused)
{
	CUresult expected = refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
	CUdeviceptr p = 0;
	CUgraph g = NULL;
	CUevent e;
	CUstream s;

	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	needs(cuEventCreate(&e, 0));
	works(cuStreamBeginCapture(s, mode));
	answers(expected, cuMemAlloc(&p, 4096));
	answers(expected, cuEventQuery(e));
	answers(refused ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS, cuStreamEndCapture(s, &g));
	works(cuMemFree(p));
	if (g)
		works(cuGraphDestroy(g));
	works(cuEventDestroy(e));
	works(cuStreamDestroy(s));
}

static void *unsafe_elsewhere(void *arg)
{
	CUdeviceptr *p = arg;

	cuCtxSetCurrent(kit.context);
	return (void *)(intptr_t)cuMemAlloc(p, 4096);
}

/* Another thread's capture forbids it only where that is for all threads. */
static void unsafe_thread(CUstreamCaptureMode mode, CUresult expected)
{
	void *ret = NULL;
	CUdeviceptr p = 0;
	CUgraph g = NULL;
	pthread_t t;
	CUstream s;

	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	works(cuStreamBeginCapture(s, mode));
	ok(pthread_create(&t, NULL, unsafe_elsewhere, &p) == 0 && pthread_join(t, &ret) == 0);
	is((CUresult)(intptr_t)ret, expected);
	cuStreamEndCapture(s, &g);
	if (g)
		works(cuGraphDestroy(g));
	works(cuMemFree(p));
	works(cuStreamDestroy(s));
}

static void *ends_elsewhere(void *arg)
{
	CUgraph g = NULL;
	CUresult r;

	cuCtxSetCurrent(kit.context);
	r = cuStreamEndCapture(arg, &g);
	if (g)
		cuGraphDestroy(g);
	return (void *)(intptr_t)r;
}

/* Another thread may end a capture only where it is relaxed; where not it goes on. */
static void ended_by_thread(CUstreamCaptureMode mode, CUresult expected)
{
	CUgraph g = NULL;
	void *ret = NULL;
	pthread_t t;
	CUstream s;

	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	works(cuStreamBeginCapture(s, mode));
	ok(pthread_create(&t, NULL, ends_elsewhere, s) == 0 && pthread_join(t, &ret) == 0);
	is((CUresult)(intptr_t)ret, expected);
	if (expected) {
		works(cuStreamEndCapture(s, &g));
		works(cuGraphDestroy(g));
	}
	works(cuStreamDestroy(s));
}

static void unsafe_calls(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	unsafe_call(CU_STREAM_CAPTURE_MODE_GLOBAL, true);
	unsafe_call(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, true);
	unsafe_call(CU_STREAM_CAPTURE_MODE_RELAXED, false);
	works(cuThreadExchangeStreamCaptureMode(&mode));
	unsafe_call(CU_STREAM_CAPTURE_MODE_GLOBAL, false);
	works(cuThreadExchangeStreamCaptureMode(&mode));
	unsafe_thread(CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	unsafe_thread(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CUDA_SUCCESS);
	ended_by_thread(CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	ended_by_thread(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	ended_by_thread(CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS);
}

/* What is wrong with a value that a stream is to write or await is said by the call itself. */
static void bad_values(CUdeviceptr p)
{
	const CUdeviceptr nowhere = 0xdead0000;
	CUstreamBatchMemOpParams op = { .operation = CU_STREAM_MEM_OP_BARRIER };

	answers(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(NULL, p + 1, 0, 0));
	answers(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue64(NULL, p + 4, 0, 0));
	answers(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(NULL, p, 0, 8));
	answers(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(NULL, nowhere, 0, 0));
	answers(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(NULL, nowhere, 0, 0));
	answers(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue64(NULL, p + 4, 0, 0));
	works(cuStreamBatchMemOp(NULL, 0, &op, 0));
	answers(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(NULL, 257, &op, 0));
	if (kit.soft || kit.worker) /* NVIDIA's driver ends in SIGSEGV */
		answers(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(NULL, 1, NULL, 0));
	works(cuStreamSynchronize(NULL));
}

/*
 * What nobody waited for fails in a stream whose capture is spoilt, and the next capture begins all the same: what a
 * call has done is never hidden by an older failure.
 */
static void begun_after_failure(CUdeviceptr p)
{
	CUgraph g = NULL;
	CUstream s;

	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	works(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	answers(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(s));
	cuMemsetD32Async(p, 1, 1, s);
	answers(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	works(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	works(cuMemsetD32Async(p, 1, 1, s));
	works(cuStreamEndCapture(s, &g));
	works(cuGraphDestroy(g));
	works(cuStreamDestroy(s));
}

static void CUDA_CB sleeps(void *data)
{
	const struct timespec t = { .tv_nsec = 20000000 };

	(void)data;
	nanosleep(&t, NULL);
}

/*
 * What ends something may wait for a function of the program in a stream. Behind a wall the function's answer has to
 * come through meanwhile, and the managed memory that is made equal before it runs.
 */
static void ended_behind_function(void)
{
	const CUDA_ARRAY_DESCRIPTOR shape = { 64, 64, CU_AD_FORMAT_FLOAT, 1 };
	const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = kit.dev } };
	CUdeviceptr managed, pooled;
	CUmemoryPool pool;
	CUarray array;
	CUmodule m;
	CUstream s;

	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	needs(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
	needs(cuMemPoolCreate(&pool, &props));
	needs(cuMemAllocFromPoolAsync(&pooled, 4096, pool, s));
	needs(cuModuleLoadData(&m, basic_ptx));
	needs(cuArrayCreate(&array, &shape));
	works(cuMemsetD8Async(managed, 1, 4096, s));
	works(cuLaunchHostFunc(s, sleeps, NULL));
	works(cuArrayDestroy(array));
	works(cuLaunchHostFunc(s, sleeps, NULL));
	works(cuModuleUnload(m));
	works(cuLaunchHostFunc(s, sleeps, NULL));
	works(cuMemFree(managed));
	works(cuMemFreeAsync(pooled, s));
	works(cuStreamSynchronize(s));
	works(cuMemPoolDestroy(pool));
	works(cuStreamDestroy(s));
}

int main(void)
{
	CUmodule module;
	CUdeviceptr p;

	kit_begin();
	needs(cuModuleLoadData(&module, basic_ptx));
	fill = kit_kernel(module, "fill");
	add = kit_kernel(module, "add");
	churn = kit_kernel(module, "churn");
	needs(cuMemAlloc(&p, 2 * N * 4));
	order(p);
	side_by_side(p);
	null_stream(p);
	events(p);
	event_of_several(p);
	callbacks();
	properties();
	destroyed_early(p);
	host_values(p);
	bad_captures(p);
	joined_stream_goes(p);
	capture_modes();
	unsafe_calls();
	bad_values(p);
	begun_after_failure(p);
	ended_behind_function();
	works(cuMemFree(p));
	works(cuModuleUnload(module));
	return kit_end();
}
