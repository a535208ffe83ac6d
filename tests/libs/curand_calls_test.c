/* curand_calls_test.c: cuRAND's calls on the software device: order in a stream, graphs, quota, wrong arguments. */
#include "softdev/soft.h"

#include "curand_table.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define COUNT 100000
#define GOOD(call) is(call, CURAND_STATUS_SUCCESS)

curandStatus_t curandCreateGenerator(curandGenerator_t *, curandRngType_t);
curandStatus_t curandCreateGeneratorHost(curandGenerator_t *, curandRngType_t);
curandStatus_t curandDestroyGenerator(curandGenerator_t);
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t, unsigned long long);
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t, curandOrdering_t);
curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t, unsigned int);
curandStatus_t curandSetStream(curandGenerator_t, cudaStream_t);
curandStatus_t curandGenerate(curandGenerator_t, unsigned int *, size_t);
curandStatus_t curandGenerateLongLong(curandGenerator_t, unsigned long long *, size_t);
curandStatus_t curandGenerateSeeds(curandGenerator_t);
curandStatus_t curandGenerateNormal(curandGenerator_t, float *, size_t, float, float);
curandStatus_t curandGeneratePoisson(curandGenerator_t, unsigned int *, size_t, double);
curandStatus_t curandGenerateBinomial(curandGenerator_t, unsigned int *, size_t, unsigned int, double);
curandStatus_t curandGetDirectionVectors32(void **, curandDirectionVectorSet_t);

static uint32_t numbers[COUNT], again[COUNT];

static void *at(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

/* A graph is launched twice: the generator's states are the device's, so that the second launch goes on. */
static void test_graph(void)
{
	curandGenerator_t g = NULL;
	CUgraphExec exec;
	CUgraph graph;
	CUstream stream;
	CUdeviceptr p;

	CU(cuMemAlloc(&p, sizeof(numbers)));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	GOOD(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_XORWOW));
	GOOD(curandSetStream(g, (cudaStream_t)stream));
	GOOD(curandGenerateSeeds(g));
	CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	GOOD(curandGenerate(g, at(p), 4096));
	CU(cuStreamEndCapture(stream, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 2; i++) {
		CU(cuGraphLaunch(exec, stream));
		CU(cuMemcpyDtoHAsync(numbers + 4096 * i, p, 4096 * 4, stream));
	}
	CU(cuStreamSynchronize(stream));
	GOOD(curandDestroyGenerator(g));
	GOOD(curandCreateGeneratorHost(&g, CURAND_RNG_PSEUDO_DEFAULT));
	GOOD(curandGenerate(g, again, 8192));
	tap_ok(!memcmp(numbers, again, 8192 * 4), "two launches of a captured call: the numbers of two calls");
	GOOD(curandDestroyGenerator(g));
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	CU(cuStreamDestroy(stream));
	CU(cuMemFree(p));
}

static void test_charge(void)
{
	size_t before = soft_free(), left;
	curandGenerator_t g = NULL;
	CUdeviceptr most = 0, p;

	CU(cuMemAlloc(&p, 4096));
	GOOD(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_MRG32K3A));
	GOOD(curandGenerate(g, at(p), 1024));
	tap_ok(before - soft_free() >= 81920 * 24, "the states of a generator are charged");
	GOOD(curandDestroyGenerator(g));
	left = soft_free() - (1 << 19);
	CU(cuMemAlloc(&most, left));
	GOOD(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_MRG32K3A));
	is(curandGenerate(g, at(p), 1024), CURAND_STATUS_ALLOCATION_FAILED);
	CU(cuMemFree(most));
	GOOD(curandGenerate(g, at(p), 1024));
	GOOD(curandDestroyGenerator(g));
	CU(cuMemFree(p));
	is(soft_free(), before);
}

