/*
 * shapes_test.c: how many round trips a step of an ordinary loop takes: one shape after the other, each run some times
 * before it is counted. See rounds.h.
 */
#include "rounds.h"

#define BEFORE 3 /* steps that are not counted */
#define STEPS 4
#define FEW 100
#define STREAMS 4
#define BYTES (FEW * sizeof(float))
#define LARGE (3u << 20)

static struct {
	float *a, *b, *c, *large, *managed, *pinned;
	cudaStream_t stream, others[STREAMS];
	cudaEvent_t first, last, joined[STREAMS];
	cudaGraphExec_t graph;
	float out[FEW];
	unsigned char bytes[LARGE];
} have;

static cudaError_t kernel(cudaStream_t stream)
{
	return launch(have.a, have.b, have.c, FEW, stream);
}

/* All of these in this order, to the first that fails. */
#define DO(e, call) ((e) = (e) ? (e) : (call))

static cudaError_t plain_memory(void)
{
	cudaError_t e = cudaSuccess;
	float *p = NULL;

	DO(e, cudaMalloc((void **)&p, BYTES));
	DO(e, launch(have.a, have.b, p, FEW, NULL));
	DO(e, cudaMemcpy(have.out, p, BYTES, cudaMemcpyDeviceToHost));
	DO(e, cudaFree(p));
	return e;
}

static cudaError_t timed(void)
{
	cudaError_t e = cudaSuccess;
	float ms;

	DO(e, cudaEventRecord(have.first, have.stream));
	for (int i = 0; i < 10; i++)
		DO(e, kernel(have.stream));
	DO(e, cudaEventRecord(have.last, have.stream));
	DO(e, cudaEventSynchronize(have.last));
	DO(e, cudaEventElapsedTime(&ms, have.first, have.last));
	return e;
}

static cudaError_t new_events(void)
{
	cudaError_t e = cudaSuccess;
	cudaEvent_t event;

	DO(e, cudaEventCreate(&event));
	DO(e, kernel(have.stream));
	DO(e, cudaEventRecord(event, have.stream));
	DO(e, cudaStreamWaitEvent(have.others[0], event, 0));
	DO(e, cudaEventDestroy(event));
	DO(e, cudaStreamSynchronize(have.others[0]));
	return e;
}

static cudaError_t asked_until_done(void)
{
	cudaError_t e = cudaSuccess;

	DO(e, kernel(have.stream));
	DO(e, cudaEventRecord(have.last, have.stream));
	DO(e, cudaStreamSynchronize(have.stream));
	for (int i = 0; i < 10; i++)
		DO(e, cudaEventQuery(have.last));
	for (int i = 0; i < 10; i++)
		DO(e, cudaStreamQuery(have.stream));
	return e;
}

static cudaError_t pinned(void)
{
	cudaError_t e = cudaSuccess;

	DO(e, cudaMemcpyAsync(have.a, have.pinned, BYTES, cudaMemcpyHostToDevice, have.stream));
	DO(e, kernel(have.stream));
	DO(e, cudaMemcpyAsync(have.pinned, have.c, BYTES, cudaMemcpyDeviceToHost, have.stream));
	DO(e, cudaStreamSynchronize(have.stream));
	return e;
}

static cudaError_t at_once(void)
{
	cudaError_t e = cudaSuccess;

	DO(e, cudaMemcpy(have.a, have.out, BYTES, cudaMemcpyHostToDevice));
	DO(e, cudaMemset(have.b, 0, BYTES));
	DO(e, cudaMemset(have.c, 0, BYTES));
	DO(e, kernel(NULL));
	DO(e, cudaMemcpy(have.out, have.c, BYTES, cudaMemcpyDeviceToHost));
	return e;
}

static cudaError_t large(void)
{
	cudaError_t e = cudaSuccess;

	DO(e, cudaMemcpy(have.large, have.bytes, LARGE, cudaMemcpyHostToDevice));
	DO(e, kernel(NULL));
	DO(e, cudaMemcpy(have.bytes, have.large, LARGE, cudaMemcpyDeviceToHost));
	return e;
}

static cudaError_t planes(void)
{
	cudaError_t e = cudaSuccess;

	DO(e, cudaMemcpy2D(have.large, 512, have.bytes, 400, 400, 100, cudaMemcpyHostToDevice));
	DO(e, kernel(NULL));
	DO(e, cudaMemcpy2D(have.bytes, 400, have.large, 512, 400, 100, cudaMemcpyDeviceToHost));
	return e;
}

static cudaError_t several_streams(void)
{
	cudaError_t e = cudaSuccess;

	DO(e, cudaEventRecord(have.first, have.stream));
	for (int i = 0; i < STREAMS; i++) {
		DO(e, cudaStreamWaitEvent(have.others[i], have.first, 0));
		DO(e, kernel(have.others[i]));
		DO(e, cudaEventRecord(have.joined[i], have.others[i]));
		DO(e, cudaStreamWaitEvent(have.stream, have.joined[i], 0));
	}
	DO(e, kernel(have.stream));
	DO(e, cudaStreamSynchronize(have.stream));
	return e;
}

