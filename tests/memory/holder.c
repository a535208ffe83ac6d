/*
 * holder.c: a program that holds objects of many kinds while it moves: holder KIND
 *
 * many: contexts, streams, events, pinned memory that kernels reach, memory of a pool, a module with options,
 * attributes of a function, a graph made by hand and its instance. Each line on standard input is a round, in which all
 * of them are used; "round N" says that it is over, and the last line how many results were wrong. libraries: the same
 * with a handle of cuBLAS and a plan of cuFFT; variables: with variables of a module and of a library. Any other kind:
 * it holds one thing, which cannot move as a rule; the next line ends it.
 */
#include "packed.h"

#include <cuda.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char add[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry add(.param .u64 p, .param .u32 n) {\n"
			  "	.reg .u64 %d; .reg .u32 %r<2>;\n"
			  "	ld.param.u64 %d, [p]; ld.param.u32 %r0, [n];\n"
			  "	ld.global.u32 %r1, [%d]; add.u32 %r1, %r1, %r0; st.global.u32 [%d], %r1; ret;\n}\n";

static const char variable[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			       ".visible .global .u32 count = 5;\n"
			       ".visible .entry nothing() { ret; }\n";

/* What kernels change of a module, and no address of which the program knows: more than a message takes, too. */
static const char variables[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				".const .align 4 .u32 step = 7;\n"
				".visible .global .align 4 .u32 count = 5;\n"
				".global .align 8 .u32 many[20000];\n"
				".visible .entry change(.param .u64 out) {\n"
				"	.reg .u64 %d<3>; .reg .u32 %r<4>;\n"
				"	ld.param.u64 %d0, [out];\n"
				"	ld.const.u32 %r0, [step]; ld.global.u32 %r1, [count]; add.u32 %r1, %r1, %r0; "
				"st.global.u32 [count], %r1;\n"
				"	mov.u64 %d1, many; add.u64 %d1, %d1, 79996;\n"
				"	ld.global.u32 %r2, [%d1]; add.u32 %r2, %r2, %r1; st.global.u32 [%d1], %r2;\n"
				"	st.global.u32 [%d0], %r1; st.global.u32 [%d0+4], %r2; ret;\n}\n";

#define WORDS 6

static unsigned long wrong;

static void must(CUresult r, const char *what)
{
	if (!r)
		return;
	printf("failed: %s: %d\n", what, (int)r);
	exit(1);
}

static int line(void)
{
	char text[64];

	return fgets(text, sizeof(text), stdin) != NULL;
}

static void is(uint64_t got, uint64_t expected, const char *what)
{
	if (got == expected)
		return;
	printf("%s: %llu, not %llu\n", what, (unsigned long long)got, (unsigned long long)expected);
	wrong++;
}

struct many {
	CUcontext primary, own;
	CUmodule module, other;
	CUfunction add, add_there;
	CUstream stream, apart;
	CUevent before, after;
	CUdeviceptr plain, ordered, there, pinned_device;
	uint32_t *pinned;
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;
	CUmemoryPool pool;
};

static void launch(CUfunction f, CUdeviceptr at, uint32_t n, CUstream stream)
{
	void *args[] = { &at, &n };

	must(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL), "a launch");
}

static void make_graph(struct many *m)
{
	uint32_t n = 1000;
	void *args[] = { &m->plain, &n };
	CUDA_KERNEL_NODE_PARAMS p = { .func = m->add,
				      .gridDimX = 1,
				      .gridDimY = 1,
				      .gridDimZ = 1,
				      .blockDimX = 1,
				      .blockDimY = 1,
				      .blockDimZ = 1,
				      .kernelParams = args };

	must(cuGraphCreate(&m->graph, 0), "a graph");
	must(cuGraphAddKernelNode(&m->node, m->graph, NULL, 0, &p), "a node");
	must(cuGraphInstantiate(&m->exec, m->graph, 0), "an instance");
}

static void make(struct many *m)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	uint64_t keep = 1 << 20;

	must(cuDevicePrimaryCtxRetain(&m->primary, 0), "the primary context");
	must(cuCtxCreate(&m->own, NULL, 0, 0), "a context");
	must(cuModuleLoadData(&m->other, add), "a module of it");
	must(cuModuleGetFunction(&m->add_there, m->other, "add"), "a function of it");
	must(cuMemAlloc(&m->there, 4096), "memory of it");
	must(cuMemsetD32(m->there, 0, 1), "zeroes there");
	must(cuCtxSetCurrent(m->primary), "the primary context");
	must(cuModuleLoadData(&m->module, add), "a module");
	must(cuModuleGetFunction(&m->add, m->module, "add"), "a function");
	must(cuFuncSetAttribute(m->add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 2048), "an attribute");
	must(cuStreamCreate(&m->stream, CU_STREAM_NON_BLOCKING), "a stream");
	must(cuStreamCreateWithPriority(&m->apart, CU_STREAM_DEFAULT, 0), "another stream");
	must(cuEventCreate(&m->before, CU_EVENT_DEFAULT), "an event");
	must(cuEventCreate(&m->after, CU_EVENT_DEFAULT), "an event");
	must(cuMemAlloc(&m->plain, 64), "plain memory");
	must(cuMemsetD32(m->plain, 0, 1), "zeroes");
	must(cuMemPoolCreate(&m->pool, &props), "a pool");
	must(cuMemPoolSetAttribute(m->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep), "what it keeps");
	must(cuMemAllocFromPoolAsync(&m->ordered, 1 << 16, m->pool, m->stream), "memory of a pool");
	must(cuMemsetD32Async(m->ordered, 0, 1, m->stream), "zeroes in it");
	must(cuMemHostAlloc((void **)&m->pinned, 4096, CU_MEMHOSTALLOC_DEVICEMAP), "pinned memory");
	memset(m->pinned, 0, 4096);
	must(cuMemHostGetDevicePointer(&m->pinned_device, m->pinned, 0), "its address");
	make_graph(m);
	/* The streams do not wait for the fills, which are in none of them. */
	must(cuCtxSynchronize(), "a wait");
}

