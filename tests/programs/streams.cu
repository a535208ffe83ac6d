/* Streams and events: order within and across streams, queries, priorities, flags, times, the default streams. */
#include "program.h"

enum { N = 4096, STREAMS = 4 };

#ifdef __CUDACC__

KERNEL step(unsigned *p, int n, unsigned factor, unsigned add)
{
	int i = THREAD;

	if (i < n)
		p[i] = p[i] * factor + add;
}

/* Holds its stream until the host says so. */
KERNEL await(volatile unsigned *flag)
{
	while (!*flag)
		;
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static unsigned z[N];
	cudaStream_t stream[STREAMS], blocking;
	cudaEvent_t done, begin, end;
	unsigned *d[STREAMS], *host, *flag = NULL, *flag_device = NULL, flags = 0;
	int i, k, least = 0, greatest = 0, priority = 99;
	float ms = -1;

	CALL(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	CHECK(least >= greatest);
	for (i = 0; i < STREAMS; i++) {
		CALL(cudaStreamCreateWithPriority(stream + i, cudaStreamNonBlocking, i % 2 ? least : greatest));
		d[i] = DEVICE_ALLOC(unsigned, N);
	}
	CALL(cudaStreamGetPriority(stream[0], &priority));
	CHECK(priority == greatest);
	CALL(cudaStreamGetFlags(stream[0], &flags));
	CHECK(flags == cudaStreamNonBlocking);
	CALL(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	CALL(cudaEventCreate(&begin));
	CALL(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
	CALL(cudaMallocHost((void **)&host, N * sizeof(*host)));
	CALL(cudaHostAlloc((void **)&flag, sizeof(*flag), cudaHostAllocMapped));
	CALL(cudaHostGetDevicePointer((void **)&flag_device, flag, 0));

	/* Order within a stream, copies included. */
	for (i = 0; i < N; i++)
		host[i] = i;
	CALL(cudaMemcpyAsync(d[0], host, N * sizeof(*host), cudaMemcpyHostToDevice, stream[0]));
	CALL(cudaEventRecord(begin, stream[0]));
	for (k = 0; k < 10; k++)
		CALL(LAUNCH_ON(step, N / 256, 256, 0, stream[0], d[0], N, 3, k));
	CALL(cudaEventRecord(end, stream[0]));
	CALL(cudaMemcpyAsync(host, d[0], N * sizeof(*host), cudaMemcpyDeviceToHost, stream[0]));
	CALL(cudaStreamSynchronize(stream[0]));
	for (i = 0; i < N; i++) {
		unsigned v = i;

		for (k = 0; k < 10; k++)
			v = v * 3 + k;
		CHECK(host[i] == v);
	}
	CALL(cudaEventElapsedTime(&ms, begin, end));
	CHECK(ms >= 0 && ms < 10000);
	GIVES(cudaEventElapsedTime(&ms, begin, done), cudaErrorInvalidResourceHandle);
	(void)cudaGetLastError();

	/* A stream that waits for an event of another, which has not happened yet. */
	*flag = 0;
	CALL(LAUNCH_ON(await, 1, 1, 0, stream[1], flag_device));
	CALL(LAUNCH_ON(step, N / 256, 256, 0, stream[1], d[1], N, 0, 42));
	CALL(cudaEventRecord(done, stream[1]));
	CALL(cudaStreamWaitEvent(stream[2], done, 0));
	CALL(LAUNCH_ON(step, N / 256, 256, 0, stream[2], d[1], N, 2, 1));
	GIVES(cudaEventQuery(done), cudaErrorNotReady);
	GIVES(cudaStreamQuery(stream[2]), cudaErrorNotReady);
	(void)cudaGetLastError();
	/* a stream beside them goes on */
	CALL(LAUNCH_ON(step, N / 256, 256, 0, stream[3], d[3], N, 0, 7));
	CALL(cudaStreamSynchronize(stream[3]));
	*(volatile unsigned *)flag = 1;
	CALL(cudaStreamSynchronize(stream[2]));
	GIVES(cudaEventQuery(done), cudaSuccess);
	BRING(z, d[1]);
	for (i = 0; i < N; i++)
		CHECK(z[i] == 85);

	/* The default stream waits for streams that block, and they for it. */
	CALL(cudaStreamCreate(&blocking));
	CALL(LAUNCH_ON(step, N / 256, 256, 0, blocking, d[2], N, 0, 1));
	CALL(LAUNCH_ON(step, N / 256, 256, 0, 0, d[2], N, 10, 2));
	CALL(LAUNCH_ON(step, N / 256, 256, 0, blocking, d[2], N, 10, 3));
	CALL(LAUNCH_ON(step, N / 256, 256, 0, cudaStreamLegacy, d[2], N, 10, 4));
	SYNC();
	BRING(z, d[2]);
	for (i = 0; i < N; i++)
		CHECK(z[i] == 1234);
	for (i = 0; i < STREAMS; i++)
		CALL(cudaStreamDestroy(stream[i]));
	CALL(cudaStreamDestroy(blocking));
	CALL(cudaEventDestroy(done));
	CALL(cudaEventDestroy(begin));
	CALL(cudaEventDestroy(end));
	CALL(cudaFreeHost(host));
	CALL(cudaFreeHost(flag));
	return program_end();
}
