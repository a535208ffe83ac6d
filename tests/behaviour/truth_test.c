/*
 * truth_test.c: what the driver has taken, what the tenant is told, and what the program holds are the same figure, in
 * situations that once told them apart. The driver's own NVML is asked, past mete.
 *
 * With the driver alone (direct) the second is the first; there only the driver is tested.
 */
#include "kit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define LIBRARY_BYTES 20000000

static const char library_ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
				  ".visible .global .align 4 .b8 a[20000000];\n"
				  ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n"
				  "mov.u64 %rd1, a;\nld.param.u64 %rd2, [p];\nst.global.u64 [%rd2], %rd1;\nret;\n}\n";

static const CUmemPoolProps pool_props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
					    .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };

/* ---- the driver's figure ---- */

static int (*memory_of)(void *device, unsigned long long *total_free_used);
static void *nvml_device[2];

static bool truth_open(void)
{
	const char *given = getenv("METE_TEST_NVML"), *path = given ? given : getenv("METE_NVML");
	void *nvml = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*init)(void), (*by_index)(unsigned int, void **);

	if (!nvml)
		return false;
	*(void **)&init = dlsym(nvml, "nvmlInit_v2");
	*(void **)&by_index = dlsym(nvml, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&memory_of = dlsym(nvml, "nvmlDeviceGetMemoryInfo");
	return init && by_index && memory_of && !init() && !by_index(0, &nvml_device[0]) &&
	       !by_index(1, &nvml_device[1]);
}

static size_t truth(int device)
{
	unsigned long long m[3] = { 0, 0, ~0ull };

	memory_of(nvml_device[device], m);
	return m[2];
}

static size_t held(void)
{
	size_t free_bytes = 0, total = 0;

	works(cuMemGetInfo(&free_bytes, &total));
	return total - free_bytes;
}

/* On device 0, whose context is current. */
#define agree(bytes)                                                                                                   \
	do {                                                                                                           \
		is(truth(0), (size_t)(bytes));                                                                         \
		is(held(), (size_t)(bytes));                                                                           \
	} while (0)

/* ---- pools ---- */

static atomic_bool go_on;

static void CUDA_CB wait_here(void *unused)
{
	while (!go_on)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* What is freed behind a busy stream into a pool that is gone by then is not free yet. */
static void freed_into_nothing(void)
{
	size_t before = truth(0);
	CUdeviceptr p, q;
	CUmemoryPool pool;
	CUstream s;

	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	needs(cuMemPoolCreate(&pool, &pool_props));
	needs(cuMemAllocFromPoolAsync(&p, 30 * MIB, pool, s));
	needs(cuMemAllocFromPoolAsync(&q, 4 * MIB, pool, s));
	works(cuMemPoolDestroy(pool));
	agree(before + 34 * MIB);
	go_on = false;
	works(cuLaunchHostFunc(s, wait_here, NULL));
	works(cuMemFreeAsync(p, s));
	agree(before + 34 * MIB);
	answers(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&p, kit.total - before - 8 * MIB));
	go_on = true;
	works(cuStreamSynchronize(s));
	agree(before + 4 * MIB);
	works(cuMemFree(q));
	works(cuCtxSynchronize());
	agree(before);

	/* The same with the free under way when the pool goes. */
	needs(cuMemPoolCreate(&pool, &pool_props));
	works(cuDeviceSetMemPool(kit.dev, pool));
	needs(cuMemAllocAsync(&p, 30 * MIB, s));
	go_on = false;
	works(cuLaunchHostFunc(s, wait_here, NULL));
	works(cuMemFreeAsync(p, s));
	works(cuMemPoolDestroy(pool));
	agree(before + 30 * MIB);
	answers(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(pool));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&p, 4096, pool, s));
	go_on = true;
	works(cuCtxSynchronize());
	agree(before);
	works(cuStreamDestroy(s));
}

/* However many pools there are, the device's own is charged. */
static void many_pools(void)
{
	static CUmemoryPool many[700];
	size_t before = truth(0);
	CUmemoryPool standard;
	CUdeviceptr p;
	int n = 0;

	while (n < 700 && cuMemPoolCreate(&many[n], &pool_props) == CUDA_SUCCESS)
		n++;
	ok(n > 400);
	works(cuDeviceGetDefaultMemPool(&standard, kit.dev));
	needs(cuMemAllocFromPoolAsync(&p, 4 * MIB, standard, NULL));
	agree(before + 4 * MIB);
	works(cuMemFreeAsync(p, NULL));
	for (int i = 0; i < n; i++)
		if (cuMemPoolDestroy(many[i]) != CUDA_SUCCESS)
			ok(!"a pool is destroyed");
	works(cuStreamSynchronize(NULL));
	agree(before);
}