static uint32_t word_at(CUdeviceptr at)
{
	uint32_t word = 0;

	must(cuMemcpyDtoH(&word, at, sizeof(word)), "a copy");
	return word;
}

static void use(struct many *m, uint32_t round)
{
	uint64_t keeps = 0;
	float ms = -1;
	int value = 0;

	must(cuEventRecord(m->before, m->stream), "an event is recorded");
	launch(m->add, m->plain, 1, m->stream);
	launch(m->add, m->ordered, 2, m->stream);
	launch(m->add, m->pinned_device, 3, m->stream);
	must(cuGraphLaunch(m->exec, m->stream), "the graph");
	must(cuEventRecord(m->after, m->stream), "an event is recorded");
	must(cuStreamWaitEvent(m->apart, m->after, 0), "a stream waits");
	must(cuStreamSynchronize(m->apart), "a wait");
	must(cuEventElapsedTime(&ms, m->before, m->after), "the time between");
	must(cuCtxPushCurrent(m->own), "the other context");
	launch(m->add_there, m->there, 4, NULL);
	must(cuCtxSynchronize(), "a wait there");
	is(word_at(m->there), 4 * round, "memory of the other context");
	must(cuCtxPopCurrent(NULL), "back");
	is(word_at(m->plain), 1001 * round, "plain memory, and a graph's");
	is(word_at(m->ordered), 2 * round, "memory of a pool");
	is(*(volatile uint32_t *)m->pinned, 3 * round, "pinned memory");
	is(ms >= 0 && ms < 60000, 1, "the time between two events");
	must(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, m->add), "the attribute");
	is((uint64_t)value, 2048, "the attribute");
	must(cuMemPoolGetAttribute(m->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keeps), "what the pool keeps");
	is(keeps, 1 << 20, "what the pool keeps");
}

