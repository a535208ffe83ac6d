/*
 * client_program.c: what a program sees through the remote client; client_test.py starts it with workers behind sockets
 * in METE_REMOTE. client_program CASE prints TAP.
 */
#include <cuda.h>

#include "base/tap.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define KIB 1024u
#define ROOM (3u << 20)

static bool answers_(CUresult got, CUresult want, int line, const char *call)
{
	const char *name = NULL;

	cuGetErrorName(got, &name);
	return tap_ok(got == want, "line %d %s: %s", line, call, name ? name : "?");
}

#define answers(want, call) answers_((call), (want), __LINE__, #call)
#define works(call) answers(CUDA_SUCCESS, call)

static CUcontext context_of(CUdevice device)
{
	CUcontext c = NULL;

	works(cuDevicePrimaryCtxRetain(&c, device));
	works(cuCtxSetCurrent(c));
	return c;
}

/* ---- copies ---- */

static uint32_t state = 12345;

static uint32_t random_below(uint32_t n)
{
	state = state * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)state * n) >> 32);
}

/* A length near one of the places where the way changes: inside the message, one piece, several. */
static size_t length(void)
{
	static const size_t edges[] = { 1, 2048, 256 * KIB, 512 * KIB, 1536 * KIB };
	size_t n = edges[random_below(5)] + random_below(9);

	return n > 4 ? n - 4 : n;
}

/* What is on the device and what should be there. */
struct twin {
	CUdeviceptr device;
	unsigned char *want, *host, *back;
};

static void noise(unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)(random_below(256));
}

static int differs(struct twin *t, CUstream stream, bool async)
{
	CUresult r;

	memset(t->back, 0, ROOM);
	r = async ? cuMemcpyDtoHAsync(t->back, t->device, ROOM, stream) : cuMemcpyDtoH(t->back, t->device, ROOM);
	if (r == CUDA_SUCCESS && async)
		r = cuStreamSynchronize(stream);
	return r != CUDA_SUCCESS || memcmp(t->back, t->want, ROOM);
}

static int one_line(struct twin *t, CUstream stream)
{
	size_t n = length(), to = random_below((uint32_t)(ROOM - n)), from = random_below((uint32_t)(ROOM - n));
	bool async = random_below(2);
	CUresult r;

	noise(t->host + from, n < 4096 ? n : 4096);
	r = async ? cuMemcpyHtoDAsync(t->device + to, t->host + from, n, stream)
		  : cuMemcpyHtoD(t->device + to, t->host + from, n);
	memcpy(t->want + to, t->host + from, n);
	if (async && r == CUDA_SUCCESS)
		r = cuStreamSynchronize(stream);
	return r != CUDA_SUCCESS;
}

/* A box of rows, in or out, with pitches and places of its own. */
static int one_box(struct twin *t)
{
	size_t width = 1 + random_below(700), height = 1 + random_below(40), depth = 1 + random_below(6);
	size_t host_pitch = width + random_below(50), device_pitch = width + random_below(50), wrong = 0;
	CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = t->host,
			    .srcPitch = host_pitch,
			    .srcHeight = height + 1,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			    .dstDevice = t->device,
			    .dstPitch = device_pitch,
			    .dstHeight = height + 2,
			    .dstXInBytes = random_below((uint32_t)(device_pitch - width + 1)),
			    .dstY = random_below(3),
			    .WidthInBytes = width,
			    .Height = height,
			    .Depth = depth };
	CUDA_MEMCPY3D back;

	noise(t->host, 4096);
	if (cuMemcpy3D(&c))
		return 1;
	for (size_t z = 0; z < depth; z++)
		for (size_t y = 0; y < height; y++)
			memcpy(t->want + ((z * (height + 2) + c.dstY + y) * device_pitch + c.dstXInBytes),
			       t->host + (z * (height + 1) + y) * host_pitch, width);
	back = (CUDA_MEMCPY3D){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
				.srcDevice = t->device,
				.srcPitch = device_pitch,
				.srcHeight = height + 2,
				.srcXInBytes = c.dstXInBytes,
				.srcY = c.dstY,
				.dstMemoryType = CU_MEMORYTYPE_HOST,
				.dstHost = t->back,
				.dstPitch = host_pitch,
				.dstHeight = height + 1,
				.WidthInBytes = width,
				.Height = height,
				.Depth = depth };
	if (cuMemcpy3D(&back))
		return 1;
	for (size_t z = 0; z < depth; z++)
		for (size_t y = 0; y < height; y++)
			wrong += memcmp(t->back + (z * (height + 1) + y) * host_pitch,
					t->host + (z * (height + 1) + y) * host_pitch, width) != 0;
	return wrong != 0;
}

