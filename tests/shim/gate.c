/*
 * gate.c: who waits at the gate of the shim, for what, and until when. One case per run: turns.h says how.
 *
 * The machine may be busy: nothing here asserts that something was fast, only that it did not happen too early.
 */
#include "turns.h"

#include <signal.h>
#include <sys/wait.h>

static _Atomic int launched;

static void *launch_one(void *data)
{
	if (cu.cuCtxSetCurrent(context) == CUDA_SUCCESS && launch(busy, *(uint64_t *)data, stream) == CUDA_SUCCESS)
		atomic_fetch_add(&launched, 1);
	return NULL;
}

/* A closed gate holds a launch back, says so on the page, and lets it go when it opens. */
static void case_closed(void)
{
	uint64_t ns = 1 * MS, before;
	struct wire_turn *t;
	pthread_t thread;

	setup();
	t = turn(WIRE_COMPUTE);
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0);
	pthread_create(&thread, NULL, launch_one, &ns);
	for (int i = 0; i < 2000 && !atomic_load(&t->waiting); i++)
		nap(1 * MS);
	is(atomic_load(&t->waiting), 1);
	ok(atomic_load(&t->waiting_since_ns) > 0);
	nap(150 * MS); /* longer than WIRE_STUCK_NS: nothing of its own is in flight, so it waits on */
	is(atomic_load(&launched), 0);
	is(atomic_load(&t->busy_since_ns), 0);
	before = now_ns();
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	pthread_join(thread, NULL);
	is(atomic_load(&launched), 1);
	is(atomic_load(&t->waiting), 0);
	ok(atomic_load(&t->waited_ns) >= 150 * MS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	ok(now_ns() - before >= 1 * MS);
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&t->launches), 1);
	is(atomic_load(&t->bypassed), 0);
}

/* A launch behind a closed gate does not take work that stands still for work that waits for it. */
static void case_still(void)
{
	uint64_t ns = 1 * MS;
	struct wire_turn *t;
	pthread_t thread;

	setup();
	t = turn(WIRE_COMPUTE);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	is(launch(busy, 900 * MS, stream), CUDA_SUCCESS);
	atomic_store(&t->cut_since_ns, now_ns());
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0);
	pthread_create(&thread, NULL, launch_one, &ns);
	nap(400 * MS);
	is(atomic_load(&launched), 0);
	is(atomic_load(&t->bypassed), 0);
	/* It is on again, and nothing ends: now it may be. */
	atomic_store(&t->cut_since_ns, 0);
	pthread_join(thread, NULL);
	is(atomic_load(&t->bypassed), 1);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
}

/* Which calls wait for their turn is what the spec says: each is called with the gates closed. */
static uint64_t zeros[8192];

struct row {
	const char *symbol, *kinds;
	int engine; /* -1: not gated */
	void *call;
};

static void *call_row(void *data)
{
	const struct row *row = data;
	uint64_t a[12] = { 0 };
	CUresult (*f)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
		      uint64_t, uint64_t, uint64_t) = (void *)row->call;

	cu.cuCtxSetCurrent(context);
	for (size_t i = 0; i < strlen(row->kinds); i++)
		a[i] = row->kinds[i] == 'p' ? (uint64_t)(uintptr_t)zeros : row->kinds[i] == 'n';
	f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
	atomic_fetch_add(&launched, 1);
	return NULL;
}

