/* error_test.c: names and texts, the last error of a thread, errors that stay, and how kernels' errors show. */
#include "runtime/program.h"

#include <pthread.h>

static void *other_thread(void *unused)
{
	is(cudaPeekAtLastError(), cudaSuccess);
	cudaMalloc(NULL, 1);
	return NULL;
}

static void test_last_error(void)
{
	pthread_t t;

	is_str(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
	is_str(cudaGetErrorString(cudaSuccess), "no error");
	is_str(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
	is_str(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
	is_str(cudaGetErrorString((cudaError_t)12345), "unrecognized error code");
	is(cudaGetLastError(), cudaSuccess);
	FAILS(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
	is(cudaPeekAtLastError(), cudaErrorInvalidValue);
	/* A call that succeeds leaves it. */
	CALL(cudaDeviceSynchronize());
	is(cudaPeekAtLastError(), cudaErrorInvalidValue);
	is(cudaGetLastError(), cudaErrorInvalidValue);
	is(cudaGetLastError(), cudaSuccess);
	pthread_create(&t, NULL, other_thread, NULL);
	pthread_join(t, NULL);
	is(cudaGetLastError(), cudaSuccess);
}

static void test_memory(void)
{
	void *p = &p;
	cudaEvent_t never = NULL;
	cudaError_t e;

	FAILS(cudaMalloc(&p, 1ul << 40), cudaErrorMemoryAllocation);
	is(cudaGetLastError(), cudaErrorMemoryAllocation);
	CALL(cudaMalloc(&p, 0));
	ok(p == NULL);
	CALL(cudaFree(NULL));
	FAILS(cudaFree((void *)64), cudaErrorInvalidValue);
	e = cudaMemcpy(&p, &p, 8, (enum cudaMemcpyKind)9);
	is(e, cudaErrorInvalidMemcpyDirection);
	FAILS(cudaMemcpy2D(&p, 4, &p, 8, 8, 1, cudaMemcpyHostToHost), cudaErrorInvalidPitchValue);
	FAILS(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
	FAILS(cudaEventRecord(never, NULL), cudaErrorInvalidResourceHandle);
	cudaGetLastError();
}

static void test_sticky(void)
{
	unsigned value, *p = NULL;

	CALL(cudaMalloc((void **)&p, 4));
	CALL(launch_one(&wild, (void *)8, NULL));
	FAILS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	FAILS(cudaMalloc((void **)&p, 4), cudaErrorIllegalAddress);
	FAILS(launch_one(&wild, p, NULL), cudaErrorIllegalAddress);
	is(cudaGetLastError(), cudaErrorIllegalAddress);
	is(cudaGetLastError(), cudaErrorIllegalAddress);
	CALL(cudaDeviceReset());
	is(cudaGetLastError(), cudaSuccess);
	CALL(cudaMalloc((void **)&p, 4));
	CALL(cudaMemset(p, 0, 4));
	CALL(launch_add(p, 1, 9, NULL));
	CALL(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
	is(value, 9);
	CALL(cudaFree(p));
}

static void test_unsupported(void)
{
	const void *table_of_vendor = &table_of_vendor;
	cudaUUID_t id = { { 0 } };
	int version = 0;

	FAILS(cudaGetExportTable(&table_of_vendor, &id), cudaErrorNotSupported);
	ok(table_of_vendor == NULL);
	is(cudaGetLastError(), cudaErrorNotSupported);
	CALL(cudaRuntimeGetVersion(&version));
	is(version, CUDART_VERSION);
	CALL(cudaDriverGetVersion(&version));
	ok(version >= CUDART_VERSION);
}

int main(void)
{
	program_begin("1");
	test_last_error();
	test_memory();
	test_sticky();
	test_unsupported();
	return program_end();
}
