/*
 * crowded.c: no launch goes by the gate because the shim has no place left for what it belongs to, cannot enter its
 * context, or takes it for one that is captured. One case per run: turns.h says how.
 */
#include "turns.h"

#include <sys/resource.h>

#define CONTEXTS 70	  /* more than a block of lane.c has */
#define LANES 64	  /* as many as that has */
#define STREAMS_MANY 2200 /* more than streams.h has places for */

static _Atomic int launched;

struct target {
	CUcontext context;
	CUfunction function;
	CUstream stream;
	uint64_t ns;
	bool full; /* the thread's stack of contexts */
};

/* A context with the kernel; it is current then. */
static struct target target_new(void)
{
	struct target t = { .ns = 1 * MS };
	CUmodule module;

	is(cu.cuCtxCreate_v2(&t.context, 0, 0), CUDA_SUCCESS);
	is(cu.cuModuleLoadData(&module, busy_ptx), CUDA_SUCCESS);
	is(cu.cuModuleGetFunction(&t.function, module, "busy"), CUDA_SUCCESS);
	return t;
}

static int push_all(CUcontext c)
{
	int n = 0;

	while (n < 1000 && cu.cuCtxPushCurrent_v2(c) == CUDA_SUCCESS)
		n++;
	return n;
}

static void *launch_there(void *data)
{
	const struct target *t = data;
	CUcontext now;

	cu.cuCtxSetCurrent(t->context);
	if (t->full && push_all(t->context) >= 1000)
		return NULL;
	if (launch(t->function, t->ns, t->stream) == CUDA_SUCCESS && cu.cuCtxGetCurrent(&now) == CUDA_SUCCESS &&
	    now == t->context)
		atomic_fetch_add(&launched, 1);
	return NULL;
}

/* The first launch there waits at the closed gate, and is counted when that opens. */
static void waits_there(struct target *target)
{
	struct wire_turn *t = turn(WIRE_COMPUTE);
	uint32_t before;
	pthread_t thread;

	wait_idle(WIRE_COMPUTE);
	before = (uint32_t)atomic_load(&t->launches);
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0);
	pthread_create(&thread, NULL, launch_there, target);
	for (int i = 0; i < 4000 && !atomic_load(&t->waiting) && !atomic_load(&launched); i++)
		nap(1 * MS);
	is(atomic_load(&t->waiting), 1);
	is(atomic_load(&launched), 0);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	pthread_join(thread, NULL);
	is(atomic_load(&launched), 1);
	is(cu.cuCtxSetCurrent(target->context), CUDA_SUCCESS);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&t->launches) - before, 1);
	atomic_store(&launched, 0);
}

static void case_contexts(void)
{
	struct target t = { 0 };
	CUcontext all[CONTEXTS];

	setup();
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	for (int i = 0; i < CONTEXTS; i++) {
		t = target_new();
		all[i] = t.context;
		if (i < CONTEXTS - 1)
			is(launch(t.function, 0, NULL), CUDA_SUCCESS);
	}
	waits_there(&t);
	for (int i = 0; i < CONTEXTS; i++)
		is(cu.cuCtxDestroy_v2(all[i]), CUDA_SUCCESS);
	/* Their places are others' now. */
	t = target_new();
	waits_there(&t);
}

static struct rlimit memory_before;

/* No memory for a table of the shim's; what is small may find some. Each thread may have some of its own. */
static void starve(void)
{
	getrlimit(RLIMIT_AS, &memory_before);
	setrlimit(RLIMIT_AS, &(struct rlimit){ 1, memory_before.rlim_max });
	for (size_t bytes = 16 << 20; bytes >= 32 << 10; bytes /= 2)
		while (malloc(bytes))
			;
}

static _Atomic bool starved;

static void *launch_starved(void *data)
{
	const struct target *t = data;

	/* What the thread takes for itself in the libraries it has from here on. */
	cu.cuCtxSetCurrent(context);
	if (launch(busy, 0, stream) != CUDA_SUCCESS || cu.cuStreamSynchronize(stream) != CUDA_SUCCESS)
		return NULL;
	cu.cuCtxSetCurrent(t->context);
	starve();
	atomic_store(&starved, true);
	if (launch(t->function, t->ns, NULL) == CUDA_SUCCESS)
		atomic_fetch_add(&launched, 1);
	return NULL;
}

