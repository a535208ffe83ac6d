/*
 * reacher.c: a program that tries to have more memory than its grant allows, by calls whose device or size is decided
 * by something that another call changes: reacher WAY BYTES
 *
 *   stack     a stream of a context that is not current, while the thread's stack of contexts is full
 *   library   the variables of a library, in a context that cannot be pushed on the full stack
 *   primary   an allocation while another thread releases and retains the primary context
 *   global    a library's variables, beside the same
 *   capture   an allocation in stream order while another thread ends the stream's capture
 *   export    two threads export one allocation at once
 *   pools     the devices' own pools, when the program has made as many as it can
 *   kernels   threads ask for a library's kernel, which another context has no room for
 *   function  a module whose variables are a function's own
 *   extern    a module whose variables are another's, which there is not
 *   file      a module whose file is replaced again and again by one with larger variables
 *
 * Says how many of its tries succeeded, and waits until it is told to end.
 */
#include <cuda.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACK_MOST 4096 /* more contexts than any driver lets one push */

static CUcontext context;
static CUstream stream;
static CUlibrary library;
static size_t bytes;
static atomic_int over;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void fill_stack(CUcontext top)
{
	for (unsigned int i = 0; i < STACK_MOST && !cuCtxPushCurrent(top); i++)
		;
}

static int by_stack(void)
{
	CUcontext other;
	CUdeviceptr p;

	if (cuCtxCreate_v2(&other, 0, 0) || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
		return -1;
	cuCtxPopCurrent(NULL);
	fill_stack(context);
	return !cuMemAllocAsync(&p, bytes, stream);
}

static int by_library(void)
{
	static char image[512];
	CUcontext other;
	CUkernel kernel;

	snprintf(image, sizeof image,
		 ".version 7.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .b8 much[%zu];\n"
		 ".visible .entry nothing() { ret; }\n",
		 bytes);
	if (cuCtxCreate_v2(&other, 0, 0))
		return -1;
	cuCtxPopCurrent(NULL);
	fill_stack(context);
	if (cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0))
		return -1;
	if (cuLibraryGetKernel(&kernel, library, "nothing"))
		return 0;
	if (cuCtxSetCurrent(other))
		return -1;
	return !cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) && !cuCtxSynchronize();
}

static int by_pools(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	CUmemLocation place = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
	CUmemoryPool pool;
	CUdeviceptr p;
	int devices = 0, got = 0;

	cuDeviceGetCount(&devices);
	while (!cuMemPoolCreate(&pool, &props))
		;
	for (place.id = 0; place.id < devices; place.id++)
		cuMemGetDefaultMemPool(&pool, &place, CU_MEM_ALLOCATION_TYPE_MANAGED);
	place.type = CU_MEM_LOCATION_TYPE_NONE;
	cuMemGetDefaultMemPool(&pool, &place, CU_MEM_ALLOCATION_TYPE_MANAGED);
	for (int i = devices; i-- > 0;) {
		CUcontext one;

		if (cuDevicePrimaryCtxRetain(&one, i) || cuCtxSetCurrent(one) || cuDeviceGetDefaultMemPool(&pool, i))
			return -1;
		got += !cuMemAllocFromPoolAsync(&p, bytes, pool, NULL);
		if (cuMemAllocFromPoolAsync(&p, 4096, pool, NULL))
			return -1; /* what has room is had */
	}
	return got;
}

static void put_image(char *image, size_t room, size_t size)
{
	snprintf(image, room,
		 ".version 7.0\n.target sm_80\n.address_size 64\n"
		 ".visible .entry nothing() { .global .align 4 .b8 much[%zu]; ret; }\n",
		 size);
}

static int by_function(void)
{
	char image[512];
	CUmodule module;

	put_image(image, sizeof image, bytes);
	return !cuModuleLoadData(&module, image);
}

static int by_extern(void)
{
	char image[512];
	CUmodule module;

	snprintf(image, sizeof image,
		 ".version 7.0\n.target sm_80\n.address_size 64\n.extern .global .align 4 .b8 much[%zu];\n"
		 ".visible .entry nothing() { .reg .b64 %%rd<2>; mov.u64 %%rd1, much; ret; }\n",
		 bytes);
	return !cuModuleLoadData(&module, image);
}

static _Atomic(CUkernel) had;

static void *ask_kernel(void *unused)
{
	uint64_t end = now_ms() + 1000;
	CUkernel kernel;

	cuCtxSetCurrent(context);
	while (!atomic_load(&had) && now_ms() < end)
		if (!cuLibraryGetKernel(&kernel, library, "nothing"))
			atomic_store(&had, kernel);
	return unused;
}

static int by_kernels(void)
{
	char image[512];
	CUcontext other;
	pthread_t thread[4];

	put_image(image, sizeof image, bytes);
	if (cuCtxCreate_v2(&other, 0, 0) || cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0))
		return -1;
	for (unsigned int i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, ask_kernel, NULL))
			return -1;
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	return atomic_load(&had) &&
	       !cuLaunchKernel((CUfunction)atomic_load(&had), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) &&
	       !cuCtxSynchronize();
}