static void copies_of(const char *what, bool pinned)
{
	struct twin t = { .want = calloc(1, ROOM) };
	int failed = 0, wrong = 0;
	CUstream stream;

	works(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	works(cuMemAlloc(&t.device, ROOM));
	works(cuMemsetD8(t.device, 0, ROOM));
	works(cuCtxSynchronize());
	if (pinned) {
		works(cuMemAllocHost((void **)&t.host, ROOM));
		works(cuMemAllocHost((void **)&t.back, ROOM));
	} else {
		t.host = calloc(1, ROOM);
		t.back = calloc(1, ROOM);
	}
	for (int i = 0; i < 40; i++) {
		failed += one_line(&t, stream);
		if (i % 8 == 7)
			wrong += differs(&t, stream, i & 8);
	}
	tap_ok(!failed && !wrong, "%s: 40 copies of lengths at every edge (%d failed, %d wrong)", what, failed, wrong);
	for (int i = 0; i < 40; i++)
		failed += one_box(&t);
	tap_ok(!failed, "%s: 40 boxes come back as they went (%d did not)", what, failed);
	tap_ok(!differs(&t, stream, false), "%s: and nothing beside them was touched", what);
	works(cuMemFree(t.device));
	works(cuStreamDestroy(stream));
	if (pinned) {
		works(cuMemFreeHost(t.host));
		works(cuMemFreeHost(t.back));
	} else {
		free(t.host);
		free(t.back);
	}
	free(t.want);
}

/* The first version of the call, which says where it failed. */
static CUresult batch_v1(CUdeviceptr *dst, CUdeviceptr *src, size_t *bytes, size_t *failed, CUstream stream)
{
	CUresult (*call)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *, size_t,
			 size_t *, CUstream) = NULL;
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	size_t first = 0;

	works(cuGetProcAddress("cuMemcpyBatchAsync", (void **)&call, 12080, 0, NULL));
	return call ? call(dst, src, bytes, 3, &how, &first, 1, failed, stream) : CUDA_ERROR_NOT_FOUND;
}