static void check_row(const struct row *row)
{
	uint32_t waiting[WIRE_ENGINES] = { 0 };
	pthread_t thread;

	for (int e = 0; e < WIRE_ENGINES; e++)
		gate_set(e, WIRE_GATED, 4 * MS, 0);
	atomic_store(&launched, 0);
	pthread_create(&thread, NULL, call_row, (void *)row);
	for (int i = 0; i < 20000 && !waiting[0] && !waiting[1] && !atomic_load(&launched); i++) {
		for (int e = 0; e < WIRE_ENGINES; e++)
			waiting[e] = atomic_load(&turn(e)->waiting);
		nap(500 * US);
	}
	for (int e = 0; e < WIRE_ENGINES; e++)
		gate_set(e, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	pthread_join(thread, NULL);
	tap_ok(waiting[WIRE_COMPUTE] == (row->engine == WIRE_COMPUTE) &&
		       waiting[WIRE_COPY] == (row->engine == WIRE_COPY),
	       "%s: %s", row->symbol,
	       row->engine < 0 ? "not gated"
	       : row->engine   ? "copy"
			       : "compute");
}

static void case_gated(void)
{
	enum { compute = WIRE_COMPUTE, copy = WIRE_COPY };
	static struct row rows[] = {
#define GATED(engine, symbol, kinds) { #symbol, kinds, engine, NULL },
#define NOT_GATED(symbol, kinds) { #symbol, kinds, -1, NULL },
#define TREATED(treat, symbol)
#include "cuda_gates.h"
	};

	kit_open("libcuda.so.1");
	context = begin(0);
	page_open();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (int c = 0; c < CUDA_CALL_COUNT; c++)
			if (!strcmp(cuda_call_name[c], rows[i].symbol))
				rows[i].call = ((void **)&cu)[c];
		check_row(&rows[i]);
	}
}

/* Never more predicted work in flight than the bound: what has been launched and what has ended tell. */
static _Atomic int ended;

static void count_end(void *data)
{
	atomic_fetch_add(&ended, 1);
}

static void case_bound(void)
{
	int most = 0;

	setup();
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 8 * MS, 0);
	for (int i = 0; i < 3; i++) { /* its length is learnt */
		is(launch(busy, 2 * MS, stream), CUDA_SUCCESS);
		is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	}
	wait_idle(WIRE_COMPUTE);
	for (int i = 0; i < 40; i++) {
		is(launch(busy, 2 * MS, stream), CUDA_SUCCESS);
		is(cu.cuLaunchHostFunc(stream, count_end, NULL), CUDA_SUCCESS);
		if (i + 1 - atomic_load(&ended) > most)
			most = i + 1 - atomic_load(&ended);
	}
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	printf("# %d in flight at most\n", most);
	ok(most >= 2 && most <= 6); /* four, and what ended without its function having been called yet */
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&turn(WIRE_COMPUTE)->launches), 43);
}

/* A launch that would last beyond the turn waits for the next one, and says how long it is. */
static void case_until(void)
{
	uint64_t ns = 100 * MS, until;
	unsigned int learnt = 0;
	struct wire_turn *t;
	pthread_t thread;

	setup();
	t = turn(WIRE_COMPUTE);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	for (int i = 0; i < 20 && learnt < 2; i++) {
		uint64_t before = atomic_load(&t->busy_ns);

		is(launch(busy, ns, stream), CUDA_SUCCESS);
		is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
		wait_idle(WIRE_COMPUTE);
		learnt = stood_still(atomic_load(&t->busy_ns) - before, ns) ? 0 : learnt + 1;
	}
	if (learnt < 2) {
		skip_busy("a launch beyond the turn");
		return;
	}
	is(launch(busy, 1 * MS, stream), CUDA_SUCCESS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	ok(atomic_load(&t->flags) & WIRE_TURN_LONG);
	ok(atomic_load(&t->longest_ns) >= ns * 4 / 5);
	until = now_ns() + ns / 2; /* far enough away for the short one, however busy the machine is */
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, until);
	is(launch(busy, 1 * MS, stream), CUDA_SUCCESS);
	pthread_create(&thread, NULL, launch_one, &ns);
	for (int i = 0; i < 2000 && !atomic_load(&t->waiting); i++)
		nap(1 * MS);
	is(atomic_load(&t->waiting), 1);
	ok(atomic_load(&t->needs_ns) >= ns / 2);
	is(atomic_load(&launched), 0);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, now_ns() + 1 * MS); /* a turn's first may be longer */
	pthread_join(thread, NULL);
	is(atomic_load(&launched), 1);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&t->bypassed), 0);
}