static void test_moments(void)
{
	static const double means[] = { 0.5, 20, 300, 700, 10000 };
	curandGenerator_t g = NULL;

	GOOD(curandCreateGeneratorHost(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10));
	for (int k = 0; k < 5; k++) {
		double sum = 0, squares = 0;

		GOOD(curandGeneratePoisson(g, numbers, COUNT, means[k]));
		for (int i = 0; i < COUNT; i++) {
			sum += numbers[i];
			squares += (numbers[i] - means[k]) * (numbers[i] - means[k]);
		}
		tap_ok(fabs(sum / COUNT - means[k]) < 6 * sqrt(means[k] / COUNT), "Poisson, mean %g: %g", means[k],
		       sum / COUNT);
		tap_ok(fabs(squares / COUNT / means[k] - 1) < 0.04, "variance %g", squares / COUNT);
	}
	GOOD(curandDestroyGenerator(g));
}

static void test_wrong(void)
{
	char no_generator[64] __attribute__((aligned(8))) = { 0 };
	curandGenerator_t g = NULL, q = NULL;
	void *vectors = NULL;

	is(curandCreateGenerator(&g, (curandRngType_t)5), CURAND_STATUS_TYPE_ERROR);
	is(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_MT19937), CURAND_STATUS_TYPE_ERROR);
	GOOD(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT));
	GOOD(curandCreateGeneratorHost(&q, CURAND_RNG_QUASI_DEFAULT));
	is(curandGenerateNormal(g, (float *)numbers, 3, 0, 1), CURAND_STATUS_LENGTH_NOT_MULTIPLE);
	is(curandGenerateLongLong(g, (void *)numbers, 2), CURAND_STATUS_TYPE_ERROR);
	is(curandGeneratePoisson(g, numbers, 2, NAN), CURAND_STATUS_OUT_OF_RANGE);
	is(curandGeneratePoisson(g, numbers, 2, -1), CURAND_STATUS_OUT_OF_RANGE);
	is(curandSetQuasiRandomGeneratorDimensions(g, 2), CURAND_STATUS_TYPE_ERROR);
	is(curandSetGeneratorOrdering(g, CURAND_ORDERING_QUASI_DEFAULT), CURAND_STATUS_OUT_OF_RANGE);
	is(curandSetPseudoRandomGeneratorSeed(q, 1), CURAND_STATUS_TYPE_ERROR);
	is(curandSetQuasiRandomGeneratorDimensions(q, 0), CURAND_STATUS_OUT_OF_RANGE);
	is(curandSetQuasiRandomGeneratorDimensions(q, 20001), CURAND_STATUS_OUT_OF_RANGE);
	GOOD(curandSetQuasiRandomGeneratorDimensions(q, 3));
	is(curandGenerate(q, numbers, 4), CURAND_STATUS_LENGTH_NOT_MULTIPLE);
	GOOD(curandGenerate(q, numbers, 0));
	is(curandGenerateBinomial(g, numbers, 4, 3, 0.5), CURAND_STATUS_TYPE_ERROR);
	is(curandGenerate(NULL, numbers, 4), CURAND_STATUS_NOT_INITIALIZED);
	is(curandGenerate((curandGenerator_t)no_generator, numbers, 4), CURAND_STATUS_NOT_INITIALIZED);
	is(curandGetDirectionVectors32(&vectors, CURAND_DIRECTION_VECTORS_64_JOEKUO6), CURAND_STATUS_OUT_OF_RANGE);
	GOOD(curandGetDirectionVectors32(&vectors, CURAND_DIRECTION_VECTORS_32_JOEKUO6));
	is(((uint32_t(*)[32])vectors)[1][1], 0xc0000000u);
	GOOD(curandDestroyGenerator(q));
	GOOD(curandGenerateSeeds(g));
	/* an address of the program's is none of the device's */
	GOOD(curandGenerate(g, (unsigned int *)(uintptr_t)64, 4));
	FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	curandDestroyGenerator(g);
}

int main(void)
{
	soft_begin("1", "64M");
	soft_context();
	test_graph();
	test_charge();
	test_moments();
	test_wrong();
	return soft_end();
}