/* Where there is no memory for a record the launch waits until there is: without one it would not be charged. */
static void case_starved(void)
{
	struct wire_turn *w;
	struct target t;
	pthread_t thread;
	uint64_t count;

	setup();
	w = turn(WIRE_COMPUTE);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	is(launch(busy, 0, stream), CUDA_SUCCESS);
	for (int i = 1; i < LANES; i++) {
		t = target_new();
		is(launch(t.function, 0, NULL), CUDA_SUCCESS);
		is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	}
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&w->launches), LANES);
	count = LANES + 1; /* with the thread's own first one */
	t = target_new();
	pthread_create(&thread, NULL, launch_starved, &t);
	for (int i = 0; i < 4000 && !atomic_load(&starved); i++)
		nap(1 * MS);
	nap(300 * MS);
	is(atomic_load(&launched), 0);
	is(atomic_load(&w->launches), count);
	setrlimit(RLIMIT_AS, &memory_before);
	pthread_join(thread, NULL);
	is(atomic_load(&launched), 1);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&w->launches), count + 1);
}

static void case_streams(void)
{
	static CUstream many[STREAMS_MANY];
	struct target t, again;
	int failed = 0;

	setup();
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	for (int i = 0; i < STREAMS_MANY; i++)
		failed += cu.cuStreamCreate(&many[i], CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
			  launch(busy, 0, many[i]) != CUDA_SUCCESS;
	is(failed, 0);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&turn(WIRE_COMPUTE)->launches), STREAMS_MANY);
	t = target_new();
	waits_there(&t);
	/* One that has been destroyed with work in flight, and the next one. */
	is(launch(t.function, 20 * MS, NULL), CUDA_SUCCESS);
	is(cu.cuCtxDestroy_v2(t.context), CUDA_SUCCESS);
	again = target_new();
	waits_there(&again);
	is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	for (int i = 0; i < STREAMS_MANY; i++)
		failed += cu.cuStreamDestroy_v2(many[i]) != CUDA_SUCCESS;
	is(failed, 0);
	is(launch(busy, 0, stream), CUDA_SUCCESS);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
}

static void case_pushed(void)
{
	struct target t;

	setup();
	t = target_new();
	t.full = true;
	waits_there(&t);
}