/* What was made before a move can be given back after it, and made anew. */
static void renew(struct many *m)
{
	CUdeviceptr more;

	must(cuMemAlloc(&more, 1 << 20), "more memory");
	must(cuMemFree(more), "which is freed");
	must(cuMemFreeAsync(m->ordered, m->stream), "memory of a pool is freed");
	must(cuStreamSynchronize(m->stream), "a wait");
	must(cuMemAllocFromPoolAsync(&m->ordered, 1 << 16, m->pool, m->stream), "memory of a pool");
	must(cuMemsetD32Async(m->ordered, 0, 1, m->stream), "zeroes in it");
	must(cuStreamDestroy(m->apart), "a stream ends");
	must(cuStreamCreate(&m->apart, CU_STREAM_DEFAULT), "another stream");
	must(cuEventDestroy(m->before), "an event ends");
	must(cuEventCreate(&m->before, CU_EVENT_DEFAULT), "another event");
}

static void *write_pinned(void *arg)
{
	volatile uint32_t *word = (volatile uint32_t *)arg + 64;

	/* A thread that makes no call writes what is shared all the time. */
	for (uint32_t i = 1;; i++)
		*word = i;
	return NULL;
}

/* The thread that writes the word may have to wait for a processor. */
static bool changes(volatile uint32_t *word, uint32_t before)
{
	for (int i = 0; i < 20000 && *word == before; i++)
		usleep(1000);
	return *word != before;
}

static int many(void)
{
	static struct many m;
	pthread_t thread;
	uint32_t before = 0, rounds = 0, base = 0;

	make(&m);
	pthread_create(&thread, NULL, write_pinned, m.pinned);
	while (!*((volatile uint32_t *)m.pinned + 64))
		sched_yield();
	puts("holds");
	while (line()) {
		rounds++;
		use(&m, rounds - base);
		is(changes((volatile uint32_t *)m.pinned + 64, before), 1, "pinned memory that a thread writes");
		before = m.pinned[64];
		if (rounds % 2 == 0) {
			renew(&m);
			must(cuMemsetD32(m.plain, 0, 1), "zeroes");
			must(cuMemsetD32(m.pinned_device, 0, 1), "zeroes");
			must(cuCtxPushCurrent(m.own), "the other context");
			must(cuMemsetD32(m.there, 0, 1), "zeroes there");
			must(cuCtxPopCurrent(NULL), "back");
			must(cuCtxSynchronize(), "a wait");
			base = rounds;
		}
		printf("round %u %llx\n", rounds, (unsigned long long)m.plain);
		fflush(stdout);
	}
	must(cuMemFree(m.plain), "the end");
	must(cuCtxDestroy(m.own), "the end of a context");
	printf("wrong %lu longest 0\n", wrong);
	return 0;
}

/* ---- handles of libraries, which the client has in front of the worker's ---- */

static void *routine(const char *name)
{
	void *at = dlsym(RTLD_DEFAULT, name);

	if (!at)
		must(CUDA_ERROR_NOT_FOUND, name);
	return at;
}

struct libraries {
	void *blas;
	int plan;
	CUstream stream, ended;
	CUdeviceptr a, b, c, waves, workspace;
};

