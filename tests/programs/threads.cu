/* Threads of the host: each its own stream and error, the default stream of a thread, one device shared by all. */
#include "program.h"
#include <pthread.h>

enum { THREADS = 6, N = 2000, ROUNDS = 20 };

#ifdef __CUDACC__

KERNEL add(unsigned *p, unsigned value, unsigned *total)
{
	if (THREAD < N)
		p[THREAD] += value;
	if (THREAD == 0)
		atomicAdd(total, 1);
}

#else
#include PROGRAM_STUBS
#endif

static unsigned *total;
static unsigned good[THREADS];

static void *worker(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, *p, *host, i;
	void *none;
	cudaStream_t stream = cudaStreamPerThread;

	CALL(cudaSetDevice(0));
	if (me % 2)
		CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	host = (unsigned *)malloc(N * sizeof(*host));
	CALL(cudaMalloc((void **)&p, N * sizeof(*p)));
	CALL(cudaMemsetAsync(p, 0, N * sizeof(*p), stream));
	for (i = 0; i < ROUNDS; i++)
		CALL(LAUNCH_ON(add, N / 128 + 1, 128, 0, stream, p, me + i, total));
	/* one thread's error is not another's */
	if (me == 0 && cudaMalloc(&none, (size_t)1 << 50) != cudaErrorMemoryAllocation)
		return NULL;
	CALL(cudaMemcpyAsync(host, p, N * sizeof(*p), cudaMemcpyDeviceToHost, stream));
	CALL(cudaStreamSynchronize(stream));
	good[me] = cudaGetLastError() == (me ? cudaSuccess : cudaErrorMemoryAllocation);
	for (i = 0; i < N; i++)
		good[me] &= host[i] == me * ROUNDS + ROUNDS * (ROUNDS - 1) / 2;
	CALL(cudaFree(p));
	free(host);
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];
	unsigned sum[1];
	uintptr_t i;

	total = DEVICE_ALLOC(unsigned, 1);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(thread + i, NULL, worker, (void *)i));
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		CHECK(good[i]);
	}
	BRING(sum, total);
	CHECK(sum[0] == THREADS * ROUNDS);
	return program_end();
}
