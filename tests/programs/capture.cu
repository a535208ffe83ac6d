/* Graphs captured from streams: a fork and a join, memory of the graph's own, updates, what capture forbids. */
#include "program.h"

enum { N = 1024 };

#ifdef __CUDACC__

KERNEL set(unsigned *p, unsigned value)
{
	p[THREAD] = THREAD * value;
}

KERNEL add(unsigned *to, const unsigned *a, const unsigned *b)
{
	to[THREAD] = a[THREAD] + b[THREAD];
}

#else
#include PROGRAM_STUBS
#endif

static cudaGraph_t captured(cudaStream_t stream, cudaStream_t side, cudaEvent_t fork, cudaEvent_t join, unsigned *to, unsigned value)
{
	unsigned *a = NULL, *b = NULL;
	cudaGraph_t graph;
	enum cudaStreamCaptureStatus status;

	CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CALL(cudaMallocAsync((void **)&a, N * sizeof(*a), stream));
	CALL(cudaMallocAsync((void **)&b, N * sizeof(*b), stream));
	CALL(cudaEventRecord(fork, stream));
	CALL(cudaStreamWaitEvent(side, fork, 0));
	CALL(cudaStreamIsCapturing(side, &status));
	CHECK(status == cudaStreamCaptureStatusActive);
	CALL(LAUNCH_ON(set, N / 128, 128, 0, stream, a, value));
	CALL(LAUNCH_ON(set, N / 128, 128, 0, side, b, 100));
	CALL(cudaEventRecord(join, side));
	CALL(cudaStreamWaitEvent(stream, join, 0));
	CALL(LAUNCH_ON(add, N / 128, 128, 0, stream, to, a, b));
	CALL(cudaFreeAsync(a, stream));
	CALL(cudaFreeAsync(b, stream));
	CALL(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraph_t simple(cudaStream_t stream, unsigned *to, unsigned value)
{
	cudaGraph_t graph;

	CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CALL(LAUNCH_ON(set, N / 128, 128, 0, stream, to, value));
	CALL(cudaStreamEndCapture(stream, &graph));
	return graph;
}

int main(void)
{
	static unsigned z[N];
	unsigned *d = DEVICE_ALLOC(unsigned, N), i;
	cudaStream_t stream, side;
	cudaEvent_t fork, join;
	cudaGraph_t graph, other;
	cudaGraphExec_t exec;
	cudaGraphExecUpdateResultInfo info;
	size_t n = 0;

	CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CALL(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	CALL(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CALL(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	graph = captured(stream, side, fork, join, d, 7);
	CALL(cudaGraphGetNodes(graph, NULL, &n));
	CHECK(n == 7);
	CALL(cudaGraphInstantiate(&exec, graph, 0));
	for (i = 0; i < 5; i++)
		CALL(cudaGraphLaunch(exec, stream));
	CALL(cudaStreamSynchronize(stream));
	BRING(z, d);
	for (i = 0; i < N; i++)
		CHECK(z[i] == i * 107);
	CALL(cudaGraphExecDestroy(exec));
	CALL(cudaGraphDestroy(graph));

	graph = simple(stream, d, 3);
	other = simple(stream, d, 4);
	CALL(cudaGraphInstantiate(&exec, graph, 0));
	CALL(cudaGraphExecUpdate(exec, other, &info));
	CHECK(info.result == cudaGraphExecUpdateSuccess);
	CALL(cudaGraphLaunch(exec, stream));
	CALL(cudaStreamSynchronize(stream));
	BRING(z, d);
	CHECK(z[9] == 36);
	CALL(cudaGraphExecDestroy(exec));
	CALL(cudaGraphDestroy(graph));
	CALL(cudaGraphDestroy(other));

	CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	GIVES(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
	GIVES(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
	(void)cudaGetLastError();
	LAUNCH(set, N / 128, 128, d, 8);
	BRING(z, d);
	CHECK(z[2] == 16);
	return program_end();
}