static cudaError_t each_stream_waited_for(void)
{
	cudaError_t e = cudaSuccess;

	for (int i = 0; i < STREAMS; i++)
		DO(e, kernel(have.others[i]));
	for (int i = 0; i < STREAMS; i++)
		DO(e, cudaStreamSynchronize(have.others[i]));
	return e;
}

static cudaError_t new_streams(void)
{
	cudaError_t e = cudaSuccess;
	cudaStream_t stream;

	DO(e, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	DO(e, kernel(stream));
	DO(e, cudaStreamSynchronize(stream));
	DO(e, cudaStreamDestroy(stream));
	return e;
}

static cudaError_t graphs(void)
{
	cudaError_t e = cudaSuccess;

	for (int i = 0; i < 5; i++)
		DO(e, cudaGraphLaunch(have.graph, have.stream));
	DO(e, cudaStreamSynchronize(have.stream));
	return e;
}

static cudaError_t captured(cudaGraph_t *graph)
{
	cudaError_t e = cudaSuccess;

	DO(e, cudaStreamBeginCapture(have.stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < 10; i++)
		DO(e, kernel(have.stream));
	DO(e, cudaStreamEndCapture(have.stream, graph));
	return e;
}

/* As frameworks do whose steps change: captured anew, and put into the graph that there is. */
static cudaError_t captures(void)
{
	cudaGraphExecUpdateResultInfo info = { 0 };
	cudaError_t e = cudaSuccess;
	cudaGraph_t graph = NULL;

	DO(e, captured(&graph));
	DO(e, cudaGraphExecUpdate(have.graph, graph, &info));
	DO(e, cudaGraphLaunch(have.graph, have.stream));
	DO(e, cudaGraphDestroy(graph));
	DO(e, cudaStreamSynchronize(have.stream));
	return e;
}

static cudaError_t asked_about_kernels(void)
{
	cudaError_t e = cudaSuccess;
	struct cudaFuncAttributes attributes;
	int blocks;

	for (int i = 0; i < 10; i++) {
		DO(e, cudaFuncGetAttributes(&attributes, &add));
		DO(e, cudaFuncSetAttribute(&add, cudaFuncAttributeMaxDynamicSharedMemorySize, 4096));
		DO(e, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &add, 128, 0));
		DO(e, kernel(have.stream));
		DO(e, cudaGetLastError());
	}
	DO(e, cudaStreamSynchronize(have.stream));
	return e;
}

static cudaError_t asked_about_devices(void)
{
	cudaError_t e = cudaSuccess;
	struct cudaDeviceProp properties;
	int value, device;

	for (int i = 0; i < 10; i++) {
		DO(e, cudaGetDeviceCount(&value));
		DO(e, cudaGetDevice(&device));
		DO(e, cudaSetDevice(device));
		DO(e, cudaGetDeviceProperties(&properties, device));
		DO(e, cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device));
		DO(e, kernel(have.stream));
	}
	DO(e, cudaStreamSynchronize(have.stream));
	return e;
}

static cudaError_t asked_about_pointers(void)
{
	struct cudaPointerAttributes attributes;
	cudaError_t e = cudaSuccess;

	for (int i = 0; i < 10; i++) {
		DO(e, cudaPointerGetAttributes(&attributes, have.a));
		DO(e, cudaPointerGetAttributes(&attributes, have.pinned));
		DO(e, cudaPointerGetAttributes(&attributes, have.out));
		DO(e, kernel(have.stream));
	}
	DO(e, cudaStreamSynchronize(have.stream));
	return e;
}

static cudaError_t whole_device(void)
{
	cudaError_t e = cudaSuccess;

	for (int i = 0; i < STREAMS; i++)
		DO(e, kernel(have.others[i]));
	DO(e, cudaDeviceSynchronize());
	return e;
}

static cudaError_t managed(void)
{
	cudaError_t e = cudaSuccess;

	have.managed[1] += 1;
	for (int i = 0; i < 5; i++)
		DO(e, launch(have.managed, have.b, have.c, FEW, have.stream));
	DO(e, launch(have.c, have.b, have.managed, FEW, have.stream));
	DO(e, cudaStreamSynchronize(have.stream));
	return e;
}

static void nothing(void *data)
{
	(void)data;
}

static cudaError_t host_functions(void)
{
	cudaError_t e = cudaSuccess;

	DO(e, kernel(have.stream));
	DO(e, cudaLaunchHostFunc(have.stream, nothing, NULL));
	DO(e, kernel(have.stream));
	DO(e, cudaStreamSynchronize(have.stream));
	return e;
}

static cudaError_t pool_memory(void)
{
	cudaError_t e = cudaSuccess;
	float *p[5] = { NULL };

	for (int i = 0; i < 5; i++)
		DO(e, cudaMallocAsync((void **)&p[i], (1 + (size_t)i) * BYTES, have.stream));
	DO(e, launch(have.a, have.b, p[0], FEW, have.stream));
	for (int i = 0; i < 5; i++)
		DO(e, cudaFreeAsync(p[i], have.stream));
	DO(e, cudaStreamSynchronize(have.stream));
	return e;
}