/* A pool dies with the primary context; its handle may come again, on another device. */
static void handle_again(void)
{
	CUmemPoolProps other = pool_props;
	CUmemoryPool pool;
	CUcontext second;
	CUdeviceptr p;
	size_t before;

	needs(cuMemPoolCreate(&pool, &pool_props));
	needs(cuMemAllocFromPoolAsync(&p, 4 * MIB, pool, NULL));
	works(cuDevicePrimaryCtxReset(kit.dev));
	needs(cuDevicePrimaryCtxRetain(&second, 1));
	works(cuCtxSetCurrent(second));
	before = truth(1);
	other.location.id = 1;
	needs(cuMemPoolCreate(&pool, &other));
	needs(cuMemAllocFromPoolAsync(&p, 4 * MIB, pool, NULL));
	is(truth(1), before + 4 * MIB);
	is(held(), before + 4 * MIB);
	works(cuMemFreeAsync(p, NULL));
	works(cuMemPoolDestroy(pool));
	works(cuCtxSynchronize());
	is(held(), before);
	works(cuCtxSetCurrent(NULL));
	works(cuDevicePrimaryCtxRelease(1));
	needs(cuDevicePrimaryCtxRetain(&kit.context, kit.dev));
	works(cuCtxSetCurrent(kit.context));
	is(held(), truth(0));
}

/* ---- graphs ---- */

