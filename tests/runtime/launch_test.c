/* launch_test.c: kernels and variables by the addresses that constructors registered: launches, symbols, managed
 * variables. */
#include "runtime/program.h"

static void test_launch(void)
{
	unsigned host[1000], *p = NULL, good = 0;

	for (unsigned i = 0; i < 1000; i++)
		host[i] = i;
	CALL(cudaMalloc((void **)&p, sizeof(host)));
	CALL(cudaMemcpy(p, host, sizeof(host), cudaMemcpyHostToDevice));
	CALL(launch_add(p, 1000, 7, NULL));
	CALL(launch_add(p, 500, 100, NULL));
	CALL(cudaMemcpy(host, p, sizeof(host), cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < 1000; i++)
		good += host[i] == i + 7 + (i < 500 ? 100 : 0);
	is(good, 1000);
	CALL(cudaFree(p));
}

static void test_errors(void)
{
	void *args[] = { NULL };
	struct dim3 one = { 1, 1, 1 }, none = { 0, 1, 1 }, large = { 1024, 2, 1 }, tall = { 1, 1, 100000 };

	FAILS(cudaLaunchKernel(&one, one, one, args, 0, NULL), cudaErrorInvalidDeviceFunction);
	FAILS(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
	FAILS(cudaLaunchKernel(&missing, one, one, args, 0, NULL), cudaErrorInvalidDeviceFunction);
	FAILS(cudaLaunchKernel(&bounded, none, one, NULL, 0, NULL), cudaErrorInvalidConfiguration);
	FAILS(cudaLaunchKernel(&bounded, one, none, NULL, 0, NULL), cudaErrorInvalidConfiguration);
	FAILS(cudaLaunchKernel(&bounded, one, large, NULL, 0, NULL), cudaErrorInvalidConfiguration);
	FAILS(cudaLaunchKernel(&bounded, tall, one, NULL, 0, NULL), cudaErrorInvalidConfiguration);
	FAILS(cudaLaunchKernel(&bounded, one, one, NULL, 1 << 20, NULL), cudaErrorInvalidValue);
	FAILS(cudaGetLastError(), cudaErrorInvalidValue);
	FAILS(cudaGetLastError(), cudaSuccess);
}

/* What a stub does: take the configuration that the <<<>>> pushed, launch with it. */
static void test_configuration(void)
{
	struct dim3 grid = { 3, 2, 1 }, block = { 64, 1, 1 }, other = { 9, 9, 9 }, g, b;
	size_t shared = 0;
	cudaStream_t s = NULL;

	is(__cudaPushCallConfiguration(grid, block, 128, cudaStreamPerThread), 0);
	is(__cudaPushCallConfiguration(other, other, 1, NULL), 0);
	CALL(__cudaPopCallConfiguration(&g, &b, &shared, &s));
	is(g.x, 9);
	CALL(__cudaPopCallConfiguration(&g, &b, &shared, &s));
	is(g.x, 3);
	is(g.y, 2);
	is(b.x, 64);
	is(shared, 128);
	ok(s == cudaStreamPerThread);
	FAILS(__cudaPopCallConfiguration(&g, &b, &shared, &s), cudaErrorMissingConfiguration);
	cudaGetLastError();
#if CUDART_VERSION >= 12000
	{
		cudaKernel_t k = NULL;
		void *args[] = { NULL };

		CALL(__cudaGetKernel(&k, &bounded));
		CALL(__cudaLaunchKernel(k, grid, block, args, 0, NULL));
		FAILS(__cudaGetKernel(&k, &other), cudaErrorInvalidDeviceFunction);
		CALL(cudaGetKernel(&k, &bounded));
		CALL(cudaLaunchKernel(k, grid, block, args, 0, NULL));
	}
#endif
	CALL(cudaDeviceSynchronize());
}

static void test_symbols(void)
{
	unsigned value = 0, numbers[16] = { 42 }, *p = NULL, *out = NULL;
	size_t bytes = 0;

	CALL(cudaGetSymbolSize(&bytes, &table));
	is(bytes, 64);
	CALL(cudaMemcpyToSymbol(&table, numbers, sizeof(numbers), 0, cudaMemcpyHostToDevice));
	CALL(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDeviceToHost));
	is(value, 5);
	is(__cudaInitModule(program_handle), 1);
	ok(shared_word != NULL);
	is(*shared_word, 7);
	CALL(cudaMalloc((void **)&out, 4));
	CALL(launch_one(&count, out, NULL));
	CALL(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDefault));
	is(value, 6);
	is(*shared_word, 8);
	CALL(cudaMemcpy(&value, out, 4, cudaMemcpyDefault));
	is(value, 42);
	CALL(cudaGetSymbolAddress((void **)&p, &counter));
	CALL(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
	is(value, 6);
	CALL(cudaGetSymbolAddress((void **)&p, shared_word));
	ok(p == shared_word);
	CALL(cudaMemcpyFromSymbolAsync(&value, shared_word, 4, 0, cudaMemcpyDeviceToHost, NULL));
	CALL(cudaDeviceSynchronize());
	is(value, 8);
	FAILS(cudaMemcpyToSymbol(&table, numbers, 64, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	FAILS(cudaMemcpyToSymbol(&table, numbers, 4, 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
	FAILS(cudaMemcpyToSymbol(&value, numbers, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
	FAILS(cudaGetSymbolAddress((void **)&p, NULL), cudaErrorInvalidSymbol);
	cudaGetLastError();
	CALL(cudaFree(out));
}

static void test_functions(void)
{
	struct cudaFuncAttributes a;
	int blocks = 0;

	CALL(cudaFuncGetAttributes(&a, &bounded));
	is(a.maxThreadsPerBlock, 64);
	is(a.sharedSizeBytes, 256);
	CALL(cudaFuncGetAttributes(&a, &add));
	is(a.maxThreadsPerBlock, 1024);
	CALL(cudaFuncSetAttribute(&add, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
	CALL(cudaFuncGetAttributes(&a, &add));
	is(a.maxDynamicSharedSizeBytes, 64 * 1024);
	CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &add, 256, 0));
	ok(blocks > 0);
	FAILS(cudaFuncGetAttributes(&a, &blocks), cudaErrorInvalidDeviceFunction);
	cudaGetLastError();
}

static void test_launch_forms(void)
{
	unsigned host = 0, *p = NULL, n = 1, x = 3;
	void *args[] = { &p, &n, &x };
	struct dim3 one = { 1, 1, 1 };
	cudaLaunchConfig_t c = { .gridDim = one, .blockDim = one };

	CALL(cudaMalloc((void **)&p, 4));
	CALL(cudaMemset(p, 0, 4));
	CALL(cudaLaunchKernelExC(&c, &add, args));
	CALL(cudaLaunchCooperativeKernel(&add, one, one, args, 0, NULL));
	CALL(cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost));
	is(host, 6);
	CALL(cudaFree(p));
}

/* One image serves both devices, each with variables of its own; a reset gives the next launch a new context. */
static void test_devices(void)
{
	unsigned value = 0, *p = NULL;
	int device = -1;

	CALL(cudaSetDevice(1));
	CALL(cudaGetDevice(&device));
	is(device, 1);
	CALL(cudaMalloc((void **)&p, 4));
	CALL(launch_one(&count, p, NULL));
	CALL(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDeviceToHost));
	is(value, 6);
	CALL(cudaDeviceReset());
	CALL(cudaMalloc((void **)&p, 4));
	CALL(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDeviceToHost));
	is(value, 5);
	CALL(cudaGetDevice(&device));
	is(device, 1);
	FAILS(cudaSetDevice(2), cudaErrorInvalidDevice);
	FAILS(cudaSetDevice(-1), cudaErrorInvalidDevice);
	FAILS(cudaGetLastError(), cudaErrorInvalidDevice);
	CALL(cudaSetDevice(0));
}

static void test_unregister(void)
{
	__cudaUnregisterFatBinary(program_handle);
	FAILS(launch_one(&count, NULL, NULL), cudaErrorInvalidDeviceFunction);
	cudaGetLastError();
	program_register();
	test_launch();
}

int main(void)
{
	program_begin("2");
	test_symbols();
	test_launch();
	test_errors();
	test_configuration();
	test_functions();
	test_launch_forms();
	test_devices();
	test_unregister();
	return program_end();
}
