/*
 * calls.c: what a call costs with the shim and without, in one process, in turns.
 *
 * The driver is opened by its absolute path; the shim is the libcuda.so.1 that `mete run` provides, in front of the
 * same file. Of each call a batch is timed on one, then on the other, many times over; what disturbs one disturbs the
 * other. Prints one JSON object per row: nanoseconds per call, least, median and most of all batches.
 */
#include "wire/page.h"

#include <cuda.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCHES_MOST 201
#define LIVE 50000

struct driver {
	CUresult (*init)(unsigned int);
	CUresult (*retain)(CUcontext *, CUdevice);
	CUresult (*set_current)(CUcontext);
	CUresult (*alloc)(CUdeviceptr *, size_t);
	CUresult (*free)(CUdeviceptr);
	CUresult (*launch)(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
			   unsigned int, unsigned int, CUstream, void **, void **);
	CUresult (*query)(CUevent);
	CUresult (*info)(size_t *, size_t *);
	CUresult (*copy)(CUdeviceptr, const void *, size_t);
	CUresult (*copy_async)(CUdeviceptr, const void *, size_t, CUstream);
	CUresult (*synchronize)(void);
	CUresult (*find)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
};

struct result {
	double least, median, most;
};

static struct wire_page *page;	      /* of this process: the shim's mapping of it */
static void (*prepare)(bool on_shim); /* before a batch is timed */
static unsigned int batches = 61;
static unsigned int calls_most = 1u << 23; /* of one batch */
static volatile CUresult sink;
static const char *only; /* rows whose names begin so; NULL: all */
static const struct driver *grower; /* the shim, in rows of memory that grows */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *symbol(void *library, const char *name)
{
	void *f = dlsym(library, name);

	if (!f) {
		fprintf(stderr, "calls: %s is missing: %s\n", name, dlerror());
		exit(1);
	}
	return f;
}

static struct driver driver_open(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct driver d;

	if (!library) {
		fprintf(stderr, "calls: %s\n", dlerror());
		exit(1);
	}
	*(void **)&d.init = symbol(library, "cuInit");
	*(void **)&d.retain = symbol(library, "cuDevicePrimaryCtxRetain");
	*(void **)&d.set_current = symbol(library, "cuCtxSetCurrent");
	*(void **)&d.alloc = symbol(library, "cuMemAlloc_v2");
	*(void **)&d.free = symbol(library, "cuMemFree_v2");
	*(void **)&d.launch = symbol(library, "cuLaunchKernel");
	*(void **)&d.query = symbol(library, "cuEventQuery");
	*(void **)&d.info = symbol(library, "cuMemGetInfo_v2");
	*(void **)&d.copy = symbol(library, "cuMemcpyHtoD_v2");
	*(void **)&d.copy_async = symbol(library, "cuMemcpyHtoDAsync_v2");
	*(void **)&d.synchronize = symbol(library, "cuCtxSynchronize");
	*(void **)&d.find = symbol(library, "cuGetProcAddress_v2");
	return d;
}

static void launch(const struct driver *d, unsigned int n)
{
	void *args[] = { &n };

	for (unsigned int i = 0; i < n; i++)
		sink = d->launch((CUfunction)0x1000, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL);
}

/* As meted does. */
static void edges_take(void)
{
	for (int e = 0; page && e < WIRE_ENGINES; e++)
		atomic_store(&page->turn[0][e].edge_tail, atomic_load(&page->turn[0][e].edge_head));
}

#define COPY_BYTES 4096

static CUdeviceptr copy_to = 0x1000;

static void copy(const struct driver *d, unsigned int n)
{
	static char from[COPY_BYTES];

	for (unsigned int i = 0; i < n; i++) {
		sink = d->copy(copy_to, from, COPY_BYTES);
		if (!(i % 16))
			edges_take();
	}
}

static void copy_async(const struct driver *d, unsigned int n)
{
	static char from[COPY_BYTES];

	for (unsigned int i = 0; i < n; i++)
		sink = d->copy_async(copy_to, from, COPY_BYTES, NULL);
	sink = d->synchronize();
}

static void alloc_free(const struct driver *d, unsigned int n)
{
	CUdeviceptr p;

	for (unsigned int i = 0; i < n; i++) {
		if (d->alloc(&p, 65536) || d->free(p)) {
			fprintf(stderr, "calls: an allocation failed\n");
			exit(1);
		}
	}
}

static void pass(const struct driver *d, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		sink = d->query((CUevent)0x1000);
}

static void info(const struct driver *d, unsigned int n)
{
	size_t a, b;

	for (unsigned int i = 0; i < n; i++)
		sink = d->info(&a, &b);
}

static void find(const struct driver *d, unsigned int n)
{
	CUdriverProcAddressQueryResult status;
	void *f;

	for (unsigned int i = 0; i < n; i++)
		sink = d->find("cuMemAlloc", &f, 12000, 0, &status);
}