/* Each launch leaves memory behind that the program frees later; what is in use is no room for the next. */
static void left_by_graphs(void)
{
	size_t before = truth(0);
	CUgraphExec exec[6];
	CUdeviceptr p[6];
	CUgraph graph;
	CUstream s;
	int n = 0;

	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (; n < 6; n++) {
		CUresult r;

		needs(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
		works(cuMemAllocAsync(&p[n], 15 * MIB, s));
		needs(cuStreamEndCapture(s, &graph));
		needs(cuGraphInstantiate(&exec[n], graph, 0));
		works(cuGraphDestroy(graph));
		r = cuGraphLaunch(exec[n], s);
		works(cuStreamSynchronize(s));
		if (r == CUDA_SUCCESS) {
			agree(before + (size_t)(n + 1) * 15 * MIB);
			continue;
		}
		is(r, CUDA_ERROR_OUT_OF_MEMORY);
		agree(before + (size_t)n * 15 * MIB);
		works(cuGraphExecDestroy(exec[n]));
		break;
	}
	is(n, (int)((kit.total - before) / (15 * MIB)));
	while (n--) {
		works(cuMemFree(p[n]));
		works(cuGraphExecDestroy(exec[n]));
	}
	works(cuDeviceGraphMemTrim(kit.dev));
	agree(before);

	/* The same graph again and again, without waiting, with room for it once. */
	needs(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	works(cuMemAllocAsync(&p[0], 40 * MIB, s));
	works(cuMemFreeAsync(p[0], s));
	needs(cuStreamEndCapture(s, &graph));
	needs(cuGraphInstantiate(&exec[0], graph, 0));
	works(cuGraphDestroy(graph));
	for (int i = 0; i < 5; i++)
		works(cuGraphLaunch(exec[0], s));
	works(cuStreamSynchronize(s));
	agree(before + 40 * MIB);
	works(cuGraphExecDestroy(exec[0]));
	works(cuDeviceGraphMemTrim(kit.dev));
	agree(before);
	works(cuStreamDestroy(s));
}

/* ---- libraries ---- */

/* A kernel that was found without any context is launched in many: its library's variables count in each. */
static void library_everywhere(void)
{
	size_t before = truth(0);
	CUcontext context[4];
	CUlibrary library;
	CUdeviceptr p;
	CUkernel kernel;
	void *args[] = { &p };
	int n = 0;

	works(cuCtxSetCurrent(NULL));
	needs(cuLibraryLoadData(&library, library_ptx, NULL, NULL, 0, NULL, NULL, 0));
	needs(cuLibraryGetKernel(&kernel, library, "k"));
	works(cuCtxSetCurrent(kit.context));
	needs(cuMemAlloc(&p, 4096));
	works(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	works(cuCtxSynchronize());
	agree(before + 4096 + (LIBRARY_BYTES + 511) / 512 * 512);
	works(cuMemFree(p));
	for (; n < 4; n++) {
		if (kit_context(&context[n], 0, kit.dev) != CUDA_SUCCESS)
			break;
		if (cuMemAlloc(&p, 4096) == CUDA_SUCCESS &&
		    cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) == CUDA_SUCCESS)
			works(cuCtxSynchronize());
		is(held(), truth(0));
		ok(truth(0) <= kit.total);
	}
	while (n--)
		works(cuCtxDestroy(context[n]));
	works(cuCtxSetCurrent(kit.context));
	works(cuLibraryUnload(library));
	agree(before);
}

static void *find_kernel(void *library)
{
	CUkernel kernel;
	long good = cuCtxSetCurrent(kit.context) == CUDA_SUCCESS &&
		    cuLibraryGetKernel(&kernel, library, "k") == CUDA_SUCCESS;

	return (void *)good;
}

/* Threads that find the same library's kernel at once bring it in once. */
static void library_at_once(void)
{
	size_t before = truth(0);

	for (int round = 0; round < 20; round++) {
		pthread_t thread[4];
		CUlibrary library;
		void *good;

		needs(cuLibraryLoadData(&library, library_ptx, NULL, NULL, 0, NULL, NULL, 0));
		for (int i = 0; i < 4; i++)
			pthread_create(&thread[i], NULL, find_kernel, library);
		for (int i = 0; i < 4; i++) {
			pthread_join(thread[i], &good);
			if (!good)
				ok(!"a thread finds the kernel");
		}
		if (cuLibraryUnload(library) != CUDA_SUCCESS)
			ok(!"the library is unloaded");
	}
	agree(before);
}

/* ---- threads ---- */

/* Calls whose size shows afterwards, while others' pools give memory back in synchronising calls. */
static void *measured(void *unused)
{
	CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 1000, .Height = 1000, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1
	};
	CUarray array[8];

	cuCtxSetCurrent(kit.context);
	for (int round = 0; round < 40; round++) {
		int n = 0;

		while (n < 8 && cuArrayCreate(&array[n], &d) == CUDA_SUCCESS)
			n++;
		while (n--)
			cuArrayDestroy(array[n]);
	}
	return NULL;
}

static void *asynchronous(void *unused)
{
	CUdeviceptr p[4];
	CUstream s;

	cuCtxSetCurrent(kit.context);
	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	for (int round = 0; round < 400; round++) {
		int n = 0;

		while (n < 4 && cuMemAllocAsync(&p[n], 700000, s) == CUDA_SUCCESS)
			n++;
		while (n--)
			cuMemFreeAsync(p[n], s);
		cuStreamSynchronize(s);
	}
	cuStreamDestroy(s);
	return NULL;
}

/* Larger than what is taken along as comfort, so that meted is asked each time. */
static void *plain(void *unused)
{
	CUdeviceptr p;

	cuCtxSetCurrent(kit.context);
	for (int round = 0; round < 400; round++)
		if (cuMemAlloc(&p, 12 * MIB) == CUDA_SUCCESS)
			cuMemFree(p);
	return NULL;
}

static void threads(void)
{
	void *(*const work[])(void *) = { measured, asynchronous, plain, measured };
	size_t before = truth(0);
	struct timespec begin, end;
	pthread_t thread[4];

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	works(cuCtxSynchronize());
	agree(before);
	/* One that measures while another asks used to cost ten seconds each time. */
	tap_ok(end.tv_sec - begin.tv_sec < 60, "threads do not wait for each other in a circle (%ld s)",
	       (long)(end.tv_sec - begin.tv_sec));
}

int main(void)
{
	int devices = 0;

	kit_begin();
	cuDeviceGetCount(&devices);
	if (!kit.soft || devices < 2 || !truth_open()) {
		kit_skip("the three figures agree", "for two software devices");
		return kit_end();
	}
	freed_into_nothing();
	many_pools();
	handle_again();
	left_by_graphs();
	library_everywhere();
	library_at_once();
	threads();
	return kit_end();
}