static void make_libraries(struct libraries *l)
{
	static const float ones[4] = { 1, 2, 3, 4 }, wave[8] = { 1, 0, 0, 0, 0, 0, 0, 0 };
	int (*create)(void **) = (int (*)(void **))routine("cublasCreate_v2");
	int (*set)(void *, CUstream) = (int (*)(void *, CUstream))routine("cublasSetStream_v2");
	int (*workspace)(void *, void *, size_t) = (int (*)(void *, void *, size_t))routine("cublasSetWorkspace_v2");
	int (*plan)(int *, int, int, int) = (int (*)(int *, int, int, int))routine("cufftPlan1d");
	int (*plan_set)(int, CUstream) = (int (*)(int, CUstream))routine("cufftSetStream");

	must(cuStreamCreate(&l->stream, CU_STREAM_NON_BLOCKING), "a stream");
	must(cuStreamCreate(&l->ended, CU_STREAM_NON_BLOCKING), "a stream");
	must(cuMemAlloc(&l->a, 16), "memory");
	must(cuMemAlloc(&l->b, 16), "memory");
	must(cuMemAlloc(&l->c, 16), "memory");
	must(cuMemAlloc(&l->waves, 32), "memory");
	must(cuMemAlloc(&l->workspace, 1 << 20), "memory");
	must(cuMemcpyHtoD(l->a, ones, 16), "a copy");
	must(cuMemcpyHtoD(l->b, ones, 16), "a copy");
	must(cuMemcpyHtoD(l->waves, wave, 32), "a copy");
	is((uint64_t)create(&l->blas), 0, "a handle of cuBLAS");
	is((uint64_t)set(l->blas, l->ended), 0, "its stream");
	is((uint64_t)set(l->blas, l->stream), 0, "its stream");
	is((uint64_t)workspace(l->blas, (void *)(uintptr_t)l->workspace, 1 << 20), 0, "its workspace");
	is((uint64_t)plan(&l->plan, 4, 0x29, 1), 0, "a plan of cuFFT");
	is((uint64_t)plan_set(l->plan, l->ended), 0, "its stream");
	is((uint64_t)plan_set(l->plan, l->stream), 0, "its stream");
	must(cuStreamDestroy(l->ended), "a stream ends");
}

static void use_libraries(struct libraries *l)
{
	static const float one = 1, zero = 0, product[4] = { 7, 10, 15, 22 };
	int (*gemm)(void *, int, int, int, int, int, const float *, const void *, int, const void *, int, const float *,
		    void *, int) = (__typeof__(gemm))routine("cublasSgemm_v2");
	int (*exec)(int, void *, void *, int) = (__typeof__(exec))routine("cufftExecC2C");
	int (*get)(void *, CUstream *) = (__typeof__(get))routine("cublasGetStream_v2");
	CUstream stream = NULL;
	float got[8];

	is((uint64_t)gemm(l->blas, 0, 0, 2, 2, 2, &one, (void *)(uintptr_t)l->a, 2, (void *)(uintptr_t)l->b, 2, &zero,
			  (void *)(uintptr_t)l->c, 2),
	   0, "a product");
	is((uint64_t)exec(l->plan, (void *)(uintptr_t)l->waves, (void *)(uintptr_t)l->waves, -1), 0, "a transform");
	is((uint64_t)exec(l->plan, (void *)(uintptr_t)l->waves, (void *)(uintptr_t)l->waves, 1), 0, "and back");
	must(cuStreamSynchronize(l->stream), "a wait");
	must(cuMemcpyDtoH(got, l->c, 16), "a copy");
	is((uint64_t)memcmp(got, product, 16), 0, "the product");
	must(cuMemcpyDtoH(got, l->waves, 32), "a copy");
	is(got[0] > 3.99f && got[0] < 4.01f && got[2] < 0.01f && got[2] > -0.01f, 1, "the transform");
	got[0] /= 4;
	must(cuMemcpyHtoD(l->waves, got, 32), "a copy");
	is((uint64_t)get(l->blas, &stream), 0, "the handle's stream");
	is(stream == l->stream, 1, "the handle's stream");
}

static int libraries(void)
{
	static struct libraries l;
	CUcontext context;
	unsigned int rounds = 0;

	must(cuDevicePrimaryCtxRetain(&context, 0), "a context");
	must(cuCtxSetCurrent(context), "a context");
	make_libraries(&l);
	puts("holds");
	while (line()) {
		use_libraries(&l);
		printf("round %u %llx\n", ++rounds, (unsigned long long)l.a);
	}
	printf("wrong %lu longest 0\n", wrong);
	return 0;
}

