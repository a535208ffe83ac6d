/*
 * busy.c: what the shim measures and reports of work: busy time, edges, records, rings. One case per run: turns.h says
 * how.
 *
 * The machine may be busy: what was measured must agree with what the device did, however long that took.
 */
#include "turns.h"

#include <dirent.h>

/*
 * What the page says of busy time is what the kernels took, gaps left out. How long they spin is their own clock's
 * word, which may be ahead of ours: hence a fifth less.
 */
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
	ok(sum >= 40 * MS && sum < host + 1 * MS);
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
	ok(sum >= 32 * MS && sum < host + 1 * MS);
}

/* Busy time of n kernels of 1 ms, waited for at the end or each. */
static uint64_t busy_of(int n, bool each)
{
	for (int i = 0; i < n; i++) {
		is(launch(busy, 0, stream), CUDA_SUCCESS);
		if (each)
			is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	}
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	return take_edges(WIRE_COMPUTE, NULL);
}

/*
 * Work of declared length (METE_SOFT_DURATION): what the page says is what the device served, never less. A little
 * more comes of clocks that are compared, and of the time for which the machine keeps this process waiting: on a busy
 * machine not each time is as good.
 */
static void case_exact(void)
{
	uint64_t sum, waited;

	setup();
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	for (unsigned int each = 0; each < 2; each++) {
		for (unsigned int tries = 0; tries < 5; tries++) {
			waited = starved_ns();
			sum = busy_of(50, each);
			waited = starved_ns() - waited;
			printf("# %.3f ms for 50 ms, %.3f ms kept waiting\n", (double)sum / 1e6, (double)waited / 1e6);
			ok(sum >= 48 * MS);
			if (sum < 55 * MS)
				break;
		}
		ok(sum < 55 * MS + waited);
	}
}

/* A kernel of this length, during which tier T3 has the channels off for 25 ms in all. False: it was not to be had. */
static bool try_cut(uint64_t length)
{
	struct wire_turn *t = turn(WIRE_COMPUTE);
	uint64_t began, seen, host, sum, busy_before, cut_before, longest;
	unsigned int edges = 0;
	bool late;

	atomic_store(&t->longest_ns, 0);
	busy_before = atomic_load(&t->busy_ns);
	cut_before = atomic_load(&t->cut_ns);
	began = now_ns();
	is(launch(busy, length, stream), CUDA_SUCCESS);
	seen = now_ns();
	nap(60 * MS);
	late = now_ns() + 15 * MS > began + length;
	if (!late) {
		wire_cut_put(t, seen + 20 * MS, seen + 30 * MS);
		wire_cut_put(t, seen + 40 * MS, seen + 55 * MS);
	}
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	host = now_ns() - began;
	wait_idle(WIRE_COMPUTE);
	sum = take_edges(WIRE_COMPUTE, &edges);
	printf("# %.3f ms busy in %u edges, %.3f for the host\n", (double)sum / 1e6, edges, (double)host / 1e6);
	if (late || stood_still(sum + 25 * MS, length))
		return false;
	is(edges, 6);
	longest = atomic_load(&t->longest_ns);
	ok(sum + 25 * MS <= host + 1 * MS);
	ok(atomic_load(&t->busy_ns) - busy_before + 25 * MS <= host + 1 * MS);
	ok(longest && longest + 25 * MS <= host + 1 * MS);
	is(atomic_load(&t->cut_ns) - cut_before, 25 * MS);
	return true;
}

/*
 * While tier T3 has the channels off, what is in flight stands still: no busy time, and no length of a kernel. Longer
 * kernels are tried where the machine was busy elsewhere.
 */
static void case_cut(void)
{
	bool cut = false;

	setup();
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	for (uint64_t length = 120 * MS; !cut && length < 2000 * MS; length *= 2)
		cut = try_cut(length);
	if (!cut)
		skip_busy("time while the channels are off");
}

