/* stream_test.c: streams, events and callbacks; and the per-thread default stream of the twins. */
#include "runtime/program.h"

#include <pthread.h>

/* Pinned: kernels wait on the first word, and a copy to the second does not wait for them. */
static unsigned *flag;

static void test_order(void)
{
	unsigned *p = NULL;
	cudaStream_t a, b;
	cudaEvent_t e;
	float ms = -1;
	int least = -1, greatest = 1;

	CALL(cudaMalloc((void **)&p, 4));
	CALL(cudaMemset(p, 0, 4));
	CALL(cudaDeviceSynchronize()); /* the streams below do not wait for the default stream */
	CALL(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CALL(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CALL(cudaEventCreate(&e));
	flag[0] = flag[1] = 0;
	CALL(launch_one(&await, flag, a));
	CALL(launch_add(p, 1, 1, a));
	CALL(cudaEventRecord(e, a));
	CALL(cudaStreamWaitEvent(b, e, 0));
	CALL(cudaMemcpyAsync(flag + 1, p, 4, cudaMemcpyDeviceToHost, b));
	FAILS(cudaEventQuery(e), cudaErrorNotReady);
	FAILS(cudaStreamQuery(a), cudaErrorNotReady);
	is(cudaGetLastError(), cudaErrorNotReady);
	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
	CALL(cudaStreamSynchronize(b));
	is(flag[1], 1);
	CALL(cudaStreamQuery(a));
	CALL(cudaEventElapsedTime(&ms, e, e));
	ok(ms == 0);
	CALL(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	ok(greatest <= least);
	CALL(cudaEventDestroy(e));
	CALL(cudaStreamDestroy(a));
	CALL(cudaStreamDestroy(b));
	CALL(cudaFree(p));
}

static void called_back(cudaStream_t stream, cudaError_t status, void *user)
{
	*(int *)user += status == cudaSuccess ? 1 : 100;
}

static void called(void *user)
{
	*(int *)user += 10;
}

static void test_callbacks(void)
{
	int n = 0;

	CALL(cudaStreamAddCallback(NULL, called_back, &n, 0));
	CALL(cudaLaunchHostFunc(NULL, called, &n));
	CALL(cudaStreamSynchronize(NULL));
	is(n, 11);
	FAILS(cudaStreamAddCallback(NULL, NULL, &n, 0), cudaErrorInvalidValue);
	cudaGetLastError();
}

/* Work in the per-thread stream of one thread does not hold up that of another. */
static void *second_thread(void *unused)
{
	unsigned value = 0, *p = NULL;
	void *args[3];
	unsigned n = 1, x = 5;
	struct dim3 one = { 1, 1, 1 };

	CALL(cudaMalloc((void **)&p, 4));
	args[0] = &p;
	args[1] = &n;
	args[2] = &x;
	CALL(cudaMemsetAsync_ptsz(p, 0, 4, NULL));
	CALL(cudaLaunchKernel_ptsz(&add, one, one, args, 0, NULL));
	CALL(cudaMemcpy_ptds(&value, p, 4, cudaMemcpyDeviceToHost));
	is(value, 5);
	CALL(cudaStreamSynchronize_ptsz(NULL));
	return p;
}

static void test_per_thread(void)
{
	struct dim3 one = { 1, 1, 1 };
	void *args[] = { &flag };
	void *p = NULL;
	pthread_t t;

	*flag = 0;
	CALL(cudaLaunchKernel_ptsz(&await, one, one, args, 0, NULL));
	FAILS(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
	pthread_create(&t, NULL, second_thread, NULL);
	pthread_join(t, &p);
	FAILS(cudaStreamQuery_ptsz(NULL), cudaErrorNotReady);
	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
	CALL(cudaStreamSynchronize(cudaStreamPerThread));
	CALL(cudaFree(p));
	cudaGetLastError();
}

int main(void)
{
	program_begin("1");
	CALL(cudaMallocHost((void **)&flag, 8));
	/* Loading an image may wait for the device: do it before a kernel waits for us. */
	CALL(launch_add(flag, 1, 0, NULL));
	CALL(cudaDeviceSynchronize());
	test_order();
	test_callbacks();
	test_per_thread();
	CALL(cudaFreeHost(flag));
	return program_end();
}
