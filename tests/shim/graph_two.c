/*
 * graph_two.c: a graph waits for the turn of every device that its nodes run on, and is charged on each; and it waits
 * for no other. The process has a context on each of two devices. One case per run: turns.h says how.
 */
#include "turns.h"

static CUcontext far;
static CUfunction far_busy;
static CUstream far_stream;
static CUdeviceptr far_memory, near_memory;
static _Atomic int launched;

static struct wire_turn *turn_of(int device)
{
	return &page->turn[device][WIRE_COMPUTE];
}

static void gate_of(int device, uint32_t word)
{
	struct wire_turn *t = turn_of(device);
	uint32_t serial = (atomic_load(&t->gate) & ~(WIRE_GATE_SERIAL - 1)) + WIRE_GATE_SERIAL;

	atomic_store(&t->bound_ns, 4 * MS);
	atomic_store(&t->until_ns, 0);
	atomic_store(&t->gate, serial | word);
	syscall(SYS_futex, &t->gate, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void gates(uint32_t near, uint32_t other_one)
{
	gate_of(0, near);
	gate_of(1, other_one);
}

static const uint32_t closed = WIRE_GATED, open_ = WIRE_GATED | WIRE_OPEN;

static void idle_of(int device)
{
	for (int i = 0; i < 5000 && atomic_load(&turn_of(device)->busy_since_ns); i++)
		nap(1 * MS);
	is(atomic_load(&turn_of(device)->busy_since_ns), 0);
}

static void setup_two(void)
{
	CUmodule m;

	setup();
	is(cu.cuMemAlloc_v2(&near_memory, 4096), CUDA_SUCCESS);
	is(cu.cuCtxCreate_v2(&far, 0, 1), CUDA_SUCCESS);
	is(cu.cuModuleLoadData(&m, busy_ptx), CUDA_SUCCESS);
	is(cu.cuModuleGetFunction(&far_busy, m, "busy"), CUDA_SUCCESS);
	is(cu.cuStreamCreate(&far_stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&far_memory, 4096), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
}

/* Graphs --------------------------------------------------------------------------------------------------------- */

static CUgraph empty(void)
{
	CUgraph g = NULL;

	is(cu.cuGraphCreate(&g, 0), CUDA_SUCCESS);
	return g;
}

static CUDA_KERNEL_NODE_PARAMS params_of(CUfunction f, uint64_t *ns, void *params[1])
{
	params[0] = ns;
	return (CUDA_KERNEL_NODE_PARAMS){ .func = f,
					  .gridDimX = 1,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 1,
					  .blockDimY = 1,
					  .blockDimZ = 1,
					  .kernelParams = params };
}

static CUgraphNode add_kernel(CUgraph g, CUfunction f, uint64_t ns)
{
	void *params[1];
	CUDA_KERNEL_NODE_PARAMS p = params_of(f, &ns, params);
	CUgraphNode n = NULL;

	is(cu.cuCtxSetCurrent(f == far_busy ? far : context), CUDA_SUCCESS);
	is(cu.cuGraphAddKernelNode_v2(&n, g, NULL, 0, &p), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	return n;
}

static CUgraphExec instantiated(CUgraph g)
{
	CUgraphExec x = NULL;

	is(cu.cuGraphInstantiateWithFlags(&x, g, 0), CUDA_SUCCESS);
	return x;
}

static CUgraphExec of_kernel(CUfunction f, uint64_t ns)
{
	CUgraph g = empty();

	add_kernel(g, f, ns);
	return instantiated(g);
}

static CUgraphExec with_kernel(void)
{
	return of_kernel(far_busy, 1 * MS);
}

static CUgraphExec with_child(void)
{
	CUgraph inner = empty(), middle = empty(), outer = empty();
	CUgraphNode n;

	add_kernel(inner, far_busy, 1 * MS);
	is(cu.cuGraphAddChildGraphNode(&n, middle, NULL, 0, inner), CUDA_SUCCESS);
	add_kernel(outer, busy, 1 * MS);
	is(cu.cuGraphAddChildGraphNode(&n, outer, NULL, 0, middle), CUDA_SUCCESS);
	return instantiated(outer);
}

static CUgraphExec of_fill(CUdeviceptr at, CUcontext c)
{
	CUDA_MEMSET_NODE_PARAMS p = { .dst = at, .value = 1, .elementSize = 4, .width = 16, .height = 1 };
	CUgraph g = empty();
	CUgraphNode n;

	is(cu.cuGraphAddMemsetNode(&n, g, NULL, 0, &p, c), CUDA_SUCCESS);
	return instantiated(g);
}

static CUgraphExec with_fill(void)
{
	return of_fill(far_memory, far);
}

static CUgraphExec of_copy(CUdeviceptr at, CUcontext c)
{
	static uint32_t word;
	CUDA_MEMCPY3D p = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = &word,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			    .dstDevice = at,
			    .WidthInBytes = 4,
			    .Height = 1,
			    .Depth = 1 };
	CUgraph g = empty();
	CUgraphNode n;

	is(cu.cuGraphAddMemcpyNode(&n, g, NULL, 0, &p, c), CUDA_SUCCESS);
	return instantiated(g);
}

static CUgraphExec with_copy(void)
{
	return of_copy(far_memory, far);
}

static CUgraphExec with_condition(void)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
	CUgraphConditionalHandle handle;
	CUgraph g = empty();
	CUgraphNode n;

	is(cu.cuGraphConditionalHandleCreate(&handle, g, far, 1, CU_GRAPH_COND_ASSIGN_DEFAULT), CUDA_SUCCESS);
	p.conditional.handle = handle;
	p.conditional.type = CU_GRAPH_COND_TYPE_IF;
	p.conditional.size = 1;
	p.conditional.ctx = far;
	is(cu.cuGraphAddNode(&n, g, NULL, 0, &p), CUDA_SUCCESS);
	add_kernel(p.conditional.phGraph_out[0], far_busy, 1 * MS);
	return instantiated(g);
}

/* A capture begins on the first device, and goes on to the second. */
static CUgraphExec with_capture(void)
{
	CUevent there, back;
	CUgraph g = NULL;

	is(cu.cuEventCreate(&there, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(far), CUDA_SUCCESS);
	is(cu.cuEventCreate(&back, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	is(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
	is(cu.cuEventRecord(there, stream), CUDA_SUCCESS);
	is(cu.cuStreamWaitEvent(far_stream, there, 0), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(far), CUDA_SUCCESS);
	is(launch(far_busy, 1 * MS, far_stream), CUDA_SUCCESS);
	is(cu.cuEventRecord(back, far_stream), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	is(cu.cuStreamWaitEvent(stream, back, 0), CUDA_SUCCESS);
	is(cu.cuStreamEndCapture(stream, &g), CUDA_SUCCESS);
	return instantiated(g);
}

/* A library's kernel, which has no module of the program's: in the context that the node names. */
static CUgraphExec with_library(void)
{
	CUDA_KERNEL_NODE_PARAMS p;
	CUgraph g = empty();
	uint64_t ns = 1 * MS;
	CUlibrary library;
	CUgraphNode n;
	void *params[1];

	p = params_of(NULL, &ns, params);
	is(cu.cuLibraryLoadData(&library, busy_ptx, NULL, NULL, 0, NULL, NULL, 0), CUDA_SUCCESS);
	is(cu.cuLibraryGetKernel(&p.kern, library, "busy"), CUDA_SUCCESS);
	p.ctx = far;
	is(cu.cuGraphAddKernelNode_v2(&n, g, NULL, 0, &p), CUDA_SUCCESS);
	return instantiated(g);
}

/* An executable graph of the first device, whose node gets a function of the second one: drivers may refuse that. */
static CUgraphExec with_new_params(void)
{
	CUDA_KERNEL_NODE_PARAMS p;
	CUgraph g = empty();
	CUgraphNode n = add_kernel(g, busy, 1 * MS);
	CUgraphExec x = instantiated(g);
	uint64_t ns = 1 * MS;
	void *params[1];

	p = params_of(far_busy, &ns, params);
	cu.cuCtxSetCurrent(far);
	if (cu.cuGraphExecKernelNodeSetParams_v2(x, n, &p) != CUDA_SUCCESS)
		x = NULL;
	cu.cuCtxSetCurrent(context);
	return x;
}

static CUgraphExec with_update(void)
{
	CUgraphExec x = of_kernel(busy, 1 * MS);
	CUgraphExecUpdateResultInfo info;
	CUgraph g = empty();

	add_kernel(g, far_busy, 1 * MS);
	return cu.cuGraphExecUpdate_v2(x, g, &info) == CUDA_SUCCESS ? x : NULL;
}

/* The cases ------------------------------------------------------------------------------------------------------ */

static void *launch_graph(void *data)
{
	cu.cuCtxSetCurrent(context);
	if (cu.cuGraphLaunch(data, stream) == CUDA_SUCCESS)
		atomic_fetch_add(&launched, 1);
	return NULL;
}

static void ends(void)
{
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	idle_of(0);
	idle_of(1);
}

/* With the gate of one device closed it waits there; then it is counted on both. */
static void waits_for(CUgraphExec x, int device)
{
	uint32_t before[] = { (uint32_t)atomic_load(&turn_of(0)->launches),
			      (uint32_t)atomic_load(&turn_of(1)->launches) };
	pthread_t thread;

	atomic_store(&launched, 0);
	gates(device == 0 ? closed : open_, device == 1 ? closed : open_);
	pthread_create(&thread, NULL, launch_graph, x);
	for (int i = 0; i < 4000 && !atomic_load(&turn_of(device)->waiting) && !atomic_load(&launched); i++)
		nap(1 * MS);
	is(atomic_load(&turn_of(device)->waiting), 1);
	is(atomic_load(&launched), 0);
	gates(open_, open_);
	pthread_join(thread, NULL);
	is(atomic_load(&launched), 1);
	ends();
	is(atomic_load(&turn_of(0)->launches) - before[0], 1);
	is(atomic_load(&turn_of(1)->launches) - before[1], 1);
}

static void case_waits(void)
{
	static const struct {
		const char *what;
		CUgraphExec (*make)(void);
		bool may_be_refused;
	} made[] = {
		{ "a kernel", with_kernel },
		{ "a child graph", with_child },
		{ "a fill", with_fill },
		{ "a copy", with_copy },
		{ "a condition", with_condition },
		{ "a capture", with_capture },
		{ "a library", with_library },
		{ "parameters", with_new_params, true },
		{ "an update", with_update, true },
	};

	setup_two();
	gates(open_, open_);
	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		CUgraphExec x = made[i].make();

		printf("# %s%s\n", made[i].what, x ? "" : ": the driver refuses it");
		ok(x || made[i].may_be_refused);
		if (!x)
			continue;
		waits_for(x, 1);
		waits_for(x, 0);
		is(cu.cuGraphExecDestroy(x), CUDA_SUCCESS);
	}
}

/* What runs on the other device alone is charged there, and what waits for its turn is not stuck. */
static void case_charged(void)
{
	CUgraphExec x;
	uint64_t busy_ns;

	setup_two();
	gates(open_, open_);
	x = of_kernel(far_busy, 50 * MS);
	for (int i = 0; i < 3; i++) {
		is(cu.cuGraphLaunch(x, stream), CUDA_SUCCESS);
		is(launch(busy, 20 * MS, stream), CUDA_SUCCESS);
	}
	ends();
	busy_ns = atomic_load(&turn_of(1)->busy_ns);
	printf("# charged on the second device: %.1f ms\n", (double)busy_ns / 1e6);
	ok(busy_ns >= 100 * MS); /* of 150: a busy machine sees begins late */
	is(atomic_load(&turn_of(1)->launches), 3);
	is(atomic_load(&turn_of(0)->launches), 6);
	is(atomic_load(&turn_of(1)->bypassed), 0);
}

/* A graph of one device does not wait for the other, nor is it charged there. */
static void passes(CUgraphExec x)
{
	is(cu.cuGraphLaunch(x, stream), CUDA_SUCCESS);
	ends();
}

static void case_alone(void)
{
	CUgraphExec of[3];

	setup_two();
	of[0] = of_kernel(busy, 1 * MS);
	of[1] = of_fill(near_memory, context);
	of[2] = of_copy(near_memory, context);
	gates(open_, closed);
	for (int i = 0; i < 3; i++)
		passes(of[i]);
	is(atomic_load(&turn_of(0)->launches), 3);
	is(atomic_load(&turn_of(1)->launches), 0);
}

/* While a graph keeps the first device's turn to wait for the second's, no launch takes it for a kernel that is stuck.
 */
static void *launch_beside(void *unused)
{
	cu.cuCtxSetCurrent(context);
	if (launch(busy, 1 * MS, NULL) == CUDA_SUCCESS)
		atomic_fetch_add(&launched, 16);
	return unused;
}

/* `launch_it` in a thread, with the gate of the second device closed, then of both. */
static void kept_by(void *(*launch_it)(void *), void *data)
{
	pthread_t thread[2];

	gates(open_, closed);
	pthread_create(&thread[0], NULL, launch_it, data);
	for (int i = 0; i < 4000 && !atomic_load(&turn_of(1)->waiting); i++)
		nap(1 * MS);
	is(atomic_load(&turn_of(1)->waiting), 1);
	gates(closed, closed);
	pthread_create(&thread[1], NULL, launch_beside, NULL);
	nap(WIRE_STUCK_NS * 3);
	is(atomic_load(&launched), 0);
	is(atomic_load(&turn_of(0)->bypassed), 0);
	gates(open_, open_);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	is(atomic_load(&launched), 17);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	ends();
}

static void case_kept(void)
{
	setup_two();
	kept_by(launch_graph, with_kernel());
}

/* One kernel on both devices. The software device has no such call: it refuses when both have their turns. */
static void *launch_parts(void *backwards)
{
	static uint64_t ns;
	static void *params[1] = { &ns };
	CUDA_LAUNCH_PARAMS near = { .function = busy,
				    .gridDimX = 1,
				    .gridDimY = 1,
				    .gridDimZ = 1,
				    .blockDimX = 1,
				    .blockDimY = 1,
				    .blockDimZ = 1,
				    .hStream = stream,
				    .kernelParams = params };
	CUDA_LAUNCH_PARAMS list[2] = { near, near };

	list[!backwards].function = far_busy;
	list[!backwards].hStream = far_stream;
	cu.cuCtxSetCurrent(context);
	cu.cuLaunchCooperativeKernelMultiDevice(list, 2, 0);
	atomic_fetch_add(&launched, 1);
	return NULL;
}

static void case_parts(void)
{
	setup_two();
	kept_by(launch_parts, NULL);
}

/* Two such launches that name the devices in another order wait for no turn of each other's. */
static void case_crossed(void)
{
	pthread_t thread[2];

	setup_two();
	gates(open_, open_);
	for (int i = 0; i < 40; i++) {
		pthread_create(&thread[0], NULL, launch_parts, NULL);
		pthread_create(&thread[1], NULL, launch_parts, &thread);
		pthread_join(thread[0], NULL);
		pthread_join(thread[1], NULL);
	}
	is(atomic_load(&turn_of(0)->bypassed), 0);
	is(atomic_load(&turn_of(1)->bypassed), 0);
	ends();
}

/* The context of the launch ends with the graph in flight: nothing stays behind on the second device. */
static void case_gone(void)
{
	CUgraphExec x;
	CUcontext c;

	setup_two();
	gates(open_, open_);
	for (int i = 0; i < 3; i++) {
		is(cu.cuCtxCreate_v2(&c, 0, 0), CUDA_SUCCESS);
		x = of_kernel(far_busy, 20 * MS);
		is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
		is(cu.cuGraphLaunch(x, NULL), CUDA_SUCCESS);
		is(cu.cuCtxDestroy_v2(c), CUDA_SUCCESS);
		is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
		idle_of(0);
		idle_of(1);
	}
	is(atomic_load(&turn_of(1)->launches), 3);
	waits_for(with_kernel(), 1);
}

static const struct kit_case cases[] = {
	{ "graph waits", case_waits }, { "graph charged", case_charged }, { "graph alone", case_alone },
	{ "graph kept", case_kept },   { "graph parts", case_parts },	  { "graph crossed", case_crossed },
	{ "graph gone", case_gone },
};

int main(int argc, char **argv)
{
	return turns_main(cases, sizeof cases / sizeof *cases, argc, argv);
}