static void *retain_and_release(void *unused)
{
	CUcontext c;

	while (!atomic_load(&over)) {
		cuDevicePrimaryCtxRelease(0);
		cuDevicePrimaryCtxRetain(&c, 0);
	}
	return unused;
}

static void *capture_and_end(void *unused)
{
	CUgraph graph;

	while (!atomic_load(&over)) {
		cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
		sched_yield();
		if (!cuStreamEndCapture(stream, &graph) && graph)
			cuGraphDestroy(graph);
	}
	return unused;
}

static char path[64], small[80], large[80];

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static void *replace_file(void *unused)
{
	while (!atomic_load(&over)) {
		const char *one = small, *other = large;

		unlink(path);
		if (link(one, path))
			continue;
		sched_yield();
		unlink(path);
		if (link(other, path))
			continue;
		sched_yield();
	}
	return unused;
}

/* Value: 1 when the large one was loaded. */
static int by_file(void)
{
	char image[512];
	uint64_t end = now_ms() + 2000;
	pthread_t thread;
	CUmodule module;
	CUdeviceptr p;
	size_t size;
	int got = 0;

	snprintf(path, sizeof path, "reacher-%d.ptx", (int)getpid());
	snprintf(small, sizeof small, "%s.small", path);
	snprintf(large, sizeof large, "%s.large", path);
	write_file(small, ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n");
	snprintf(image, sizeof image,
		 ".version 7.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .b8 much[%zu];\n", bytes);
	write_file(large, image);
	if (pthread_create(&thread, NULL, replace_file, NULL))
		return -1;
	while (!got && now_ms() < end)
		if (!cuModuleLoad(&module, path))
			got = !cuModuleGetGlobal(&p, &size, module, "much");
	atomic_store(&over, 1);
	pthread_join(thread, NULL);
	unlink(path);
	unlink(small);
	unlink(large);
	return got;
}

/* Until the variables are there, or time is over. */
static int by_global(void)
{
	char image[512];
	uint64_t end = now_ms() + 2000;
	pthread_t thread;
	CUdeviceptr p;
	size_t size;
	int got = 0;

	snprintf(image, sizeof image,
		 ".version 7.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .b8 much[%zu];\n", bytes);
	if (cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0) ||
	    pthread_create(&thread, NULL, retain_and_release, NULL))
		return -1;
	while (!got && now_ms() < end)
		got = !cuLibraryGetGlobal(&p, &size, library, "much");
	atomic_store(&over, 1);
	pthread_join(thread, NULL);
	return got;
}

/* Until the pointer is one of memory that is there, or time is over. */
static int by_race(void *(*against)(void *), int in_order)
{
	uint64_t end = now_ms() + 2000;
	pthread_t thread;
	CUdeviceptr p;
	int got = 0;

	if (in_order && cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
		return -1;
	if (pthread_create(&thread, NULL, against, NULL))
		return -1;
	while (!got && now_ms() < end) {
		if (in_order ? cuMemAllocAsync(&p, bytes, stream) : cuMemAlloc(&p, bytes))
			continue;
		got = !in_order || !cuMemsetD8(p, 1, 16);
	}
	atomic_store(&over, 1);
	pthread_join(thread, NULL);
	return got;
}

static pthread_barrier_t barrier;
static CUmemGenericAllocationHandle handle;

static void *export_one(void *ret)
{
	int *fd = ret;

	pthread_barrier_wait(&barrier);
	if (cuMemExportToShareableHandle(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
		*fd = -1;
	return NULL;
}

/* Value: how many were refused. */
static int by_export(void)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	int refused = 0;

	pthread_barrier_init(&barrier, NULL, 2);
	for (unsigned int i = 0; i < 100; i++) {
		pthread_t thread[2];
		int fd[2];

		if (cuMemCreate(&handle, bytes, &prop, 0))
			return -1;
		for (unsigned int k = 0; k < 2; k++)
			pthread_create(&thread[k], NULL, export_one, &fd[k]);
		for (unsigned int k = 0; k < 2; k++) {
			pthread_join(thread[k], NULL);
			refused += fd[k] < 0;
			if (fd[k] >= 0)
				close(fd[k]);
		}
		cuMemRelease(handle);
	}
	return refused;
}

int main(int argc, char **argv)
{
	const char *way = argc == 3 ? argv[1] : "";
	int got = -1;

	bytes = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		return 1;
	if (!strcmp(way, "stack"))
		got = by_stack();
	else if (!strcmp(way, "library"))
		got = by_library();
	else if (!strcmp(way, "primary"))
		got = by_race(retain_and_release, 0);
	else if (!strcmp(way, "global"))
		got = by_global();
	else if (!strcmp(way, "capture"))
		got = by_race(capture_and_end, 1);
	else if (!strcmp(way, "export"))
		got = by_export();
	else if (!strcmp(way, "pools"))
		got = by_pools();
	else if (!strcmp(way, "kernels"))
		got = by_kernels();
	else if (!strcmp(way, "function"))
		got = by_function();
	else if (!strcmp(way, "extern"))
		got = by_extern();
	else if (!strcmp(way, "file"))
		got = by_file();
	printf("%d\n", got);
	fflush(stdout);
	getchar();
	return 0;
}