/* What is launched into a captured stream is no work and waits for nothing; the graph is one unit. */
static void case_capture(void)
{
	struct wire_turn *t;
	CUgraphExec exec;
	CUgraph graph;
	size_t nodes = 0;

	setup();
	t = turn(WIRE_COMPUTE);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	is(launch(busy, 1 * MS, stream), CUDA_SUCCESS);
	is(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0);
	for (int i = 0; i < 4; i++)
		is(launch(busy, 1 * MS, stream), CUDA_SUCCESS);
	nap(20 * MS);
	is(cu.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	is(cu.cuGraphGetNodes(graph, NULL, &nodes), CUDA_SUCCESS);
	is(nodes, 4); /* no marker of ours among them */
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	is(cu.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
	for (int i = 0; i < 3; i++)
		is(cu.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&t->launches), 4);
	ok(take_edges(WIRE_COMPUTE, NULL) >= 10 * MS);
	ok(atomic_load(&t->longest_ns) >= 3 * MS);
}

/* Streams and contexts go with work in flight and markers behind it. */
static void case_destroy(void)
{
	CUcontext second;
	CUfunction f;
	CUmodule m;

	setup();
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 100 * MS, 0);
	for (int i = 0; i < 30; i++) {
		CUstream s;

		is(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
		for (int n = 0; n < 3; n++)
			is(launch(busy, 1 * MS, s), CUDA_SUCCESS);
		is(cu.cuStreamDestroy_v2(s), CUDA_SUCCESS);
	}
	for (int i = 0; i < 3; i++) {
		is(cu.cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
		is(cu.cuModuleLoadData(&m, busy_ptx), CUDA_SUCCESS);
		is(cu.cuModuleGetFunction(&f, m, "busy"), CUDA_SUCCESS);
		is(launch(f, 2 * MS, NULL), CUDA_SUCCESS);
		is(launch(f, 2 * MS, NULL), CUDA_SUCCESS);
		is(cu.cuCtxDestroy_v2(second), CUDA_SUCCESS);
		is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	}
	is(launch(busy, 1 * MS, NULL), CUDA_SUCCESS);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&turn(WIRE_COMPUTE)->launches), 97);
}

/* Many threads at once: all get through, all is counted. */
static void *launch_many(void *data)
{
	CUstream s = stream;

	cu.cuCtxSetCurrent(context);
	if (*(int *)data % 2)
		cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < 200; i++)
		if (launch(busy, 20 * US, *(int *)data % 3 ? s : (CUstream)2) == CUDA_SUCCESS)
			atomic_fetch_add(&launched, 1);
	cu.cuStreamSynchronize(s);
	if (s != stream)
		cu.cuStreamDestroy_v2(s);
	return NULL;
}

static void case_threads(void)
{
	pthread_t threads[6];
	int numbers[6];

	setup();
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	for (int i = 0; i < 6; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, launch_many, &numbers[i]);
	}
	for (int i = 0; i < 10; i++) {
		nap(5 * MS);
		gate_set(WIRE_COMPUTE, i % 3 ? WIRE_GATED | WIRE_OPEN : i == 6 ? 0 : WIRE_GATED, 4 * MS, 0);
	}
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	is(atomic_load(&launched), 1200);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	take_edges(WIRE_COMPUTE, NULL);
}

/* Limited, unlimited and limited again while it runs; a child of fork() is not held up by its parent's gate. */
static void case_change(void)
{
	struct wire_turn *t;
	uint64_t before;
	int status = -1;
	pid_t child;

	setup();
	t = turn(WIRE_COMPUTE);
	for (int i = 0; i < 5; i++)
		is(launch(busy, 100 * US, stream), CUDA_SUCCESS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	is(atomic_load(&t->launches), 0);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	for (int i = 0; i < 5; i++)
		is(launch(busy, 100 * US, stream), CUDA_SUCCESS);
	gate_set(WIRE_COMPUTE, 0, 0, 0);
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&t->launches), 5);
	before = atomic_load(&t->busy_ns);
	for (int i = 0; i < 5; i++)
		is(launch(busy, 100 * US, stream), CUDA_SUCCESS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	is(atomic_load(&t->launches), 5);
	ok(atomic_load(&t->busy_ns) == before);
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0);
	child = fork();
	if (!child)
		_exit(cu.cuCtxSynchronize() == CUDA_SUCCESS); /* not initialised there, and no gate to wait at */
	waitpid(child, &status, 0);
	is(status, 0);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	is(launch(busy, 100 * US, stream), CUDA_SUCCESS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&t->launches), 6);
}