/* Memory that grows: what was taken is given back when the row is done. */
#define GROWN_MOST (1u << 19)
#define GROWN_BYTES 4096

static CUdeviceptr *grown[2];
static unsigned int grown_count[2];

static void grow(const struct driver *d, unsigned int n)
{
	int side = d == grower;
	CUdeviceptr *p = grown[side] + grown_count[side];

	if (n > GROWN_MOST - grown_count[side]) {
		fprintf(stderr, "calls: one row grows too far\n");
		exit(1);
	}
	for (unsigned int i = 0; i < n; i++)
		if (d->alloc(&p[i], GROWN_BYTES)) {
			fprintf(stderr, "calls: an allocation failed\n");
			exit(1);
		}
	grown_count[side] += n;
}

static void shrink(const struct driver *d)
{
	int side = d == grower;

	while (grown_count[side])
		d->free(grown[side][--grown_count[side]]);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct result sum_up(double *ns)
{
	qsort(ns, batches, sizeof *ns, compare);
	return (struct result){ ns[0], ns[batches / 2], ns[batches - 1] };
}

static void print_result(const char *name, struct result r)
{
	printf("\"%s\": {\"min\": %.2f, \"median\": %.2f, \"max\": %.2f}", name, r.least, r.median, r.most);
}

static bool wanted(const char *row)
{
	return !only || !strncmp(row, only, strlen(only));
}

/* Times `work` in batches on the driver and through the shim by turns. */
static void row(const char *name, void (*work)(const struct driver *, unsigned int), const struct driver *driver,
		const struct driver *shim)
{
	static double direct_ns[BATCHES_MOST], shim_ns[BATCHES_MOST];
	unsigned int n = 64;
	double t;

	if (!wanted(name))
		return;
	/* A batch of the slower side takes about a millisecond. */
	work(driver, 1000);
	work(shim, 1000);
	for (;;) {
		t = now();
		work(shim, n);
		t = now() - t;
		if (t > 5e5 || n * 2 > calls_most)
			break;
		n *= 2;
	}
	for (unsigned int i = 0; i < batches; i++) {
		bool shim_first = i % 2;

		for (int side = 0; side < 2; side++) {
			bool on_shim = shim_first == (side == 0);

			if (prepare)
				prepare(on_shim);
			t = now();
			work(on_shim ? shim : driver, n);
			(on_shim ? shim_ns : direct_ns)[i] = (now() - t) / n;
		}
	}
	printf("{\"row\": \"%s\", \"calls_per_batch\": %u, \"batches\": %u, ", name, n, batches);
	print_result("direct", sum_up(direct_ns));
	printf(", ");
	print_result("shim", sum_up(shim_ns));
	printf("}\n");
	fflush(stdout);
}

/* The page among the process's mappings. */
static void find_page(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];

	while (f && !page && fgets(line, sizeof line, f)) {
		struct wire_page *p;
		uintptr_t from, to;

		if (sscanf(line, "%lx-%lx rw-s", &from, &to) == 2 && strstr(line, "/pages/")) {
			p = (struct wire_page *)from;
			if (to - from >= sizeof *p && p->magic == WIRE_PAGE_MAGIC)
				page = p;
		}
	}
	if (f)
		fclose(f);
}

/*
 * Both sides through the shim: not limited, and within an open turn, which this program gives to itself in the place
 * of meted, who has no business with a grant that is not limited. The shim learns anew how long its kernel takes.
 */
static const struct driver *limited;

static void (*learnt)(const struct driver *, unsigned int); /* what the row times */

static void turn_on(bool on)
{
	for (int e = 0; e < WIRE_ENGINES; e++) {
		struct wire_turn *t = &page->turn[0][e];
		uint32_t serial = (atomic_load(&t->gate) | (WIRE_GATE_SERIAL - 1)) + 1;

		atomic_store(&t->bound_ns, 4000000);
		atomic_store(&t->until_ns, 0);
		atomic_store(&t->gate, serial | (on ? WIRE_GATED | WIRE_OPEN : 0));
	}
	if (on)
		learnt(limited, learnt == launch ? 20000 : 500);
}

static void limited_row(const char *name, void (*work)(const struct driver *, unsigned int), const struct driver *shim)
{
	prepare = turn_on;
	limited = shim;
	learnt = work;
	row(name, work, shim, shim);
	prepare = NULL;
}

static CUdeviceptr *live(const struct driver *d, unsigned int n)
{
	CUdeviceptr *p = calloc(n, sizeof *p);

	for (unsigned int i = 0; p && i < n; i++) {
		if (d->alloc(&p[i], 512)) {
			fprintf(stderr, "calls: live allocation %u failed\n", i);
			exit(1);
		}
	}
	return p;
}

/* Other processes of the tenant: each has a context and some memory, and waits until its standard input ends. */
#define OTHERS_MOST 7

static int other_input[OTHERS_MOST];
static unsigned int others;