static const struct shape {
	const char *name;
	cudaError_t (*step)(void);
	unsigned int most; /* round trips */
} shapes[] = {
	{ "memory of its own (cudaMalloc, cudaFree) and a copy back", plain_memory, 2 },
	{ "memory of the stream's order, a wait", pool_memory, 2 },
	{ "ten kernels between two events, their time", timed, 2 },
	{ "an event of its own", new_events, 1 },
	{ "an event and a stream asked ten times each, done", asked_until_done, 2 },
	{ "copies from and to pinned memory, a wait", pinned, 1 },
	{ "copies and fills at once", at_once, 2 },
	{ "3 MiB each way", large, 2 },
	{ "planes each way", planes, 2 },
	{ "several streams, events between them, one wait", several_streams, 1 },
	{ "four streams, a wait for each", each_stream_waited_for, 4 },
	{ "a stream of its own", new_streams, 1 },
	{ "five graphs, a wait", graphs, 1 },
	{ "captured, put into a graph, launched", captures, 3 },
	{ "attributes, occupancy and errors asked ten times", asked_about_kernels, 1 },
	{ "the device's properties asked ten times", asked_about_devices, 1 },
	{ "pointers asked about ten times", asked_about_pointers, 1 },
	{ "the whole device waited for", whole_device, 1 },
	{ "a host function", host_functions, 2 },
};

/* While there is any, each wait looks whether the device has written there. */
static const struct shape with_managed = { "managed memory written, used and waited for", managed, 2 };

static void set_up(void)
{
	cudaGraph_t graph = NULL;

	ok(!cudaMalloc((void **)&have.a, BYTES) && !cudaMalloc((void **)&have.b, BYTES) &&
	   !cudaMalloc((void **)&have.c, BYTES) && !cudaMalloc((void **)&have.large, LARGE));
	ok(!cudaMallocHost((void **)&have.pinned, BYTES));
	ok(!cudaStreamCreateWithFlags(&have.stream, cudaStreamNonBlocking) && !cudaEventCreate(&have.first) &&
	   !cudaEventCreate(&have.last));
	for (int i = 0; i < STREAMS; i++)
		ok(!cudaStreamCreateWithFlags(&have.others[i], cudaStreamNonBlocking) &&
		   !cudaEventCreateWithFlags(&have.joined[i], cudaEventDisableTiming));
	ok(!captured(&graph) && !cudaGraphInstantiate(&have.graph, graph, 0) && !cudaGraphDestroy(graph));
}

static void tear_down(void)
{
	ok(!cudaGraphExecDestroy(have.graph) && !cudaFree(have.a) && !cudaFree(have.b) && !cudaFree(have.c) &&
	   !cudaFree(have.large) && !cudaFreeHost(have.pinned));
	for (int i = 0; i < STREAMS; i++)
		ok(!cudaStreamDestroy(have.others[i]) && !cudaEventDestroy(have.joined[i]));
	ok(!cudaStreamDestroy(have.stream) && !cudaEventDestroy(have.first) && !cudaEventDestroy(have.last));
}

static void count_steps(const struct shape *s)
{
	struct link_counts before = { 0 };
	cudaError_t e = cudaSuccess;
	uint64_t took;

	for (int i = 0; i < BEFORE + STEPS && !e; i++) {
		if (i == BEFORE)
			before = counts();
		e = s->step();
	}
	is(e, 0);
	took = rounds() - before.round_trips;
	if (!tap_ok(took <= (uint64_t)s->most * STEPS, "%s: %.1f round trips a step, %u at most", s->name,
		    (double)took / STEPS, s->most))
		show(s->name, &before);
}

static uint64_t requests(void)
{
	return counts().requests;
}

static void *launch_in_thread(void *unused)
{
	uint64_t before = requests();

	(void)unused;
	if (launch(have.managed, have.b, have.c, FEW, cudaStreamPerThread))
		return NULL;
	return (void *)(uintptr_t)(requests() - before);
}

/* What the program has written goes out once, and each thread's own stream waits for it. */
static void managed_threads(void)
{
	pthread_t thread[2];
	void *sent;

	have.managed[2] += 1;
	ok(!launch(have.managed, have.b, have.c, FEW, cudaStreamPerThread));
	for (int i = 0; i < 2; i++) {
		ok(!pthread_create(&thread[i], NULL, launch_in_thread, NULL));
		ok(!pthread_join(thread[i], &sent));
		is((uintptr_t)sent, 2);
	}
	ok(!cudaDeviceSynchronize());
}

static void rounds_client(void)
{
	set_up();
	for (const struct shape *s = shapes; s < shapes + sizeof(shapes) / sizeof(*shapes); s++)
		count_steps(s);
	ok(!cudaMallocManaged((void **)&have.managed, BYTES, cudaMemAttachGlobal));
	count_steps(&with_managed);
	managed_threads();
	ok(!cudaFree(have.managed));
	tear_down();
}