/* A kernel that waits for a launch behind a closed gate gets it. */
static void case_stuck(void)
{
	CUstream second;
	uint32_t *word;
	CUdeviceptr at;

	setup();
	is(cu.cuMemHostAlloc((void **)&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
	is(cu.cuMemHostGetDevicePointer_v2(&at, word, 0), CUDA_SUCCESS);
	is(cu.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	is(launch(busy, 400 * MS, stream), CUDA_SUCCESS);
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0);
	is(launch(other, 1 * MS, second), CUDA_SUCCESS); /* nobody opens the gate */
	ok(atomic_load(&turn(WIRE_COMPUTE)->bypassed) == 1);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	is(cu.cuMemFreeHost(word), CUDA_SUCCESS);
}

#define HELD_NS (200 * MS)
#define HELD_PPM 250000u

/*
 * Beside a kernel that never begins, one launch passes the closed gate at once, and the next one when the share has
 * earned the time of the first: a program that holds one stream back gets no more than its share by it.
 */
static void case_earned(void)
{
	uint64_t first, second, took;
	CUstream held;
	uint32_t *word;
	CUdeviceptr at;

	setup();
	is(cu.cuMemHostAlloc((void **)&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
	is(cu.cuMemHostGetDevicePointer_v2(&at, word, 0), CUDA_SUCCESS);
	is(cu.cuStreamCreate(&held, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	atomic_store(&turn(WIRE_COMPUTE)->guarantee_ppm, HELD_PPM);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	is(launch(other, 1 * MS, stream), CUDA_SUCCESS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	is(cu.cuStreamWaitValue32_v2(held, at, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
	is(launch(other, 1 * MS, held), CUDA_SUCCESS);
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0);
	took = atomic_load(&turn(WIRE_COMPUTE)->busy_ns);
	is(launch(busy, HELD_NS, stream), CUDA_SUCCESS);
	first = now_ns();
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	is(launch(busy, HELD_NS, stream), CUDA_SUCCESS);
	second = now_ns();
	/* By the device's clock, which stands still while something else has its processor. */
	took = atomic_load(&turn(WIRE_COMPUTE)->busy_ns) - took;
	printf("# the second passed %.1f ms after the first, which took %.1f\n", (double)(second - first) / 1e6,
	       (double)took / 1e6);
	ok(took >= HELD_NS / 10 && second - first >= took * 7 / 2); /* 4 times, and a little for the clocks */
	is(atomic_load(&turn(WIRE_COMPUTE)->bypassed), 2);
	__atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	is(cu.cuMemFreeHost(word), CUDA_SUCCESS);
}

/* A launch that seems to be stuck asks meted, which lets one of the tenant's processes pass after the other. */
static void case_asked(void)
{
	uint64_t ns = 1 * MS;
	struct wire_turn *t;
	pthread_t thread;
	CUstream held;
	uint32_t *word;
	CUdeviceptr at;

	setup();
	t = turn(WIRE_COMPUTE);
	is(cu.cuMemHostAlloc((void **)&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
	is(cu.cuMemHostGetDevicePointer_v2(&at, word, 0), CUDA_SUCCESS);
	is(cu.cuStreamCreate(&held, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	atomic_store(&t->passes, WIRE_PASSES);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	is(cu.cuStreamWaitValue32_v2(held, at, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
	is(launch(other, 1 * MS, held), CUDA_SUCCESS);
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0);
	for (uint32_t n = 1; n <= 2; n++) {
		pthread_create(&thread, NULL, launch_one, &ns);
		for (int i = 0; i < 5000 && atomic_load(&t->asks) != n; i++)
			nap(1 * MS);
		is(atomic_load(&t->asks), n);
		nap(300 * MS);
		is(atomic_load(&launched), n - 1);
		atomic_store(&t->passes, WIRE_PASSES | n);
		pthread_join(thread, NULL);
		is(atomic_load(&launched), n);
		is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	}
	is(atomic_load(&t->bypassed), 2);
	for (int i = 0; i < 2000 && !atomic_load(&t->passed_ns); i++)
		nap(1 * MS);
	ok(atomic_load(&t->passed_ns));
	__atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	is(cu.cuMemFreeHost(word), CUDA_SUCCESS);
}

/* meted is gone: after a while the program paces itself by its guarantee, until meted is back. */
static void ask(const char *word)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", getenv("TEST_FOLDER"), word);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	while (access(path, F_OK) == 0)
		nap(1 * MS);
}

static void case_away(void)
{
	struct wire_turn *t;
	uint64_t before, took, least = UINT64_MAX;
	pthread_t thread;
	uint64_t ns = 1 * MS;

	setup();
	t = turn(WIRE_COMPUTE);
	atomic_store(&t->guarantee_ppm, 250000);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	for (int i = 0; i < 3; i++) {
		is(launch(busy, 5 * MS, stream), CUDA_SUCCESS);
		is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	}
	wait_idle(WIRE_COMPUTE);
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0);
	ask("kill");
	before = now_ns();
	for (int i = 0; i < 20; i++)
		is(launch(busy, 5 * MS, stream), CUDA_SUCCESS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	took = now_ns() - before;
	printf("# %.1f ms for 100 ms at a quarter\n", (double)took / 1e6);
	ok(took >= 300 * MS); /* a quarter of the device but for a burst */
	ask("start");
	nap(100 * MS);
	/* That meted is gone is learnt at once, whatever else happens. */
	for (int i = 0; i < 4; i++) {
		ask("kill");
		before = now_ns();
		is(launch(busy, 5 * MS, stream), CUDA_SUCCESS);
		took = now_ns() - before;
		least = took < least ? took : least;
		is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
		ask("start");
		nap(100 * MS);
	}
	printf("# %.1f ms until a launch passes\n", (double)least / 1e6);
	ok(least < 15 * MS);
	pthread_create(&thread, NULL, launch_one, &ns);
	nap(400 * MS); /* meted is back, and its gate is closed */
	is(atomic_load(&launched), 0);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	pthread_join(thread, NULL);
	is(atomic_load(&launched), 1);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
}

/* What did not fit beside work in flight does when that ends before it should have: nobody waits for a look around. */
static void case_room(void)
{
	uint64_t ns = 25 * MS, least = UINT64_MAX, from, to;
	struct wire_turn *t;
	unsigned int block = 1 + 300 * MS / (50 * US) % 1000;
	void *params[] = { &ns };
	pthread_t thread;
	uint64_t long_ns = 300 * MS;

	setup();
	t = turn(WIRE_COMPUTE);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	is(launch(busy, 300 * MS, stream), CUDA_SUCCESS); /* so long it is, as far as is known */
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	is(launch(other, 1 * MS, stream), CUDA_SUCCESS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	for (int i = 0; i < 5; i++) {
		wait_idle(WIRE_COMPUTE);
		atomic_store(&launched, 0);
		gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, now_ns() + 450 * MS);
		is(cu.cuLaunchKernel(busy, 1, 1, 1, block, 1, 1, 0, stream, params, NULL), CUDA_SUCCESS);
		from = now_ns();
		pthread_create(&thread, NULL, launch_one, &long_ns);
		/* A machine that was busy elsewhere let the turn end before: then there is another. */
		while (!atomic_load(&launched)) {
			nap(1 * MS);
			if (now_ns() - from > 500 * MS)
				gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
		}
		to = now_ns();
		pthread_join(thread, NULL);
		least = to - from < least ? to - from : least;
		is(atomic_load(&launched), 1);
		is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	}
	printf("# %.3f ms at least\n", (double)least / 1e6);
	ok(atomic_load(&t->waited_ns) > 0);
	ok(least < 36 * MS); /* looks around come every 20 ms */
}

/* Who is woken for a turn that is over by then says that it is awake. */
static void case_missed(void)
{
	uint64_t ns = 1 * MS, since;
	struct wire_turn *t;
	pthread_t thread;
	char path[512];
	int fd;

	setup();
	t = turn(WIRE_COMPUTE);
	snprintf(path, sizeof path, "%s/bell", getenv("TEST_FOLDER"));
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ok(fd >= 0);
	atomic_store(&t->listen, WIRE_ON_DEMAND);
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0);
	pthread_create(&thread, NULL, launch_one, &ns);
	for (int i = 0; i < 2000 && !atomic_load(&t->waiting); i++)
		nap(1 * MS);
	nap(20 * MS);
	is(bells(fd), 1);
	since = atomic_load(&t->waiting_since_ns);
	gate_set(WIRE_COMPUTE, WIRE_GATED, 4 * MS, 0); /* it has been open, but that is over */
	for (int i = 0; i < 2000 && atomic_load(&t->waiting_since_ns) == since; i++)
		nap(1 * MS);
	nap(20 * MS);
	ok(atomic_load(&t->waiting_since_ns) > since);
	is(bells(fd), 1);
	is(atomic_load(&t->waiting), 1);
	is(atomic_load(&launched), 0);
	nap(250 * MS); /* looks around of its own accord change nothing */
	is(bells(fd), 0);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	pthread_join(thread, NULL);
	is(atomic_load(&launched), 1);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	close(fd);
}

/* A program that is stopped in its turn and goes on later finds its gate as it is then. */
static void case_stop(void)
{
	unsigned int edges = 0;
	pid_t self = getpid(), helper;
	int status;

	setup();
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	helper = fork();
	if (!helper) {
		for (int i = 0; i < 5; i++) {
			nap(20 * MS);
			kill(self, SIGSTOP);
			nap(20 * MS);
			kill(self, SIGCONT);
		}
		_exit(0);
	}
	for (int i = 0; i < 200; i++)
		is(launch(busy, 1 * MS, stream), CUDA_SUCCESS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	waitpid(helper, &status, 0);
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&turn(WIRE_COMPUTE)->launches), 200);
	take_edges(WIRE_COMPUTE, &edges);
	ok(edges >= 2);
}

/* Each device has a gate of its own; default streams belong to the context that is current. */
static CUcontext far;
static CUfunction far_busy;

static void *launch_far(void *data)
{
	uint64_t ns = 1 * MS;

	if (cu.cuCtxSetCurrent(far) == CUDA_SUCCESS && launch(far_busy, ns, NULL) == CUDA_SUCCESS)
		atomic_fetch_add(&launched, 1);
	return NULL;
}

static void case_devices(void)
{
	struct wire_turn *t;
	pthread_t thread;
	CUmodule m;

	setup();
	t = &page->turn[1][WIRE_COMPUTE];
	is(cu.cuDevicePrimaryCtxRetain(&far, 1), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(far), CUDA_SUCCESS);
	is(cu.cuModuleLoadData(&m, busy_ptx), CUDA_SUCCESS);
	is(cu.cuModuleGetFunction(&far_busy, m, "busy"), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	atomic_store(&t->gate, WIRE_GATED);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	pthread_create(&thread, NULL, launch_far, NULL);
	for (int i = 0; i < 2000 && !atomic_load(&t->waiting); i++)
		nap(1 * MS);
	is(atomic_load(&t->waiting), 1);
	for (int i = 0; i < 5; i++)
		is(launch(busy, 1 * MS, i % 2 ? stream : NULL), CUDA_SUCCESS);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&turn(WIRE_COMPUTE)->launches), 5);
	is(atomic_load(&launched), 0);
	atomic_store(&t->gate, WIRE_GATE_SERIAL | WIRE_GATED | WIRE_OPEN);
	syscall(SYS_futex, &t->gate, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	pthread_join(thread, NULL);
	is(atomic_load(&launched), 1);
	is(cu.cuCtxSetCurrent(far), CUDA_SUCCESS);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	for (int i = 0; i < 2000 && atomic_load(&t->busy_since_ns); i++)
		nap(1 * MS);
	is(atomic_load(&t->launches), 1);
	is(atomic_load(&turn(WIRE_COMPUTE)->launches), 5);
}

static const struct kit_case cases[] = {
	{ "closed", case_closed },   { "still", case_still },	  { "gated", case_gated },
	{ "bound", case_bound },     { "until", case_until },	  { "capture", case_capture },
	{ "destroy", case_destroy }, { "threads", case_threads }, { "change", case_change },
	{ "stuck", case_stuck },     { "earned", case_earned },	  { "asked", case_asked },
	{ "away", case_away },	     { "room", case_room },	  { "missed", case_missed },
	{ "stop", case_stop },	     { "devices", case_devices },
};

int main(int argc, char **argv)
{
	return turns_main(cases, sizeof cases / sizeof *cases, argc, argv);
}
