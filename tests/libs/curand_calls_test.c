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
curandStatus_t curandSetGeneratorOffset(curandGenerator_t, unsigned long long);
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t, curandOrdering_t);
curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t, unsigned int);
curandStatus_t curandSetStream(curandGenerator_t, cudaStream_t);
curandStatus_t curandGenerate(curandGenerator_t, unsigned int *, size_t);
curandStatus_t curandGenerateLongLong(curandGenerator_t, unsigned long long *, size_t);
curandStatus_t curandGenerateSeeds(curandGenerator_t);
curandStatus_t curandGenerateUniform(curandGenerator_t, float *, size_t);
curandStatus_t curandGenerateUniformDouble(curandGenerator_t, double *, size_t);
curandStatus_t curandGenerateNormal(curandGenerator_t, float *, size_t, float, float);
curandStatus_t curandGeneratePoisson(curandGenerator_t, unsigned int *, size_t, double);
/* NVIDIA's 10.4.0 has no such call. */
curandStatus_t curandGenerateBinomial(curandGenerator_t, unsigned int *, size_t, unsigned int, double)
	__attribute__((weak));
curandStatus_t curandGetDirectionVectors32(void **, curandDirectionVectorSet_t);

static uint32_t numbers[COUNT], again[COUNT];

static void *at(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

/* ---- graphs: what launches give, against a generator of the host whose calls are the same, one after the other ----
 */

/* What a call generates. Most counts are no multiple of the generator's states. */
static const struct sequel {
	curandRngType_t type;
	curandOrdering_t order;
	char kind; /* i(nteger), u(niform), d(ouble, uniform), n(ormal) */
	size_t count;
	bool slow; /* to seed: it is launched alone */
} sequels[] = {
	{ CURAND_RNG_PSEUDO_XORWOW, CURAND_ORDERING_PSEUDO_DEFAULT, 'i', 4096 },
	{ CURAND_RNG_PSEUDO_XORWOW, CURAND_ORDERING_PSEUDO_DEFAULT, 'u', 1000 },
	{ CURAND_RNG_PSEUDO_XORWOW, CURAND_ORDERING_PSEUDO_SEEDED, 'n', 10002, true },
	{ CURAND_RNG_PSEUDO_MRG32K3A, CURAND_ORDERING_PSEUDO_DEFAULT, 'u', 4096, true },
	{ CURAND_RNG_PSEUDO_MRG32K3A, CURAND_ORDERING_PSEUDO_LEGACY, 'd', 1001 },
	{ CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_ORDERING_PSEUDO_DEFAULT, 'u', 1002 },
	{ CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_ORDERING_PSEUDO_DEFAULT, 'd', 999 },
	{ CURAND_RNG_QUASI_SOBOL32, CURAND_ORDERING_QUASI_DEFAULT, 'u', 999 },
	{ CURAND_RNG_QUASI_SOBOL64, CURAND_ORDERING_QUASI_DEFAULT, 'n', 900 },
};
#define SEQUELS (sizeof(sequels) / sizeof(*sequels))

static size_t sequel_bytes(const struct sequel *s)
{
	return s->count * (s->kind == 'd' ? 8 : 4);
}

static bool is_pseudo(const struct sequel *s)
{
	return s->type < CURAND_RNG_QUASI_DEFAULT;
}

static void sequel_set(curandGenerator_t g, const struct sequel *s)
{
	GOOD(curandSetGeneratorOrdering(g, s->order));
	if (!is_pseudo(s))
		GOOD(curandSetQuasiRandomGeneratorDimensions(g, 3));
}

static curandGenerator_t sequel_open(const struct sequel *s, CUstream stream)
{
	curandGenerator_t g = NULL;

	GOOD(curandCreateGenerator(&g, s->type));
	sequel_set(g, s);
	GOOD(curandSetStream(g, (cudaStream_t)stream));
	if (soft_theirs()) /* which cannot be seeded in a capture: it allocates then */
		GOOD(curandGenerateSeeds(g));
	return g;
}

static curandGenerator_t sequel_open_host(const struct sequel *s)
{
	curandGenerator_t g = NULL;

	GOOD(curandCreateGeneratorHost(&g, s->type));
	sequel_set(g, s);
	return g;
}

static void sequel_make(curandGenerator_t g, const struct sequel *s, void *to)
{
	switch (s->kind) {
	case 'u':
		GOOD(curandGenerateUniform(g, to, s->count));
		break;
	case 'd':
		GOOD(curandGenerateUniformDouble(g, to, s->count));
		break;
	case 'n':
		GOOD(curandGenerateNormal(g, to, s->count, 1, 2));
		break;
	default:
		GOOD(curandGenerate(g, to, s->count));
		break;
	}
}

static CUgraphExec captured(CUstream stream)
{
	CUgraphExec exec = NULL;
	CUgraph graph = NULL;

	CU(cuStreamEndCapture(stream, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	return exec;
}

static CUgraphExec capture(curandGenerator_t g, const struct sequel *s, CUdeviceptr p, CUstream stream)
{
	CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	sequel_make(g, s, at(p));
	return captured(stream);
}

/* NVIDIA's device and its host round normal numbers otherwise. */
static bool alike(const struct sequel *s)
{
	float a, b;

	if (s->kind != 'n' || !soft_theirs())
		return !memcmp(numbers, again, sequel_bytes(s));
	for (size_t i = 0; i < s->count; i++) {
		memcpy(&a, &numbers[i], sizeof(a));
		memcpy(&b, &again[i], sizeof(b));
		if (!(fabsf(a - b) <= 4e-6f * (1 + fabsf(b))))
			return false;
	}
	return true;
}

/* What p has when the stream has come here, against the next numbers of `wanted`. */
static void compare(const struct sequel *s, CUdeviceptr p, CUstream stream, curandGenerator_t wanted, const char *what)
{
	memset(numbers, 1, sequel_bytes(s));
	CU(cuMemcpyDtoHAsync(numbers, p, sequel_bytes(s), stream));
	CU(cuStreamSynchronize(stream));
	sequel_make(wanted, s, again);
	tap_ok(alike(s), "type %d, ordering %d, %zu of %c: %s", (int)s->type, (int)s->order, s->count, s->kind, what);
}

static void launched(const struct sequel *s, CUgraphExec exec, CUdeviceptr p, CUstream stream, curandGenerator_t wanted,
		     const char *what)
{
	CU(cuMemsetD8Async(p, 0xff, sequel_bytes(s), stream));
	CU(cuGraphLaunch(exec, stream));
	compare(s, p, stream, wanted, what);
}

static void called(const struct sequel *s, curandGenerator_t g, CUdeviceptr p, CUstream stream,
		   curandGenerator_t wanted, const char *what)
{
	CU(cuMemsetD8Async(p, 0xff, sequel_bytes(s), stream));
	sequel_make(g, s, at(p));
	compare(s, p, stream, wanted, what);
}

/* Captured before anything has seeded it. */
static void test_launches(const struct sequel *s, CUdeviceptr p, CUstream stream)
{
	curandGenerator_t g = sequel_open(s, stream), wanted = sequel_open_host(s);
	CUgraphExec exec = capture(g, s, p, stream);

	for (int i = 0; i < 3; i++)
		launched(s, exec, p, stream, wanted, "launches continue the sequence");
	called(s, g, p, stream, wanted, "a call continues it");
	launched(s, exec, p, stream, wanted, "a launch behind a call");
	if (!soft_theirs()) {
		GOOD(curandGenerateSeeds(g));
		launched(s, exec, p, stream, wanted, "seeding again changes nothing");
	}
	CU(cuGraphExecDestroy(exec));
	GOOD(curandDestroyGenerator(g));
	GOOD(curandDestroyGenerator(wanted));
}

/* What a generator is set to, takes effect with the next launch. */
static void test_settings(const struct sequel *s, CUdeviceptr p, CUstream stream)
{
	curandGenerator_t g = sequel_open(s, stream), wanted = sequel_open_host(s);
	CUgraphExec exec;

	called(s, g, p, stream, wanted, "before a capture");
	exec = capture(g, s, p, stream);
	launched(s, exec, p, stream, wanted, "a launch behind calls");
	GOOD(curandSetGeneratorOffset(g, 12345));
	GOOD(curandSetGeneratorOffset(wanted, 12345));
	launched(s, exec, p, stream, wanted, "a launch behind another offset");
	launched(s, exec, p, stream, wanted, "the second one");
	if (is_pseudo(s)) {
		GOOD(curandSetPseudoRandomGeneratorSeed(g, 99));
		GOOD(curandSetPseudoRandomGeneratorSeed(wanted, 99));
	}
	called(s, g, p, stream, wanted, "a call behind another seed");
	launched(s, exec, p, stream, wanted, "a launch behind another seed");
	CU(cuGraphExecDestroy(exec));
	GOOD(curandDestroyGenerator(g));
	GOOD(curandDestroyGenerator(wanted));
}

/* A setting that was made in a capture is part of the graph: it begins the sequence with each launch. */
static void test_set_in_capture(const struct sequel *s, CUdeviceptr p, CUstream stream)
{
	curandGenerator_t g = sequel_open(s, stream), wanted = sequel_open_host(s);
	CUgraphExec exec;

	CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	GOOD(curandSetGeneratorOffset(g, 7));
	sequel_make(g, s, at(p));
	exec = captured(stream);
	GOOD(curandSetGeneratorOffset(wanted, 7));
	called(s, g, p, stream, wanted, "a call before the graph's first launch");
	for (int i = 0; i < 2; i++) {
		GOOD(curandSetGeneratorOffset(wanted, 7));
		launched(s, exec, p, stream, wanted, "a launch begins at the offset of the graph");
	}
	called(s, g, p, stream, wanted, "a call behind it continues");
	CU(cuGraphExecDestroy(exec));
	GOOD(curandDestroyGenerator(g));
	/* the same with the launch first */
	g = sequel_open(s, stream);
	CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	GOOD(curandSetGeneratorOffset(g, 7));
	sequel_make(g, s, at(p));
	exec = captured(stream);
	GOOD(curandSetGeneratorOffset(wanted, 7));
	launched(s, exec, p, stream, wanted, "a launch before any call");
	called(s, g, p, stream, wanted, "a call behind it continues the sequence");
	CU(cuGraphExecDestroy(exec));
	GOOD(curandDestroyGenerator(g));
	GOOD(curandDestroyGenerator(wanted));
}

/* Two graphs of one generator, in two streams, one after the other. */
static void test_two_graphs(const struct sequel *s, CUdeviceptr p, CUstream stream, CUstream other)
{
	curandGenerator_t g = sequel_open(s, stream), wanted = sequel_open_host(s);
	CUgraphExec first = capture(g, s, p, stream), second;

	GOOD(curandSetStream(g, (cudaStream_t)other));
	second = capture(g, s, p, other);
	for (int i = 0; i < 2; i++) {
		launched(s, first, p, stream, wanted, "a launch of the first graph");
		launched(s, second, p, other, wanted, "a launch of the second one");
	}
	called(s, g, p, other, wanted, "a call in the second stream");
	launched(s, first, p, other, wanted, "the first graph in the second stream");
	CU(cuGraphExecDestroy(first));
	CU(cuGraphExecDestroy(second));
	GOOD(curandDestroyGenerator(g));
	GOOD(curandDestroyGenerator(wanted));
}

static void test_graphs(void)
{
	CUstream stream, other;
	CUdeviceptr p;

	CU(cuMemAlloc(&p, sizeof(numbers)));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	for (size_t i = 0; i < SEQUELS; i++) {
		test_launches(&sequels[i], p, stream);
		if (sequels[i].slow)
			continue;
		if (!soft_theirs()) { /* what docs/libraries.md says of settings and graphs is ours alone */
			test_settings(&sequels[i], p, stream);
			test_set_in_capture(&sequels[i], p, stream);
		}
		test_two_graphs(&sequels[i], p, stream, other);
	}
	CU(cuStreamDestroy(other));
	CU(cuStreamDestroy(stream));
	CU(cuMemFree(p));
}

/* A call that is under way keeps its numbers when the generator is set anew and captured behind it. */
static void test_under_way(void)
{
	static const struct sequel s = { CURAND_RNG_PSEUDO_XORWOW, CURAND_ORDERING_PSEUDO_DEFAULT, 'i', COUNT, false };
	CUdeviceptr p, more;
	curandGenerator_t g, wanted;
	CUgraphExec exec;
	CUstream stream;

	CU(cuMemAlloc(&p, sizeof(numbers)));
	CU(cuMemAlloc(&more, sizeof(numbers)));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	g = sequel_open(&s, stream);
	wanted = sequel_open_host(&s);
	for (int i = 0; i < 5; i++)
		GOOD(curandGenerate(g, at(more), COUNT));
	sequel_make(g, &s, at(p));
	GOOD(curandSetPseudoRandomGeneratorSeed(g, 3));
	exec = capture(g, &s, more, stream);
	for (int i = 0; i < 5; i++)
		GOOD(curandGenerate(wanted, again, COUNT));
	compare(&s, p, stream, wanted, "a call behind which the generator is seeded for a graph");
	GOOD(curandSetPseudoRandomGeneratorSeed(wanted, 3));
	launched(&s, exec, more, stream, wanted, "the graph");
	CU(cuGraphExecDestroy(exec));
	GOOD(curandDestroyGenerator(g));
	GOOD(curandDestroyGenerator(wanted));
	CU(cuStreamDestroy(stream));
	CU(cuMemFree(more));
	CU(cuMemFree(p));
}

/* A graph whose generator has ended: its launch fails, and what has the generator's memory now keeps its contents. */
static void test_ended(void)
{
	CUcontext context, primary = NULL;
	curandGenerator_t g = NULL;
	CUdeviceptr p, taken;
	CUgraphExec exec;
	CUstream stream;
	size_t bytes = 4096 * 24;

	CU(cuCtxGetCurrent(&primary));
	CU(cuCtxCreate(&context, NULL, 0, 0));
	CU(cuMemAlloc(&p, 4096));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	g = sequel_open(&sequels[0], stream);
	CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	GOOD(curandGenerate(g, at(p), 1024));
	exec = captured(stream);
	CU(cuGraphLaunch(exec, stream));
	CU(cuStreamSynchronize(stream));
	GOOD(curandDestroyGenerator(g));
	CU(cuCtxSetCurrent(primary));
	CU(cuMemAlloc(&taken, bytes));
	CU(cuMemsetD8(taken, 0x5a, bytes));
	CU(cuCtxSynchronize());
	CU(cuCtxSetCurrent(context));
	CU(cuGraphLaunch(exec, stream));
	tap_ok(cuStreamSynchronize(stream) != CUDA_SUCCESS, "a graph whose generator has ended fails");
	cuCtxDestroy(context);
	CU(cuCtxSetCurrent(primary));
	memset(again, 0x5a, bytes);
	CU(cuMemcpyDtoH(numbers, taken, bytes));
	tap_ok(!memcmp(numbers, again, bytes), "it writes into no other memory");
	CU(cuMemFree(taken));
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
	CU(cuMemAlloc(&p, 4096));
	GOOD(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10));
	GOOD(curandGenerate(g, at(p), 1024));
	CU(cuMemFree(p));
	tap_ok(soft_free() < before, "a generator without states has a place, which is charged");
	GOOD(curandDestroyGenerator(g));
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
	curandStatus_t wrong;
	void *vectors = NULL;

	is(curandCreateGenerator(&g, (curandRngType_t)5), CURAND_STATUS_TYPE_ERROR);
	if (!soft_theirs()) /* which has that generator */
		is(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_MT19937), CURAND_STATUS_TYPE_ERROR);
	GOOD(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT));
	GOOD(curandCreateGeneratorHost(&q, CURAND_RNG_QUASI_DEFAULT));
	is(curandGenerateNormal(g, (float *)numbers, 3, 0, 1), CURAND_STATUS_LENGTH_NOT_MULTIPLE);
	is(curandGenerateLongLong(g, (void *)numbers, 2), CURAND_STATUS_TYPE_ERROR);
	if (!soft_theirs()) /* NVIDIA's 10.4 answers SUCCESS */
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
	if (curandGenerateBinomial)
		is(curandGenerateBinomial(g, numbers, 4, 3, 0.5), CURAND_STATUS_TYPE_ERROR);
	is(curandGenerate(NULL, numbers, 4), CURAND_STATUS_NOT_INITIALIZED);
	is(curandGenerate((curandGenerator_t)no_generator, numbers, 4), CURAND_STATUS_NOT_INITIALIZED);
	is(curandGetDirectionVectors32(&vectors, CURAND_DIRECTION_VECTORS_64_JOEKUO6), CURAND_STATUS_OUT_OF_RANGE);
	GOOD(curandGetDirectionVectors32(&vectors, CURAND_DIRECTION_VECTORS_32_JOEKUO6));
	is(((uint32_t(*)[32])vectors)[1][1], 0xc0000000u);
	GOOD(curandDestroyGenerator(q));
	GOOD(curandGenerateSeeds(g));
	/* an address of the program's is none of the device's */
	wrong = curandGenerate(g, (unsigned int *)(uintptr_t)64, 4);
	tap_ok(wrong == CURAND_STATUS_LAUNCH_FAILURE || cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS,
	       "an address that is none: the call fails (%d), or the wait", (int)wrong);
	curandDestroyGenerator(g);
}

int main(void)
{
	soft_begin("1", "64M");
	soft_context();
	test_graphs();
	if (!soft_theirs()) { /* settings behind a capture, generators that ended, and sizes of states are ours alone */
		test_under_way();
		test_ended();
		test_charge();
	}
	test_moments();
	test_wrong();
	return soft_end();
}
