/*
 * queued.cu: memory of the program that queued work reads and writes: pinned memory that a copy fills and the next one
 * reads, host functions in between, copies that become part of graphs, from pinned and from ordinary memory; events
 * that are recorded again after they were reached.
 */
#include "program.h"

#define COUNT 1000

#ifdef __CUDACC__

KERNEL raise(int *p, int n, int by)
{
	int i = THREAD;

	if (i < n)
		p[i] += by;
}

#else
#include PROGRAM_STUBS
#endif

#define RAISE(p, by, stream) CALL(LAUNCH_ON(raise, 4, 256, 0, stream, p, COUNT, by))

static int *pinned;

static void twice(void *data)
{
	(void)data;
	for (int i = 0; i < COUNT; i++)
		pinned[i] *= 2;
}

/* Device to pinned memory and on to another place, without the host waiting in between. */
static void through_pinned(cudaStream_t s, cudaStream_t t, int *a, int *b)
{
	int back[COUNT] = { 0 };
	cudaEvent_t event;

	CALL(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (int i = 0; i < COUNT; i++)
		pinned[i] = i;
	CALL(cudaMemcpyAsync(a, pinned, sizeof(back), cudaMemcpyHostToDevice, s));
	RAISE(a, 7, s);
	CALL(cudaMemcpyAsync(pinned, a, sizeof(back), cudaMemcpyDeviceToHost, s));
	CALL(cudaMemcpyAsync(b, pinned, sizeof(back), cudaMemcpyHostToDevice, s));
	CALL(cudaMemcpyAsync(back, b, sizeof(back), cudaMemcpyDeviceToHost, s));
	CALL(cudaStreamSynchronize(s));
	CHECK(back[0] == 7 && back[COUNT - 1] == COUNT + 6);
	for (int k = 0; k < 3; k++) {
		CALL(cudaMemcpyAsync(pinned, a, sizeof(back), cudaMemcpyDeviceToHost, s));
		CALL(cudaLaunchHostFunc(s, twice, NULL));
		CALL(cudaMemcpyAsync(a, pinned, sizeof(back), cudaMemcpyHostToDevice, s));
		RAISE(a, 1, s);
	}
	CALL(cudaMemcpyAsync(pinned, a, sizeof(back), cudaMemcpyDeviceToHost, s));
	CALL(cudaEventRecord(event, s));
	CALL(cudaStreamWaitEvent(t, event, 0));
	CALL(cudaMemcpyAsync(b, pinned, sizeof(back), cudaMemcpyHostToDevice, t));
	CALL(cudaMemcpyAsync(back, b, sizeof(back), cudaMemcpyDeviceToHost, t));
	CALL(cudaStreamSynchronize(t));
	CHECK(back[0] == 7 * 8 + 7 && back[1] == 8 * 8 + 7);
	CALL(cudaEventDestroy(event));
}

/* What is copied when the graph runs is what is there then. */
static void in_graph(cudaStream_t s, int *a, int *host, enum cudaMemcpyKind kind)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CALL(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CALL(cudaMemcpyAsync(a, host, COUNT * sizeof(int), cudaMemcpyHostToDevice, s));
	RAISE(a, 3, s);
	CALL(cudaMemcpyAsync(host + COUNT, a, COUNT * sizeof(int), kind, s));
	CALL(cudaStreamEndCapture(s, &graph));
	CALL(cudaGraphInstantiate(&exec, graph, 0));
	for (int k = 0; k < 4; k++) {
		for (int i = 0; i < COUNT; i++)
			host[i] = 10 * k + i;
		CALL(cudaGraphLaunch(exec, s));
		CALL(cudaStreamSynchronize(s));
		CHECK(host[COUNT] == 10 * k + 3 && host[2 * COUNT - 1] == 10 * k + COUNT + 2);
	}
	CALL(cudaGraphExecDestroy(exec));
	CALL(cudaGraphDestroy(graph));
}

/* Another place for a copy of a graph, in the executable one and in the one that it was made of. */
static void moved(cudaStream_t s, int *a)
{
	static int from[COUNT], to[2][COUNT];
	cudaGraphNode_t in, out;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CALL(cudaGraphCreate(&graph, 0));
	CALL(cudaGraphAddMemcpyNode1D(&in, graph, NULL, 0, a, from, sizeof(from), cudaMemcpyHostToDevice));
	CALL(cudaGraphAddMemcpyNode1D(&out, graph, &in, 1, to[0], a, sizeof(from), cudaMemcpyDeviceToHost));
	CALL(cudaGraphInstantiate(&exec, graph, 0));
	from[5] = 1;
	CALL(cudaGraphLaunch(exec, s));
	CALL(cudaStreamSynchronize(s));
	CALL(cudaGraphExecMemcpyNodeSetParams1D(exec, out, to[1], a, sizeof(from), cudaMemcpyDeviceToHost));
	from[5] = 2;
	CALL(cudaGraphLaunch(exec, s));
	CALL(cudaStreamSynchronize(s));
	CHECK(to[0][5] == 1 && to[1][5] == 2);
	CALL(cudaGraphMemcpyNodeSetParams1D(out, to[1] + 100, a, 400, cudaMemcpyDeviceToHost));
	CALL(cudaGraphExecDestroy(exec));
	CALL(cudaGraphInstantiate(&exec, graph, 0));
	CALL(cudaGraphLaunch(exec, s));
	CALL(cudaStreamSynchronize(s));
	CHECK(to[1][105] == 2 && to[0][5] == 1);
	CALL(cudaGraphExecDestroy(exec));
	CALL(cudaGraphDestroy(graph));
}

static void slow(void *data)
{
	while (!__atomic_load_n((int *)data, __ATOMIC_ACQUIRE))
		;
}

/* An event that was reached is not, once it is recorded behind work that waits. */
static void events(cudaStream_t s)
{
	int go = 0;
	cudaEvent_t event;

	CALL(cudaEventCreate(&event));
	CALL(cudaEventRecord(event, s));
	CALL(cudaEventSynchronize(event));
	CALL(cudaEventQuery(event));
	CALL(cudaLaunchHostFunc(s, slow, &go));
	CALL(cudaEventRecord(event, s));
	GIVES(cudaEventQuery(event), cudaErrorNotReady);
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	CALL(cudaEventSynchronize(event));
	CALL(cudaEventQuery(event));
	CALL(cudaEventDestroy(event));
}

/* What is wrong is told by the call itself. */
static void refusals(cudaStream_t s, int *a)
{
	struct cudaChannelFormatDesc format = { 32, 32, 32, 32, cudaChannelFormatKindFloat };
	int there[256] = { 0 };
	cudaArray_t array;

	CALL(cudaMallocArray(&array, &format, 8, 4, 0));
	GIVES(cudaMemcpy2DToArray(array, 0, 1, there, 128, 128, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	if (!on_gpu()) {
		GIVES(cudaMemcpy2DToArray(array, 0, 0, there, 128, 100, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
		GIVES(cudaDestroyTextureObject(1234), cudaErrorInvalidValue);
	}
	GIVES(cudaStreamAttachMemAsync(s, a, 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
	CALL(cudaGetLastError() == cudaErrorInvalidValue ? cudaSuccess : cudaErrorUnknown);
	CALL(cudaFreeArray(array));
	/* Memory that host and device reach, filled and copied as if it were the device's. */
	CALL(cudaMemset(pinned, 7, 100));
	CALL(cudaMemcpy(a, pinned, 400, cudaMemcpyDeviceToDevice));
	CALL(cudaMemcpy(there, a, 400, cudaMemcpyDeviceToHost));
	CHECK(there[0] == 0x07070707 && there[24] == 0x07070707);
}

int main(void)
{
	static int ordinary[2 * COUNT];
	int *a = DEVICE_ALLOC(int, COUNT), *b = DEVICE_ALLOC(int, COUNT);
	cudaStream_t s, t;

	CALL(cudaMallocHost((void **)&pinned, 2 * COUNT * sizeof(int)));
	CALL(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CALL(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	through_pinned(s, t, a, b);
	in_graph(s, a, pinned, cudaMemcpyDeviceToHost);
	in_graph(s, a, ordinary, cudaMemcpyDeviceToHost);
	in_graph(s, a, ordinary, cudaMemcpyDefault);
	moved(s, a);
	events(s);
	refusals(s, a);
	return program_end();
}