/* Into the device, within it, and back, in one call; then one that is refused before anything is copied. */
static void batch(void)
{
	static unsigned char from[100000], to[sizeof(from)];
	CUdeviceptr p, dst[3], src[3];
	size_t bytes[] = { sizeof(from), 1000, sizeof(from) }, first = 0, failed = 7;
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	CUstream stream;

	works(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	works(cuMemAlloc(&p, sizeof(from)));
	noise(from, sizeof(from));
	dst[0] = p;
	src[0] = (CUdeviceptr)(uintptr_t)from;
	dst[1] = p + 50000;
	src[1] = p;
	dst[2] = (CUdeviceptr)(uintptr_t)to;
	src[2] = p;
	works(cuMemcpyBatchAsync(dst, src, bytes, 3, &how, &first, 1, stream));
	works(cuStreamSynchronize(stream));
	memcpy(from + 50000, from, 1000);
	ok(!memcmp(from, to, sizeof(from)));
	memset(to, 0, sizeof(to));
	bytes[1] = sizeof(from);
	answers(CUDA_ERROR_INVALID_VALUE, batch_v1(dst, src, bytes, &failed, stream));
	is(failed, 1);
	works(cuStreamSynchronize(stream));
	is(to[0] | to[50000], 0);
	works(cuMemFree(p));
	works(cuStreamDestroy(stream));
}

static void copies(void)
{
	works(cuInit(0));
	context_of(0);
	batch();
	copies_of("pageable", false);
	copies_of("pinned", true);
}

/* ---- two servers in one program ---- */

static const char stamp_ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
				".visible .global .align 4 .u32 word = 7;\n"
				".visible .entry stamp(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<3>;\n"
				"mov.u64 %rd1, word;\nld.global.u32 %r1, [%rd1];\nld.param.u64 %rd2, [p];\n"
				"st.global.u32 [%rd2], %r1;\nret;\n}\n";

/* What the kernel writes in the current context: the variable as it is there. */
static unsigned int stamped(CUfunction f)
{
	unsigned int got = 0;
	CUdeviceptr at;
	void *params[] = { &at };

	works(cuMemAlloc(&at, 4));
	works(cuMemsetD32(at, 99, 1));
	works(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	works(cuMemcpyDtoH(&got, at, 4));
	works(cuMemFree(at));
	return got;
}

/* A library is loaded once by the program, and used on devices of both servers, in whatever order. */
static void library_of_two(CUcontext a, CUcontext b)
{
	char image[sizeof(stamp_ptx)];
	CUdeviceptr word_a = 0, word_b = 0;
	CUlibrary library, of;
	CUfunction f_a, f_b;
	CUkernel kernel;
	CUmodule module;
	size_t bytes = 0;
	int value = 0;

	memcpy(image, stamp_ptx, sizeof(image));
	works(cuCtxSetCurrent(a));
	works(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	memset(image, 'x', sizeof(image)); /* it is the program's again */
	works(cuLibraryGetKernel(&kernel, library, "stamp"));
	is(stamped((CUfunction)kernel), 7);
	works(cuCtxSetCurrent(b));
	is(stamped((CUfunction)kernel), 7);
	works(cuLibraryGetGlobal(&word_b, &bytes, library, "word"));
	is(bytes, 4);
	works(cuMemsetD32(word_b, 8, 1));
	works(cuKernelGetFunction(&f_b, kernel));
	is(stamped(f_b), 8);
	works(cuFuncGetModule(&module, f_b));
	works(cuKernelGetLibrary(&of, kernel));
	ok(of == library);
	works(cuLibraryGetKernel(&kernel, library, "stamp"));
	works(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 1));
	ok(value > 0);
	works(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024, kernel, 1));
	works(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 2048, kernel, 0));
	works(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 1));
	is(value, 1024);
	works(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 0));
	works(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 1));

	/* The other one's variable is another variable, and a function stays where it is. */
	works(cuCtxSetCurrent(a));
	works(cuLibraryGetGlobal(&word_a, NULL, library, "word"));
	ok(word_a != word_b);
	is(stamped((CUfunction)kernel), 7);
	works(cuKernelGetFunction(&f_a, kernel));
	ok(f_a != f_b);
	is(stamped(f_a), 7);
	answers(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f_b, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &word_a }, NULL));

	/* Wherever the program is when it ends: with all that was made of it. */
	works(cuCtxSetCurrent(b));
	works(cuLibraryUnload(library));
	answers(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetKernel(&kernel, library, "stamp"));
	answers(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f_b, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &word_b }, NULL));
	works(cuCtxSetCurrent(a));
	answers(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f_a, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &word_a }, NULL));
	works(cuCtxSetCurrent(b));
}

static void CUDA_CB come_late(void *told)
{
	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	atomic_store((atomic_int *)told, 1);
}

struct seen {
	atomic_int told, at[2];
};

static void CUDA_CB look_first(void *arg)
{
	struct seen *s = arg;

	s->at[0] = s->told;
}

static void CUDA_CB look_second(void *arg)
{
	struct seen *s = arg;

	s->at[1] = s->told;
}