/* Copies wait for their own engine's turn, and part the kernels around them. */
static void case_copies(void)
{
	static char host[1 << 20];
	CUdeviceptr at;
	struct wire_turn *t;

	setup();
	t = turn(WIRE_COPY);
	is(cu.cuMemAlloc_v2(&at, sizeof host), CUDA_SUCCESS);
	for (int e = 0; e < WIRE_ENGINES; e++)
		gate_set(e, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	for (int i = 0; i < 5; i++) {
		is(launch(busy, 2 * MS, stream), CUDA_SUCCESS);
		is(cu.cuMemcpyHtoDAsync_v2(at, host, sizeof host, stream), CUDA_SUCCESS);
		is(cu.cuMemsetD8Async(at, 1, sizeof host, stream), CUDA_SUCCESS);
	}
	is(cu.cuMemcpyDtoH_v2(host, at, sizeof host), CUDA_SUCCESS);
	is(cu.cuMemsetD32_v2(at, 7, sizeof host / 4), CUDA_SUCCESS);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	wait_idle(WIRE_COPY);
	wait_idle(WIRE_COMPUTE);
	is(atomic_load(&t->launches), 12);
	is(atomic_load(&turn(WIRE_COMPUTE)->launches), 5);
	ok(take_edges(WIRE_COMPUTE, NULL) >= 8 * MS);
	ok(take_edges(WIRE_COPY, NULL) > 0);
}

/* While meted traces, every launch leaves a record with its name. */
static void case_trace(void)
{
	const struct wire_record *r;

	setup();
	r = page->trace.record;
	atomic_store(&page->trace.on, 1);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	for (int i = 0; i < 4; i++)
		is(launch(i % 2 ? busy : other, 100 * US, stream), CUDA_SUCCESS);
	is(atomic_load(&page->trace.head), 4);
	for (int i = 0; i < 4; i++) {
		is_str(r[i].name, i % 2 ? "busy" : "other");
		ok(r[i].submitted_ns && r[i].passed_ns >= r[i].submitted_ns);
	}
	is(r[0].bytes, 3); /* threads */
	atomic_store(&page->trace.on, 0);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
}

/* What began first and ends last is busy from its begin on, whatever another stream does in between. */
static void case_begun(void)
{
	CUstream second;
	uint64_t sum;

	setup();
	is(cu.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 400 * MS, 0);
	for (int i = 0; i < 3; i++) { /* lengths are learnt: what is not known runs alone */
		is(launch(busy, 100 * MS, stream), CUDA_SUCCESS);
		is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
		is(launch(busy, 1 * MS, second), CUDA_SUCCESS);
		is(cu.cuStreamSynchronize(second), CUDA_SUCCESS);
	}
	wait_idle(WIRE_COMPUTE);
	take_edges(WIRE_COMPUTE, NULL);
	is(launch(busy, 100 * MS, stream), CUDA_SUCCESS);
	nap(50 * MS);
	is(launch(busy, 1 * MS, second), CUDA_SUCCESS);
	is(cu.cuCtxSynchronize(), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	sum = take_edges(WIRE_COMPUTE, NULL);
	printf("# %.3f ms busy\n", (double)sum / 1e6);
	ok(sum >= 80 * MS);
}

/* A pause is told of once, when it has lasted; before that it may be the time between two launches. */
static void case_pause(void)
{
	char path[512];
	long rung = 0;
	int fd;

	setup();
	snprintf(path, sizeof path, "%s/bell", getenv("TEST_FOLDER"));
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ok(fd >= 0);
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 4 * MS, 0);
	is(launch(busy, 1 * MS, stream), CUDA_SUCCESS);
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
	nap(5 * MS);
	bells(fd);
	atomic_store(&turn(WIRE_COMPUTE)->listen, WIRE_ON_PAUSE);
	for (int i = 0; i < 5; i++) {
		is(launch(busy, 1 * MS, stream), CUDA_SUCCESS);
		is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
		wait_idle(WIRE_COMPUTE);
		for (int n = 0; n < 2000 && !(rung = bells(fd)); n++)
			nap(1 * MS);
		nap(20 * MS);
		is(rung + bells(fd), 1);
	}
	close(fd);
}

/* What copies that are waited for ask of the driver and of meted: n of them. meted takes the edges. */
static void copy_many(int n)
{
	static char host[64];
	uint64_t at;
	bool begins;

	for (int i = 0; i < n; i++) {
		is(cu.cuMemcpyHtoD_v2(0x1000, host, sizeof host), CUDA_SUCCESS);
		while (wire_edge_get(turn(WIRE_COPY), &at, &begins))
			;
	}
}

static int bell_open(void)
{
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/bell", getenv("TEST_FOLDER"));
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ok(fd >= 0);
	return fd;
}

struct fewest {
	uint64_t records; /* events */
	uint64_t rings;	  /* of the doorbell */
};

/*
 * Of `times` rounds of so many copies, or launches, the fewest events and rings. A thread that gets no processor for a
 * while is one that pauses; what comes after that is marked, and meted hears of it: of several rounds one has no such
 * pause.
 */
static struct fewest fewest_of(int fd, int times, int each, bool launches)
{
	struct fewest fewest = { UINT64_MAX, UINT64_MAX };

	for (int i = 0; i < times; i++) {
		uint64_t before = truth->records, rings;

		bells(fd);
		if (!launches)
			copy_many(each);
		for (int k = 0; launches && k < each; k++)
			cu.cuLaunchKernel((CUfunction)0x1000, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		rings = (uint64_t)bells(fd);
		fewest.records = truth->records - before < fewest.records ? truth->records - before : fewest.records;
		fewest.rings = rings < fewest.rings ? rings : fewest.rings;
	}
	return fewest;
}

/* The fewest rings in 200 copies. */
static int fewest_rings(int fd, int times)
{
	uint64_t word = 0;
	int fewest = INT32_MAX;

	for (int i = 0; i < times; i++) {
		int rung;

		for (int k = 0; k < 200; k++)
			is(cu.cuMemcpyHtoD_v2(0x1000, &word, 8), CUDA_SUCCESS);
		rung = (int)bells(fd);
		fewest = rung < fewest ? rung : fewest;
	}
	return fewest;
}

/*
 * What the gate costs, in calls: no event of a copy that is waited for with nothing before it, and meted is not woken;
 * few events of launches. Where something may hold a copy back there is one.
 */
static void case_price(void)
{
	struct fewest fewest;
	struct wire_turn *t;
	uint64_t before;
	int rung;
	int fd;

	kit_open("libcuda.so.1");
	kit_truth();
	context = begin(0);
	page_open();
	fd = bell_open();
	t = turn(WIRE_COPY);
	for (int e = 0; e < WIRE_ENGINES; e++)
		gate_set(e, WIRE_GATED | WIRE_OPEN, 4 * MS, now_ns() + 3600000 * MS);
	copy_many(2);
	atomic_store(&t->listen, WIRE_ON_WAIT | WIRE_ON_LATE);
	fewest = fewest_of(fd, 20, 50, false);
	is(fewest.records, 0);
	is(fewest.rings, 0);
	is(atomic_load(&t->launches), 1002);
	/* Something that holds a stream back: one copy finds out whether it is over. */
	is(cu.cuStreamWaitValue32(NULL, 0x2000, 1, 0), CUDA_SUCCESS);
	before = truth->records;
	copy_many(1);
	ok(truth->records > before);
	is(fewest_of(fd, 10, 10, false).records, 0);
	/* A new turn. */
	gate_set(WIRE_COPY, WIRE_GATED | WIRE_OPEN, 4 * MS, now_ns() + 3600000 * MS);
	before = truth->records;
	copy_many(1);
	ok(truth->records > before);
	/* Near the end of the turn meted hears of it. The first of a turn passes in any case. */
	bells(fd);
	gate_set(WIRE_COPY, WIRE_GATED | WIRE_OPEN, 4 * MS, now_ns());
	copy_many(1);
	is(bells(fd), 1);
	/* Many edges are told of, but not each time. */
	gate_set(WIRE_COPY, WIRE_GATED | WIRE_OPEN, 4 * MS, now_ns() + 3600000 * MS);
	copy_many(1);
	is(bells(fd), 0);
	rung = fewest_rings(fd, 1);
	ok(atomic_load(&t->edge_head) - atomic_load(&t->edge_tail) == WIRE_EDGES);
	rung = rung > 100 ? fewest_rings(fd, 10) : rung;
	printf("# rung %d times about edges that nobody takes, in 200 copies\n", rung);
	ok(rung >= 2 && rung <= 100); /* some 11 where nothing else runs */
	/* Launches are marked by the time that they take, not one by one. */
	before = fewest_of(fd, 10, 2000, true).records;
	printf("# %d events for 2000 launches\n", (int)before);
	ok(before < 400); /* some 50 where nothing else runs */
	close(fd);
}

#define SPARED 64
/* A sanitizer slows all of it down, and is here for what it sees in a few rounds: their price is judged without it. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SPARED_SLOW true
#define SPARED_ROUNDS 20
#define SPARED_TRIES 1
#else
#define SPARED_SLOW false
#define SPARED_ROUNDS 100
#define SPARED_TRIES 24
#endif
#define SPARED_NS (100 * US)
#define OFF_NS (5 * US) /* for each kernel: the clocks are compared on a machine that may be busy */

struct price {
	uint64_t calls; /* of the driver for events, by the driver's count */
	int64_t off_ns; /* what was charged beyond what the device served */
};

/* How a program gets to know that its kernel has ended. */
enum way {
	BY_STREAM,
	BY_CONTEXT,
	BY_EVENT,
};

static CUevent own_event;

/* One check for all: there are many rounds where the machine is busy, and to read a check takes longer than to make it.
 */
static void launch_and_wait(int n, enum way way)
{
	uint64_t at;
	bool begins;
	int wrong = 0;

	for (int i = 0; i < n; i++) {
		wrong += cu.cuLaunchKernel((CUfunction)0x1000, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != CUDA_SUCCESS;
		if (way == BY_EVENT)
			wrong += cu.cuEventRecord(own_event, NULL) != CUDA_SUCCESS;
		wrong += (way == BY_STREAM    ? cu.cuStreamSynchronize(NULL)
			  : way == BY_CONTEXT ? cu.cuCtxSynchronize()
					      : cu.cuEventSynchronize(own_event)) != CUDA_SUCCESS;
		while (wire_edge_get(turn(WIRE_COMPUTE), &at, &begins))
			;
	}
	is(wrong, 0);
}

/*
 * Calls of the driver for a launch beside those for markers: the program's own record and wait of its event, and the
 * question for that event's time.
 */
static uint64_t least_calls(enum way way)
{
	return way == BY_EVENT ? 3 * SPARED : 0;
}

/* Of several rounds the one with the fewest calls: a thread that gets no processor for a while is one that pauses. */
static struct price price_of(enum way way)
{
	struct price best = { UINT64_MAX, 0 };

	for (int i = 0; i < SPARED_ROUNDS && best.calls > least_calls(way) + SPARED / 2; i++) {
		uint64_t calls, kernels, busy_ns;

		wait_idle(WIRE_COMPUTE);
		calls = truth->records + truth->asks;
		kernels = truth->kernels;
		busy_ns = atomic_load(&turn(WIRE_COMPUTE)->busy_ns);
		launch_and_wait(SPARED, way);
		calls = truth->records + truth->asks - calls;
		wait_idle(WIRE_COMPUTE);
		if (calls >= best.calls)
			continue;
		best.calls = calls;
		best.off_ns = (int64_t)(atomic_load(&turn(WIRE_COMPUTE)->busy_ns) - busy_ns) -
			      (int64_t)((truth->kernels - kernels) * SPARED_NS);
	}
	printf("# %.2f calls of the driver for each launch that is waited for; charged %+.2f us for each\n",
	       (double)best.calls / SPARED, (double)best.off_ns / SPARED / 1e3);
	return best;
}

/* Where the machine is busy just then, measured again: that many calls at most, and charged what the device served. */
static struct price price_in_peace(enum way way, uint64_t calls)
{
	struct price price = price_of(way);

	for (int tries = 1; tries < SPARED_TRIES; tries++) {
		if (price.calls <= calls && llabs(price.off_ns) < (int64_t)(SPARED * OFF_NS))
			break;
		price = price_of(way);
	}
	return price;
}

/*
 * A program that waits for each of its kernels shows itself when they begin and end: most of them need no events. They
 * are charged as before, by the driver's own clock. Kernels for which the program does not wait, and the first behind
 * something that holds its stream back, have theirs.
 */
static void case_spared(void)
{
	struct price price;
	uint64_t before;
	bool dear;

	kit_open("libcuda.so.1");
	kit_truth();
	context = begin(0);
	page_open();
	for (int e = 0; e < WIRE_ENGINES; e++)
		gate_set(e, WIRE_GATED | WIRE_OPEN, 4 * MS, now_ns() + 3600000 * MS);
	truth->kernel_ns = SPARED_NS;
	is(cu.cuEventCreate(&own_event, 0), CUDA_SUCCESS);
	for (enum way way = BY_STREAM; way <= BY_EVENT; way++) {
		uint64_t kept = starved_ns(), from = now_ns(), most = least_calls(way) + SPARED * 3 / 4;

		price = price_in_peace(way, most);
		/* Where the thread has lost its processor again and again, its clock is not trusted: as it should be.
		 */
		dear = price.calls > most || (SPARED_SLOW && llabs(price.off_ns) >= (int64_t)(SPARED * OFF_NS));
		if (dear && (SPARED_SLOW || starved_ns() - kept > (now_ns() - from) / 4)) {
			skip_busy("launches without events");
			continue;
		}
		ok(price.calls <= most);
		ok(llabs(price.off_ns) < (int64_t)(SPARED * OFF_NS));
	}
	launch_and_wait(20, BY_STREAM);
	before = truth->records;
	is(cu.cuStreamWaitValue32(NULL, 0x2000, 1, 0), CUDA_SUCCESS);
	launch_and_wait(1, BY_STREAM);
	ok(truth->records >= before + 2);
	/* Not waited for. */
	launch_and_wait(20, BY_STREAM);
	is(cu.cuLaunchKernel((CUfunction)0x1000, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE);
}

/* Lets what waits for the word go on after a while. */
static void *release(void *word)
{
	nap(40 * MS);
	__atomic_store_n((uint32_t *)word, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static char held_host[4096];

/* What a copy is charged that waits for a kernel of 40 ms, in ns. */
static uint64_t behind_kernel(CUstream blocking, CUdeviceptr to)
{
	struct wire_turn *t = turn(WIRE_COPY);
	uint64_t before = atomic_load(&t->busy_ns);

	is(launch(busy, 40 * MS, blocking), CUDA_SUCCESS);
	is(cu.cuMemcpyHtoD_v2(to, held_host, sizeof held_host), CUDA_SUCCESS);
	before = atomic_load(&t->busy_ns) - before;
	printf("# %.3f ms behind a kernel of 40 ms\n", (double)before / 1e6);
	wait_idle(WIRE_COMPUTE);
	return before;
}

/* What a copy is charged that waits for 40 ms for a word, in a stream in which there has been no work. */
static uint64_t behind_word(uint32_t *word, CUdeviceptr at, CUdeviceptr to)
{
	struct wire_turn *t = turn(WIRE_COPY);
	CUstream blocking;
	pthread_t thread;
	uint64_t before;

	is(cu.cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
	*word = 0;
	before = atomic_load(&t->busy_ns);
	is(cu.cuStreamWaitValue32(blocking, at, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
	pthread_create(&thread, NULL, release, word);
	is(cu.cuMemcpyHtoD_v2(to, held_host, sizeof held_host), CUDA_SUCCESS);
	pthread_join(thread, NULL);
	before = atomic_load(&t->busy_ns) - before;
	printf("# %.3f ms behind a stream that is held for 40 ms\n", (double)before / 1e6);
	is(cu.cuStreamDestroy_v2(blocking), CUDA_SUCCESS);
	return before;
}

static void copy_usual(CUdeviceptr to)
{
	for (int i = 0; i < 100; i++)
		is(cu.cuMemcpyHtoD_v2(to, held_host, sizeof held_host), CUDA_SUCCESS);
}

#define HELD_TRIES 5

/*
 * What a copy waits for in its stream is not charged: neither a kernel's time nor that of something that is no work. A
 * thread that gets no processor within a copy is charged for that: of several tries one has no such pause.
 */
static void case_held(void)
{
	uint64_t charged = UINT64_MAX;
	CUdeviceptr at, to;
	CUstream blocking;
	uint32_t *word;

	setup();
	is(cu.cuMemAlloc_v2(&to, sizeof held_host), CUDA_SUCCESS);
	is(cu.cuMemHostAlloc((void **)&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
	is(cu.cuMemHostGetDevicePointer_v2(&at, word, 0), CUDA_SUCCESS);
	is(cu.cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
	for (int e = 0; e < WIRE_ENGINES; e++)
		gate_set(e, WIRE_GATED | WIRE_OPEN, 400 * MS, 0);
	for (int i = 0; i < HELD_TRIES && charged >= 20 * MS; i++) {
		copy_usual(to);
		charged = behind_kernel(blocking, to);
	}
	ok(charged < 20 * MS);
	is(cu.cuStreamDestroy_v2(blocking), CUDA_SUCCESS);
	charged = UINT64_MAX;
	for (int i = 0; i < HELD_TRIES && charged >= 20 * MS; i++) {
		copy_usual(to);
		charged = behind_word(word, at, to);
	}
	ok(charged < 20 * MS);
	is(cu.cuMemFreeHost(word), CUDA_SUCCESS);
}

/* The number of the thread that watches; 0: there is none. */
static int watcher_find(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int found = 0;

	while (tasks && !found && (entry = readdir(tasks))) {
		char path[300], name[32] = "";
		FILE *f;

		snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
		f = fopen(path, "r");
		if (f && fscanf(f, "%31s", name) == 1 && !strcmp(name, "mete-watch"))
			found = atoi(entry->d_name);
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

/* The futex on which the thread sleeps; 0: it does not, or the kernel does not say. */
static unsigned long sleeps_on(int thread)
{
	unsigned long address = 0;
	char path[64];
	long call = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
	f = fopen(path, "r");
	if (f && (fscanf(f, "%ld %lx", &call, &address) != 2 || call != SYS_futex))
		address = 0;
	if (f)
		fclose(f);
	return address;
}

#define LEFT_TRIES 10
#define LEFT_KERNELS 50
#define LEFT_AFTER 8 /* so many kernels in time, one after the other: the watcher relies on the program then */
#define LEFT_LATE_NS 50000

/*
 * Of kernels that are waited for one by one: in the middle of how many the watcher sleeps where it rests. Those alone
 * are counted before which, and at whose end, nothing was late: else the watcher is right to wait. ret_seen: so many.
 */
static unsigned int left_of(int thread, unsigned long rests, unsigned int *ret_seen)
{
	uint64_t took[LEFT_KERNELS], last = now_ns(), least = UINT64_MAX;
	unsigned int left = 0, in_time = 0;
	bool sleeps[LEFT_KERNELS];

	for (int i = 0; i < LEFT_KERNELS; i++) {
		is(launch(busy, 0, stream), CUDA_SUCCESS);
		nap(1 * MS);
		sleeps[i] = sleeps_on(thread) == rests;
		is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
		took[i] = now_ns() - last;
		last += took[i];
		least = took[i] < least ? took[i] : least;
	}
	wait_idle(WIRE_COMPUTE);
	*ret_seen = 0;
	for (int i = 0; i < LEFT_KERNELS; i++) {
		in_time = took[i] <= least + LEFT_LATE_NS ? in_time + 1 : 0;
		if (in_time <= LEFT_AFTER)
			continue;
		++*ret_seen;
		left += sleeps[i];
	}
	return left;
}

/*
 * A program that waits for each of its kernels, and launches the next at once, takes their ends by itself: the watcher
 * does not wait for them beside it in the driver. An end that the program does not come back for is taken all the same.
 * Kernels last 5 ms (METE_SOFT_DURATION).
 */
static void case_left(void)
{
	unsigned int left = 0, seen = 0, some;
	unsigned long rests = 0;
	int thread;

	setup();
	gate_set(WIRE_COMPUTE, WIRE_GATED | WIRE_OPEN, 20 * MS, 0);
	busy_of(3, true);
	thread = watcher_find();
	ok(thread);
	for (int i = 0; i < 1000 && !rests; i++) {
		nap(1 * MS);
		rests = sleeps_on(thread);
	}
	if (!rests) {
		tap_ok(true, "left # SKIP this kernel does not say where a thread sleeps");
		return;
	}
	for (int i = 0; i < LEFT_TRIES && (seen < LEFT_KERNELS / 5 || left < seen / 2); i++) {
		left += left_of(thread, rests, &some);
		seen += some;
	}
	printf("# %u of %u ends in time are left to the program\n", left, seen);
	/* After one that is not left it takes some kernels until the next one is, and threads lose their processor. */
	if (seen < LEFT_KERNELS / 5)
		skip_busy("left");
	else
		ok(left > seen / 8);
	left_of(thread, rests, &some);
	is(launch(busy, 0, stream), CUDA_SUCCESS);
	wait_idle(WIRE_COMPUTE); /* however late the machine lets the watcher look */
	is(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
}

#define GAP_TRIES 8

static void launch_on(CUstream s, uint64_t ns)
{
	truth->kernel_ns = ns;
	is(cu.cuLaunchKernel((CUfunction)0x1000, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL), CUDA_SUCCESS);
}

static void *work_in_gap(void *unused)
{
	is(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
	launch_on(NULL, 2 * MS);
	is(cu.cuStreamSynchronize(NULL), CUDA_SUCCESS);
	nap(40 * MS);
	launch_on(NULL, 60 * MS);
	return unused;
}

/* The thread that is about to launch is held up, and another one works meanwhile. */
static void hold_up(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work_in_gap, NULL);
	pthread_join(thread, NULL);
	truth->kernel_ns = 10 * MS;
}

/*
 * A thread that has been let through loses its processor before it launches. Until it does, nothing of its stream is on
 * the device: the pause of another stream is not charged, though that work counts as in flight.
 */
static void case_gap(void)
{
	uint64_t kernels_ns = 2 * MS + 60 * MS + 10 * MS, before, charged = UINT64_MAX;

	kit_open("libcuda.so.1");
	kit_truth();
	context = begin(0);
	page_open();
	for (int e = 0; e < WIRE_ENGINES; e++)
		gate_set(e, WIRE_GATED | WIRE_OPEN, 1000 * MS, now_ns() + 3600000 * MS);
	for (int i = 0; i < 2; i++) {
		launch_on(CU_STREAM_PER_THREAD, 2 * MS);
		is(cu.cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
		launch_on(NULL, 2 * MS);
		is(cu.cuStreamSynchronize(NULL), CUDA_SUCCESS);
	}
	for (int i = 0; i < GAP_TRIES && charged > kernels_ns + 20 * MS; i++) {
		wait_idle(WIRE_COMPUTE);
		before = atomic_load(&turn(WIRE_COMPUTE)->busy_ns);
		__atomic_store_n(&truth->during_record, hold_up, __ATOMIC_RELEASE);
		launch_on(CU_STREAM_PER_THREAD, 10 * MS);
		is(cu.cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
		wait_idle(WIRE_COMPUTE);
		charged = atomic_load(&turn(WIRE_COMPUTE)->busy_ns) - before;
		printf("# charged %.3f ms of %.3f\n", (double)charged / 1e6, (double)kernels_ns / 1e6);
		ok(charged >= kernels_ns - 2 * MS);
	}
	ok(charged <= kernels_ns + 20 * MS);
}

static const struct kit_case cases[] = {
	{ "edges", case_edges }, { "exact", case_exact }, { "cut", case_cut },	     { "copies", case_copies },
	{ "trace", case_trace }, { "begun", case_begun }, { "pause", case_pause },   { "price", case_price },
	{ "held", case_held },	 { "left", case_left },	  { "spared", case_spared }, { "gap", case_gap },
};

int main(int argc, char **argv)
{
	return turns_main(cases, sizeof cases / sizeof *cases, argc, argv);
}
