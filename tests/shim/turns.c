/*
 * turns.c: the gate of the shim, one case per run: turns.h says how.
 *
 * The machine may be busy: nothing here asserts that something was fast, only that it did not happen too early, and
 * that what was measured agrees with what the device did.
 */
#include "turns.h"

static _Atomic int launched;

static void *launch_one(void *data)
{
	is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	is(launch(busy, *(uint64_t *)data, stream), CUDA_SUCCESS);
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

/* What the page says of busy time is what the kernels took, gaps left out. */
static void case_edges(void)
{
	unsigned int edges = 0;
	uint64_t sum, before, host = 0;

	setup();
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	for (int i = 0; i < 10; i++) {
		before = now_ns();
		is(launch(busy, 5 * MS, stream), CUDA_SUCCESS);
		is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
		host += now_ns() - before;
		nap(3 * MS);
	}
	wait_idle(WIRE_COMPUTE);
	sum = take_edges(WIRE_COMPUTE, &edges);
	is(edges, 20);
	printf("# %.3f ms busy, %.3f for the host\n", (double)sum / 1e6, (double)host / 1e6);
	ok(sum >= 50 * MS && sum < host);
	is(atomic_load(&turn(WIRE_COMPUTE)->launches), 10);
	ok(llabs((long long)(atomic_load(&turn(WIRE_COMPUTE)->busy_ns) - sum)) < (long long)US);
	before = now_ns();
	for (int i = 0; i < 40; i++)
		is(launch(busy, 1 * MS, stream), CUDA_SUCCESS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	host = now_ns() - before;
	wait_idle(WIRE_COMPUTE);
	sum = take_edges(WIRE_COMPUTE, &edges);
	printf("# %.3f ms busy, %u edges\n", (double)sum / 1e6, edges);
	ok(sum >= 40 * MS && sum < host);
}

/* While tier T3 has the channels off, what is in flight stands still: no busy time, and no length of a kernel. */
static void case_cut(void)
{
	struct wire_turn *t;
	unsigned int edges = 0;
	uint64_t began, host, sum;

	setup();
	t = turn(WIRE_COMPUTE);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	began = now_ns();
	is(launch(busy, 80 * MS, stream), CUDA_SUCCESS);
	nap(60 * MS);
	wire_cut_put(t, began + 20 * MS, began + 30 * MS);
	wire_cut_put(t, began + 40 * MS, began + 55 * MS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	host = now_ns() - began;
	wait_idle(WIRE_COMPUTE);
	sum = take_edges(WIRE_COMPUTE, &edges);
	is(edges, 6);
	printf("# %.3f ms busy, %.3f for the host\n", (double)sum / 1e6, (double)host / 1e6);
	ok(sum >= 55 * MS && sum + 25 * MS <= host);
	ok(atomic_load(&t->busy_ns) + 25 * MS <= host);
	ok(atomic_load(&t->longest_ns) + 25 * MS <= host);
	is(atomic_load(&t->cut_ns), 25 * MS);
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
	       "%s: %s", row->symbol, row->engine < 0 ? "not gated" : row->engine ? "copy" : "compute");
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

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{ "closed", case_closed },
		{ "edges", case_edges },
		{ "cut", case_cut },
		{ "still", case_still },
		{ "gated", case_gated },
	};
	const char *name = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (strcmp(cases[i].name, name))
			continue;
		cases[i].run();
		printf("1..%d\n", tap_count);
		return tap_failed ? 1 : 0;
	}
	return 2;
}