/* ---- variables of modules and libraries ---- */

static int with_variables(void)
{
	CUcontext context;
	CUmodule module;
	CUlibrary library;
	CUkernel kernel;
	CUfunction f[2];
	CUdeviceptr out;
	uint32_t got[2], count = 5, sum = 0;
	unsigned int rounds = 0;

	must(cuDevicePrimaryCtxRetain(&context, 0), "a context");
	must(cuCtxSetCurrent(context), "a context");
	must(cuMemAlloc(&out, 8), "memory");
	must(cuModuleLoadData(&module, variables), "a module");
	must(cuModuleGetFunction(&f[0], module, "change"), "a function");
	must(cuLibraryLoadData(&library, variables, NULL, NULL, 0, NULL, NULL, 0), "a library");
	must(cuLibraryGetKernel(&kernel, library, "change"), "a kernel");
	must(cuKernelGetFunction(&f[1], kernel), "its function");
	puts("holds");
	while (line()) {
		void *args[] = { &out };

		count += 7;
		sum += count;
		for (int i = 0; i < 2; i++) {
			must(cuLaunchKernel(f[i], 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), "a launch");
			must(cuMemcpyDtoH(got, out, 8), "a copy");
			is(got[0], count, "a variable");
			is(got[1], sum, "a large variable");
		}
		printf("round %u %llx\n", ++rounds, (unsigned long long)out);
	}
	printf("wrong %lu longest 0\n", wrong);
	return 0;
}

/* ---- one thing; most of them cannot move ---- */

/* One that has given numbers: nobody knows how to make the next one that goes on with them. */
static void hold_generator(void)
{
	int (*create)(void **, int) = (__typeof__(create))routine("curandCreateGenerator");
	int (*generate)(void *, void *, size_t) = (__typeof__(generate))routine("curandGenerateUniform");
	static void *generator;
	static CUdeviceptr at;

	must(cuMemAlloc(&at, 4096), "memory");
	is((uint64_t)create(&generator, 100), 0, "a generator");
	is((uint64_t)generate(generator, (void *)(uintptr_t)at, 1024), 0, "numbers");
	must(cuCtxSynchronize(), "a wait");
}

static void hold_array(void)
{
	CUDA_ARRAY_DESCRIPTOR d = { .Width = 8, .Height = 8, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1 };
	static CUarray array[2];

	must(cuArrayCreate(&array[0], &d), "an array");
	must(cuArrayCreate(&array[1], &d), "an array");
}

static void hold_managed(void)
{
	static CUdeviceptr at;

	must(cuMemAllocManaged(&at, 4096, CU_MEM_ATTACH_GLOBAL), "managed memory");
}

static void hold_reference(void)
{
	static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.global .texref image;\n"
				   ".visible .entry nothing() { ret; }\n";
	static CUmodule module;
	static CUtexref reference;

	must(cuModuleLoadData(&module, text), "a module");
	must(cuModuleGetTexRef(&reference, module, "image"), "a reference");
}

/* A kernel may go there by this word. */
static void hold_variable(void)
{
	static CUdeviceptr at, table;
	static CUmodule module;
	size_t bytes;

	must(cuModuleLoadData(&module, variable), "a module");
	must(cuModuleGetGlobal(&at, &bytes, module, "count"), "where it lies");
	must(cuMemAlloc(&table, 4096), "memory");
	must(cuMemcpyHtoD(table + 8, &at, sizeof(at)), "a table of addresses");
}