static int hold(void)
{
	struct driver shim = driver_open("libcuda.so.1");
	CUcontext context;
	CUdeviceptr p;
	char byte;

	if (shim.init(0) || shim.retain(&context, 0) || shim.set_current(context) || shim.alloc(&p, 65536))
		return 1;
	return write(STDOUT_FILENO, "r", 1) == 1 && read(STDIN_FILENO, &byte, 1) == 0 ? 0 : 1;
}

static void start_other(const char *path)
{
	int input[2], output[2];
	char byte;
	pid_t pid;

	if (pipe2(input, O_CLOEXEC) || pipe2(output, O_CLOEXEC))
		exit(1);
	pid = fork();
	if (!pid) {
		dup2(input[0], STDIN_FILENO);
		dup2(output[1], STDOUT_FILENO);
		execl("/proc/self/exe", "calls", path, "hold", (char *)NULL);
		_exit(1);
	}
	close(input[0]);
	close(output[1]);
	if (pid < 0 || read(output[0], &byte, 1) != 1) {
		fprintf(stderr, "calls: another process cannot be started\n");
		exit(1);
	}
	close(output[0]);
	other_input[others++] = input[1];
}

static void stop_others(void)
{
	while (others)
		close(other_input[--others]);
	while (wait(NULL) > 0)
		;
}

/* Growth and what is free, with so many processes in the tenant. */
static void rows_beside(unsigned int processes, const char *path, const struct driver *driver,
			const struct driver *shim)
{
	char name[64];

	snprintf(name, sizeof name, "growing, %u process%s", processes, processes > 1 ? "es" : "");
	if (!wanted(name) && !wanted("cuMemGetInfo"))
		return;
	while (others + 1 < processes)
		start_other(path);
	calls_most = GROWN_MOST / (batches + 4);
	row(name, grow, driver, shim);
	shrink(driver);
	shrink(shim);
	calls_most = 1u << 23;
	snprintf(name, sizeof name, "cuMemGetInfo, %u process%s", processes, processes > 1 ? "es" : "");
	row(name, info, driver, shim);
}

/* With so many allocations that live. */
static int row_live(const struct driver *driver, const struct driver *shim)
{
	CUdeviceptr *on_driver, *on_shim;

	if (!wanted("alloc + free, 50 000 live"))
		return 0;
	on_driver = live(driver, LIVE);
	on_shim = live(shim, LIVE);
	row("alloc + free, 50 000 live", alloc_free, driver, shim);
	for (unsigned int i = 0; i < LIVE; i++)
		if (driver->free(on_driver[i]) || shim->free(on_shim[i]))
			return 1;
	free(on_driver);
	free(on_shim);
	return 0;
}

int main(int argc, char **argv)
{
	struct driver driver, shim;
	CUcontext context;

	if (argc < 2) {
		fprintf(stderr, "usage: calls DRIVER [BATCHES [ROW]]; bench/run starts it under mete\n");
		return 2;
	}
	if (argc > 2 && !strcmp(argv[2], "hold"))
		return hold();
	if (argc > 2)
		batches = (unsigned int)atoi(argv[2]);
	only = argc > 3 ? argv[3] : NULL;
	if (batches < 3 || batches > BATCHES_MOST)
		return 2;
	driver = driver_open(argv[1]);
	shim = driver_open("libcuda.so.1");
	if (driver.alloc == shim.alloc) {
		fprintf(stderr, "calls: the shim is not loaded; start this under mete\n");
		return 1;
	}
	if (driver.init(0) || driver.retain(&context, 0) || driver.set_current(context) || shim.init(0) ||
	    shim.retain(&context, 0) || shim.set_current(context)) {
		fprintf(stderr, "calls: the device cannot be used\n");
		return 1;
	}
	if (driver.alloc(&copy_to, COPY_BYTES))
		return 1;
	row("launch", launch, &driver, &shim);
	row("copy", copy, &driver, &shim);
	row("pass-through call", pass, &driver, &shim);
	row("alloc + free, 0 live", alloc_free, &driver, &shim);
	if (row_live(&driver, &shim))
		return 1;
	grower = &shim;
	grown[0] = calloc(GROWN_MOST, sizeof *grown[0]);
	grown[1] = calloc(GROWN_MOST, sizeof *grown[1]);
	rows_beside(1, argv[1], &driver, &shim);
	rows_beside(2, argv[1], &driver, &shim);
	rows_beside(OTHERS_MOST + 1, argv[1], &driver, &shim);
	stop_others();
	row("cuGetProcAddress", find, &driver, &shim);
	find_page();
	if (!page) {
		fprintf(stderr, "calls: no page of meted among the mappings\n");
		return 1;
	}
	limited_row("launch, limited", launch, &shim);
	limited_row("copy, limited", copy, &shim);
	limited_row("copies in flight, limited", copy_async, &shim);
	return 0;
}