/* A stream of one server waits for an event of the other, by its name and as the current context's own. */
static void event_of_two(CUcontext a, CUcontext b, CUstream in_a)
{
	/* Each round its own: that the first one's functions have run is told to this thread by another process, which
	 * no thread sanitizer sees. */
	static struct seen rounds[2];
	CUstream in_b;
	CUevent event, never;

	works(cuCtxSetCurrent(b));
	works(cuStreamCreate(&in_b, CU_STREAM_NON_BLOCKING));
	works(cuCtxSetCurrent(a));
	works(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	works(cuEventCreate(&never, CU_EVENT_DISABLE_TIMING));
	for (int named = 0; named < 2; named++) {
		struct seen *seen = &rounds[named];

		works(cuCtxSetCurrent(a));
		works(cuLaunchHostFunc(in_a, come_late, &seen->told));
		works(cuEventRecord(event, in_a));
		works(cuCtxSetCurrent(b));
		works(cuStreamWaitEvent(named ? in_b : NULL, event, 0));
		works(cuLaunchHostFunc(named ? in_b : NULL, look_first, seen));
		works(cuLaunchHostFunc(named ? in_b : NULL, look_second, seen));
		works(cuCtxSynchronize());
		ok(seen->at[0] == 1 && seen->at[1] == 1);
	}
	works(cuStreamWaitEvent(in_b, never, 0)); /* never recorded */
	answers(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(in_b, event, 8));
	works(cuEventDestroy(never));
	works(cuEventDestroy(event));
	works(cuStreamDestroy(in_b));
}

static void servers(void)
{
	unsigned char *from = malloc(ROOM), *to = calloc(1, ROOM);
	CUcontext a, b;
	CUdeviceptr p, q;
	CUstream stream;
	int count = 0, can = 7, value = 7;
	CUdevice device = -1;

	works(cuInit(0));
	works(cuDeviceGetCount(&count));
	is(count, 2);
	a = context_of(0);
	works(cuMemAlloc(&p, ROOM));
	works(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	b = context_of(1);
	works(cuMemAlloc(&q, ROOM));
	works(cuCtxGetDevice(&device));
	is(device, 1);
	works(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
	is(value, 0);
	works(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, q));
	is(value, 1);
	ok(p + ROOM <= q || q + ROOM <= p);
	works(cuDeviceCanAccessPeer(&can, 0, 1));
	is(can, 0);
	answers(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(a, 0));

	noise(from, ROOM);
	works(cuMemcpyHtoD(p, from, ROOM)); /* p is the other server's: addresses are one space */
	works(cuMemcpyPeer(q, b, p, a, ROOM));
	works(cuMemcpyDtoH(to, q, ROOM));
	ok(!memcmp(from, to, ROOM));
	works(cuMemsetD8(q, 0x5a, 100));
	works(cuMemcpy(p + 1, q, 100));
	works(cuMemcpyDtoH(to, p, 102));
	ok(to[0] == from[0] && to[1] == 0x5a && to[100] == 0x5a && to[101] == from[101]);

	library_of_two(a, b);
	event_of_two(a, b, stream);

	/* A stream of one server and memory of the other do not go together. */
	answers(CUDA_ERROR_INVALID_HANDLE, cuMemsetD8Async(q, 0, 10, stream));
	works(cuMemFree(q));
	works(cuMemFree(p));
	works(cuDevicePrimaryCtxRelease(1));
	answers(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
	works(cuCtxSetCurrent(a));
	works(cuStreamDestroy(stream));
	free(from);
	free(to);
}

/* ---- handles ---- */

static void handles(void)
{
	unsigned int flags = 9;
	CUcontext a, other;
	CUstream s, again;
	CUevent e;
	int attribute = 5, dummy = 0;
	const void *table = &dummy;
	CUuuid id = { { 1 } };
	CUuuid of_runtime = { "\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9" }; /* base/static_runtime.c */

	answers(CUDA_ERROR_NOT_INITIALIZED, cuCtxSynchronize());
	answers(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&attribute));
	works(cuInit(0));
	answers(CUDA_ERROR_INVALID_VALUE, cuInit(1));
	a = context_of(0);
	works(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	works(cuStreamGetFlags(s, &flags));
	is(flags, CU_STREAM_NON_BLOCKING);
	answers(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize((CUstream)&dummy));
	answers(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize((CUstream)((uintptr_t)s + 16)));
	answers(CUDA_ERROR_INVALID_HANDLE, cuEventQuery((CUevent)s));
	answers(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent((CUcontext)s));
	works(cuStreamDestroy(s));
	answers(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(s));
	works(cuStreamCreate(&again, 0));
	ok(again != s);
	works(cuEventCreate(&e, 0));
	works(cuEventRecord(e, again));
	works(cuEventSynchronize(e));

	/* What a context has goes with it. */
	works(cuCtxCreate_v2(&other, 0, 0));
	works(cuStreamCreate(&s, 0));
	works(cuCtxDestroy(other));
	answers(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(s));
	answers(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent(other));
	works(cuCtxSetCurrent(a));

	works(cuDeviceGetAttribute(&attribute, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0));
	is(attribute, 1);
	works(cuDeviceGetAttribute(&attribute, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0));
	is(attribute, 0);
	works(cuDeviceGetAttribute(&attribute, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 0));
	is(attribute, 1);
	answers(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&table, &id));
	answers(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&table, &of_runtime));
	ok(table == NULL);
	works(cuEventDestroy(e));
	works(cuStreamDestroy(again));
}

/* ---- host functions ---- */

static sem_t gate, inside;

static void wait_at_gate(void *unused)
{
	sem_post(&inside);
	while (sem_wait(&gate))
		;
}

/* Opens the gate only after the worker has served it, while the other thread's free waits for the device. */
static void *opens(void *unused)
{
	CUcontext c = NULL;
	CUresult r;

	while (sem_wait(&inside))
		;
	usleep(20000);
	r = cuDevicePrimaryCtxRetain(&c, 0);
	if (r == CUDA_SUCCESS)
		r = cuCtxSetCurrent(c);
	if (r == CUDA_SUCCESS)
		r = cuStreamQuery(CU_STREAM_PER_THREAD);
	if (r == CUDA_SUCCESS)
		sem_post(&gate);
	cuDevicePrimaryCtxRelease(0);
	return (void *)(uintptr_t)r;
}

static void gated(void)
{
	CUdeviceptr p;
	CUstream stream;
	pthread_t thread;
	void *r = NULL;

	works(cuInit(0));
	context_of(0);
	sem_init(&gate, 0, 0);
	sem_init(&inside, 0, 0);
	works(cuMemAlloc(&p, 4096));
	works(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	works(cuLaunchHostFunc(stream, wait_at_gate, NULL));
	is(pthread_create(&thread, NULL, opens, NULL), 0);
	works(cuMemFree(p)); /* waits for the device, which waits for the gate */
	pthread_join(thread, &r);
	is((uintptr_t)r, CUDA_SUCCESS);
	works(cuStreamSynchronize(stream));
	works(cuStreamDestroy(stream));
}

/* ---- the end of the worker ---- */

/* Says on stdout that it works, waits for a line, and then finds its worker gone. */
static void lost(void)
{
	char line[16];
	CUdeviceptr p;

	works(cuInit(0));
	context_of(0);
	works(cuMemAlloc(&p, 1 << 20));
	works(cuCtxSynchronize());
	printf("# ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return;
	answers(CUDA_ERROR_DEVICE_UNAVAILABLE, cuCtxSynchronize());
	answers(CUDA_ERROR_DEVICE_UNAVAILABLE, cuMemAlloc(&p, 1 << 20));
	answers(CUDA_ERROR_DEVICE_UNAVAILABLE, cuMemsetD8(p, 0, 1));
	answers(CUDA_ERROR_DEVICE_UNAVAILABLE, cuMemcpyHtoD(p, line, 1));
	works(cuCtxSetCurrent(NULL));
}

/* Nobody is behind the socket. */
static void nobody(void)
{
	int count = 7;

	answers(CUDA_ERROR_SYSTEM_NOT_READY, cuInit(0));
	answers(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
	answers(CUDA_ERROR_SYSTEM_NOT_READY, cuInit(0));
}

/* What fails at the worker and nobody waited for comes with the next call that waits, or at once when all wait. */
static void late(void)
{
	bool waits = getenv("METE_REMOTE_WAIT");
	CUstreamBatchMemOpParams unknown = { .operation = (CUstreamBatchMemOpType)99 };

	works(cuInit(0));
	context_of(0);
	/* Only the driver looks at what is in the batch. */
	answers(waits ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS, cuStreamBatchMemOp(NULL, 1, &unknown, 0));
	answers(waits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, cuCtxSynchronize());
	works(cuCtxSynchronize());
}

/* A graph as a file, which the client writes; the worker has none. */
static void graphs(void)
{
	char path[64], text[4096] = { 0 };
	CUDA_MEMSET_NODE_PARAMS fill = { .elementSize = 4, .width = 16, .height = 1, .value = 7 };
	CUgraphNode first, second, inner;
	CUgraph graph, child;
	CUcontext context;
	FILE *f;

	works(cuInit(0));
	context = context_of(0);
	works(cuMemAlloc(&fill.dst, 64));
	works(cuGraphCreate(&child, 0));
	works(cuGraphAddMemsetNode(&inner, child, NULL, 0, &fill, context));
	works(cuGraphCreate(&graph, 0));
	works(cuGraphAddEmptyNode(&first, graph, NULL, 0));
	works(cuGraphAddChildGraphNode(&second, graph, &first, 1, child));
	snprintf(path, sizeof path, "/tmp/mete-dot-%d", (int)getpid());
	works(cuGraphDebugDotPrint(graph, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
	f = fopen(path, "r");
	ok(f && fread(text, 1, sizeof text - 1, f));
	if (f)
		fclose(f);
	unlink(path);
	ok(!strncmp(text, "digraph dot {", 13) && strstr(text, "EMPTY") && strstr(text, "CHILD GRAPH"));
	ok(strstr(text, "\"graph_0_node_0\" -> \"graph_0_node_1\";"));
	ok(strstr(text, "value 7\\n16 x 1 elements of 4 bytes"));
	ok(strstr(text, "\"graph_0_node_1\" -> \"graph_1_begin\""));
	answers(CUDA_ERROR_OPERATING_SYSTEM, cuGraphDebugDotPrint(graph, "/nowhere/at/all", 0));
	answers(CUDA_ERROR_INVALID_VALUE, cuGraphDebugDotPrint(graph, NULL, 0));
	works(cuGraphDestroy(graph));
	answers(CUDA_ERROR_INVALID_VALUE, cuGraphDebugDotPrint(graph, path, 0));
	ok(access(path, F_OK));
	works(cuGraphDestroy(child));
}

/* ---- modules that go while others use them ---- */

#define UNLOADS 300

static const char two_kernels[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				  ".global .u32 place;\n"
				  ".visible .entry one() { ret; }\n.visible .entry two() { ret; }\n";

static _Atomic(CUmodule) shared_module;
static _Atomic(CUfunction) shared_function;
static _Atomic int unloading, strange;
static CUcontext shared_context;

/* What has just gone is answered with one of the documented errors, or still there; never anything else. */
static void note(CUresult r)
{
	if (r != CUDA_SUCCESS && r != CUDA_ERROR_INVALID_HANDLE && r != CUDA_ERROR_NOT_FOUND)
		strange++;
}

static void *use_modules(void *arg)
{
	const char *name;
	CUdeviceptr at;
	CUfunction f;
	CUmodule m;
	size_t bytes;
	int n;

	cuCtxSetCurrent(shared_context);
	while (unloading) {
		note(cuModuleGetFunction(&f, shared_module, "two"));
		note(cuModuleGetGlobal(&at, &bytes, shared_module, "place"));
		note(cuFuncGetName(&name, shared_function));
		note(cuFuncGetModule(&m, shared_function));
		note(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, shared_function));
		note(cuLaunchKernel(shared_function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	}
	cuCtxSetCurrent(NULL);
	return arg;
}

static void unloads(void)
{
	CUmodule module, old = NULL;
	pthread_t user[2];
	CUfunction f;
	int bad = 0;

	works(cuInit(0));
	shared_context = context_of(0);
	for (int i = 0; i < UNLOADS; i++) {
		bad += cuModuleLoadData(&module, two_kernels) || cuModuleGetFunction(&f, module, "one");
		shared_module = module;
		shared_function = f;
		unloading = 1;
		for (int t = 0; !i && t < 2; t++)
			ok(!pthread_create(&user[t], NULL, use_modules, NULL));
		if (old)
			bad += cuModuleUnload(old) != CUDA_SUCCESS;
		old = module;
	}
	unloading = 0;
	for (int t = 0; t < 2; t++)
		pthread_join(user[t], NULL);
	tap_ok(!bad && !strange, "%d modules go while two threads use them: %d, %d", UNLOADS, bad, strange);
	cuCtxSynchronize(); /* what a launch of something gone has left */
	works(cuModuleUnload(old));
	works(cuCtxSynchronize());
}

/* ---- addresses ---- */

#define PIECE (UINT64_C(32) << 20) /* RANGES_PIECE: the client keeps addresses by that much */
#define MIB (1u << 20)

/* What the program has itself where the device's memory would come next: as large as one wants, it is not in the way.
 */
static void obstacle(void)
{
	CUdeviceptr p, piece[80];
	unsigned int got = 0, freed = 0;
	uint64_t place;
	size_t unused, total;

	works(cuInit(0));
	context_of(0);
	works(cuMemAlloc(&p, 20 * MIB));
	place = (p + 20 * MIB + PIECE - 1) / PIECE * PIECE;
	ok(mmap((void *)(uintptr_t)place, 3 * PIECE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		0) == (void *)(uintptr_t)place);
	works(cuMemFree(p));
	while (got < 80 && cuMemAlloc(&piece[got], MIB) == CUDA_SUCCESS)
		got++;
	is(got, 80);
	for (unsigned int i = 0; i < got; i++)
		freed += (piece[i] + MIB <= place || piece[i] >= place + 3 * PIECE) &&
			 cuMemsetD8(piece[i], 1, MIB) == CUDA_SUCCESS && cuMemFree(piece[i]) == CUDA_SUCCESS;
	is(freed, 80);
	works(cuMemGetInfo(&unused, &total));
	ok(total - unused < 16 * MIB); /* what was held meanwhile is given back */
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "copies", copies },	{ "gated", gated },	  { "servers", servers }, { "handles", handles },
	{ "lost", lost },	{ "nobody", nobody },	  { "late", late },	  { "graphs", graphs },
	{ "unloads", unloads }, { "obstacle", obstacle },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		cases[i].run();
		tap_fds = tap_open_fds();
		return tap_end();
	}
	fprintf(stderr, "client_program CASE\n");
	return 2;
}