/* What kernels allocate nobody else knows of. */
static void hold_heap_of(bool packed)
{
	static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				   ".extern .func (.param .b64 block) malloc(.param .b64 bytes);\n"
				   ".visible .entry take(.param .u64 to) {\n"
				   "	.reg .u64 %d<3>;\n"
				   "	ld.param.u64 %d0, [to]; mov.u64 %d1, 64;\n"
				   "	{ .param .b64 size; .param .b64 got; st.param.b64 [size], %d1; call.uni (got), "
				   "malloc, (size);\n"
				   "	ld.param.b64 %d2, [got]; }\n"
				   "	st.global.u64 [%d0], %d2; ret;\n}\n";
	static CUmodule module;
	static CUdeviceptr at;
	CUfunction f;
	void *args[] = { &at }, *image = packed_text(text, 1);

	must(cuMemAlloc(&at, 64), "memory");
	must(cuModuleLoadData(&module, packed ? image : text), "a module");
	free(image);
	must(cuModuleGetFunction(&f, module, "take"), "a function");
	must(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), "a launch");
	must(cuCtxSynchronize(), "a wait");
}

static void hold_heap(void)
{
	hold_heap_of(false);
}

static void hold_packed_heap(void)
{
	hold_heap_of(true);
}

static void hold_capture(void)
{
	static CUstream stream;

	must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "a stream");
	must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "a capture");
}

/* Memory of graphs lies elsewhere each time. */
static void hold_graph(void)
{
	static CUstream stream;
	static CUgraph graph;
	static CUdeviceptr at;
	static CUgraphExec exec;

	must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "a stream");
	must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "a capture");
	must(cuMemAllocAsync(&at, 4096, stream), "memory of a graph");
	must(cuMemsetD32Async(at, 1, 16, stream), "a fill");
	must(cuMemFreeAsync(at, stream), "its end");
	must(cuStreamEndCapture(stream, &graph), "the capture's end");
	must(cuGraphInstantiate(&exec, graph, 0), "an instance");
}

/* A graph of which a node has been taken out. */
static void hold_rest(void)
{
	static CUgraphNode node[2];
	static CUdeviceptr at;
	static CUgraph graph;
	CUDA_MEMSET_NODE_PARAMS p = { .elementSize = 4, .width = 16, .height = 1, .value = 1 };
	CUcontext context;

	must(cuCtxGetCurrent(&context), "a context");
	must(cuMemAlloc(&at, 64), "memory");
	p.dst = at;
	must(cuGraphCreate(&graph, 0), "a graph");
	must(cuGraphAddMemsetNode(&node[0], graph, NULL, 0, &p, context), "a node");
	must(cuGraphAddMemsetNode(&node[1], graph, &node[0], 1, &p, context), "a node");
	must(cuGraphDestroyNode(node[0]), "a node's end");
}

/* Memory that other processes can open, where that can be. */
static void hold_shared(void)
{
	CUipcMemHandle handle;
	CUdeviceptr at;
	CUresult r;

	must(cuMemAlloc(&at, 1 << 20), "memory");
	r = cuIpcGetMemHandle(&handle, at);
	printf("shared %d\n", (int)r);
}

static const struct {
	const char *kind;
	void (*hold)(void);
} kinds[] = { { "array", hold_array },
	      { "managed", hold_managed },
	      { "reference", hold_reference },
	      { "variable", hold_variable },
	      { "heap", hold_heap },
	      { "capture", hold_capture },
	      { "graph", hold_graph },
	      { "rest", hold_rest },
	      { "shared", hold_shared },
	      { "generator", hold_generator },
	      { "packed heap", hold_packed_heap } };

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "many";
	CUcontext context;

	setvbuf(stdout, NULL, _IOLBF, 0);
	must(cuInit(0), "the driver");
	if (!strcmp(kind, "many"))
		return many();
	if (!strcmp(kind, "libraries"))
		return libraries();
	if (!strcmp(kind, "variables"))
		return with_variables();
	must(cuDevicePrimaryCtxRetain(&context, 0), "a context");
	must(cuCtxSetCurrent(context), "a context");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i].kind))
			kinds[i].hold();
	puts("holds");
	line();
	puts("wrong 0");
	return 0;
}