/* A kernel of a library goes to the context of its stream, which need not be current: it is measured there. */
static void case_elsewhere(void)
{
	struct target t;
	CUlibrary library;
	CUcontext now;
	CUkernel kernel;
	uint64_t served = 0;
	int depth;

	setup();
	is(cu.cuLibraryLoadData(&library, busy_ptx, NULL, NULL, 0, NULL, NULL, 0), CUDA_SUCCESS);
	is(cu.cuLibraryGetKernel(&kernel, library, "busy"), CUDA_SUCCESS);
	t = target_new();
	is(cu.cuStreamCreate(&t.stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	depth = push_all(context);
	ok(depth > 0 && depth < 1000);
	for (int i = 0; i < 3; i++) {
		is(launch((CUfunction)kernel, 60 * MS, t.stream), CUDA_SUCCESS);
		is(cu.cuStreamSynchronize(t.stream), CUDA_SUCCESS);
	}
	is(cu.cuCtxGetCurrent(&now), CUDA_SUCCESS);
	ok(now == context);
	wait_idle(WIRE_COMPUTE);
	served = take_edges(WIRE_COMPUTE, NULL);
	printf("# served: %.1f ms\n", (double)served / 1e6);
	ok(served >= 30 * MS); /* of 180; on a busy machine they are seen to begin late; what is predicted is 3 */
	is(atomic_load(&turn(WIRE_COMPUTE)->launches), 3);
}

/* The lines of the file in which the keeper notes the device errors that it is told of. */
static int errors_told(void)
{
	char path[512], line[64];
	int lines = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/errors", getenv("TEST_FOLDER"));
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		lines++;
	if (f)
		fclose(f);
	return lines;
}

/* Of many contexts each one that fails is told of, once, whichever it is. */
static void case_failed(void)
{
	static const char trap_ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
				       ".visible .entry broken()\n{\ntrap;\nret;\n}\n";
	CUcontext c;
	CUfunction f;
	CUmodule m;

	setup();
	for (int i = 0; i < CONTEXTS; i++) {
		is(cu.cuCtxCreate_v2(&c, 0, 0), CUDA_SUCCESS);
		is(cu.cuModuleLoadData(&m, trap_ptx), CUDA_SUCCESS);
		is(cu.cuModuleGetFunction(&f, m, "broken"), CUDA_SUCCESS);
		is(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS);
		for (int twice = 0; twice < 2; twice++)
			ok(cu.cuCtxSynchronize() != CUDA_SUCCESS);
	}
	for (int i = 0; i < 4000 && errors_told() < CONTEXTS; i++)
		nap(1 * MS);
	is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
	ok(cu.cuCtxSynchronize() != CUDA_SUCCESS);
	nap(20 * MS);
	is(errors_told(), CONTEXTS);
	unlink(getenv("METE_LOG")); /* the software device has told of each kernel there, as it should */
}

/* The only context is a green one: its default stream is behind the gate, and measured by events of its own. */
static void *launch_green(void *data)
{
	cu.cuCtxSetCurrent(data);
	if (launch(NULL, 0, NULL) == CUDA_SUCCESS)
		atomic_fetch_add(&launched, 1);
	return NULL;
}

static void green_waits(void)
{
	CUgreenCtx green;
	CUcontext c;
	pthread_t thread;
	uint64_t before = truth->records;

	is(cu.cuGreenCtxCreate(&green, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
	is(cu.cuCtxFromGreenCtx(&c, green), CUDA_SUCCESS);
	if (!page)
		page_open();
	atomic_store(&launched, 0);
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0);
	pthread_create(&thread, NULL, launch_green, c);
	for (int i = 0; i < 4000 && !atomic_load(&turn(WIRE_COMPUTE)->waiting) && !atomic_load(&launched); i++)
		nap(1 * MS);
	is(atomic_load(&turn(WIRE_COMPUTE)->waiting), 1);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	pthread_join(thread, NULL);
	is(atomic_load(&launched), 1);
	for (int i = 0; i < 4000 && truth->records == before; i++)
		nap(1 * MS);
	ok(truth->records > before);
	wait_idle(WIRE_COMPUTE);
	is(cu.cuGreenCtxDestroy(green), CUDA_SUCCESS);
}

static void case_green(void)
{
	kit_open("libcuda.so.1");
	kit_truth();
	is(cu.cuInit(0), CUDA_SUCCESS);
	for (int i = 0; i < 3; i++) /* each at the place of the one before */
		green_waits();
}

/*
 * Another thread ends the capture while this one asks whether its stream is captured: before the launch is sure that it
 * is, or after. It is work that waits at the gate, or a node.
 */
static int asks_left;
static _Atomic bool ended;

static void *end_capture(void *unused)
{
	CUgraph graph;

	cu.cuCtxSetCurrent(context);
	atomic_store(&ended, cu.cuStreamEndCapture(NULL, &graph) == CUDA_SUCCESS);
	return unused;
}

static void while_asked(void)
{
	pthread_t thread;

	if (--asks_left) {
		truth->during = while_asked;
		return;
	}
	pthread_create(&thread, NULL, end_capture, NULL);
	pthread_detach(thread);
	for (int i = 0; i < 300 && !atomic_load(&ended); i++)
		nap(1 * MS);
}

static void *launch_captured(void *unused)
{
	cu.cuCtxSetCurrent(context);
	if (launch(NULL, 0, NULL) == CUDA_SUCCESS)
		atomic_fetch_add(&launched, 1);
	return unused;
}

static void ends_at(int asks, bool is_work)
{
	struct wire_turn *t = turn(WIRE_COMPUTE);
	uint64_t before = truth->works;
	pthread_t thread;

	atomic_store(&launched, 0);
	atomic_store(&ended, false);
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0);
	is(cu.cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
	asks_left = asks;
	truth->during = while_asked;
	pthread_create(&thread, NULL, launch_captured, NULL);
	for (int i = 0; i < 4000 && !atomic_load(&t->waiting) && !atomic_load(&launched); i++)
		nap(1 * MS);
	is(atomic_load(&t->waiting), is_work);
	is(atomic_load(&launched), !is_work);
	is(truth->works - before, 0);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	pthread_join(thread, NULL);
	for (int i = 0; i < 4000 && !atomic_load(&ended); i++)
		nap(1 * MS);
	ok(atomic_load(&ended));
	is(truth->works - before, is_work);
	wait_idle(WIRE_COMPUTE);
}

static void case_captured(void)
{
	kit_open("libcuda.so.1");
	kit_truth();
	context = begin(0);
	page_open();
	ends_at(1, true);
	ends_at(2, false);
	ends_at(1, true);
}

static const struct kit_case cases[] = {
	{ "contexts", case_contexts },	 { "streams", case_streams },	{ "pushed", case_pushed },
	{ "elsewhere", case_elsewhere }, { "captured", case_captured }, { "green", case_green },
	{ "failed", case_failed },	 { "starved", case_starved },
};

int main(int argc, char **argv)
{
	return turns_main(cases, sizeof cases / sizeof *cases, argc, argv);
}
