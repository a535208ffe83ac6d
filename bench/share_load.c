/*
 * share_load.c: a tenant of bench/shares: kernels of given lengths, submitted in a given manner.
 *
 *   share_load REPORT TIMES OPTION=VALUE...
 *   share_load calibrate           rounds of a spin kernel per microsecond, on a GPU that nobody else uses
 *
 *   mode=MODE       async: so many launches in flight (window=16); sync: one at a time, each waited for; graph:
 *                   launches of a chain of nodes=4 kernels, two in flight; request: see every
 *   kernel=200us    its length; several with weights: 200us*9,5ms*1, drawn at random, the same ones in each run
 *   window=16       launches in flight
 *   streams=1       taken by turns
 *   processes=1     that do the same, each with a context of its own
 *   burst=300,700   works for 300 ms, does nothing for 700; idle first with first=idle
 *   copy=65536      bytes copied to the device before each launch
 *   every=50        a request each 50 ms, give or take half of it: nodes=10 kernels, then waits for them
 *   grid=one        blocks of a launch: one, or full: as many as the device holds at once
 *   rounds=0        rounds of a spin kernel per microsecond; 0: the software device, which knows the lengths
 *
 * Waits for the start that the file TIMES names, ends at its end. Writes REPORT.0, REPORT.1 ..., one per process.
 */
#include "share_device.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WINDOW_MOST 256
#define STREAMS_MOST 16

enum mode { MODE_ASYNC, MODE_SYNC, MODE_GRAPH, MODE_REQUEST };

struct wish {
	enum mode mode;
	uint64_t length_ns[DEVICE_LENGTHS];
	unsigned weight[DEVICE_LENGTHS], lengths, weights;
	unsigned window, nodes, streams, processes;
	uint64_t on_ns, off_ns;
	bool idle_first;
	size_t copy_bytes;
	uint64_t every_ns;
	enum device_grid grid;
	double rounds_per_us;
};

/* A launch in flight. */
struct flight {
	CUevent event;
	uint64_t submitted_ns, length_ns; /* 0: none */
};

struct load {
	const struct wish *wish;
	struct report *report;
	const struct report_times *times;
	struct device device;
	struct device_kernel kernel[DEVICE_LENGTHS];
	CUgraphExec graph[DEVICE_LENGTHS];
	CUstream stream[STREAMS_MOST];
	struct flight flight[WINDOW_MOST];
	CUdeviceptr copy_to;
	void *copy_from;
	uint64_t next; /* launches so far */
	uint64_t draw; /* of the random numbers */
};

static void sleep_until(uint64_t at_ns)
{
	const struct timespec t = { (time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

static unsigned draw(struct load *l, unsigned below)
{
	l->draw = l->draw * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(l->draw >> 33) % below;
}

static unsigned draw_length(struct load *l)
{
	unsigned n = draw(l, l->wish->weights), i = 0;

	while (n >= l->wish->weight[i])
		n -= l->wish->weight[i++];
	return i;
}

static uint64_t until_ns(const struct load *l)
{
	return atomic_load_explicit(&l->times->until_ns, memory_order_relaxed);
}

/* Waits for the launch's end and writes it down. */
static void land(struct load *l, struct flight *f)
{
	if (!f->length_ns)
		return;
	MUST(cuEventSynchronize(f->event));
	report_add(l->report, REPORT_KERNEL, f->submitted_ns, device_time(&l->device, f->event), f->length_ns);
	f->length_ns = 0;
}

static void submit(struct load *l, struct flight *f)
{
	const unsigned which = draw_length(l);
	CUstream stream = l->stream[l->next++ % l->wish->streams];

	f->submitted_ns = now_ns();
	if (l->wish->copy_bytes)
		MUST(cuMemcpyHtoDAsync(l->copy_to, l->copy_from, l->wish->copy_bytes, stream));
	if (l->wish->mode == MODE_GRAPH)
		MUST(cuGraphLaunch(l->graph[which], stream));
	else
		device_launch(&l->kernel[which], stream);
	MUST(cuEventRecord(f->event, stream));
	f->length_ns = l->wish->length_ns[which] * (l->wish->mode == MODE_GRAPH ? l->wish->nodes : 1);
}

static void work_until(struct load *l, uint64_t end_ns)
{
	const uint64_t begin = now_ns();
	uint64_t i = 0;

	for (; now_ns() < end_ns; i++) {
		struct flight *f = &l->flight[i % l->wish->window];

		land(l, f);
		submit(l, f);
	}
	/* From here on it wants no more, though some is still in flight. */
	report_add(l->report, REPORT_DEMAND, begin, end_ns, 0);
	for (unsigned k = 0; k < l->wish->window; k++)
		land(l, &l->flight[(i + k) % l->wish->window]);
}

static void saturate(struct load *l, uint64_t start_ns)
{
	const struct wish *w = l->wish;
	bool idle = w->idle_first;

	if (!w->off_ns) {
		work_until(l, until_ns(l));
		return;
	}
	for (uint64_t at = start_ns; at < until_ns(l); idle = !idle) {
		uint64_t end = at + (idle ? w->off_ns : w->on_ns);

		if (end > until_ns(l))
			end = until_ns(l);
		if (!idle)
			work_until(l, end);
		else
			sleep_until(end);
		at = end;
	}
}

static void request(struct load *l, uint64_t start_ns)
{
	const struct wish *w = l->wish;
	struct flight *f = &l->flight[0];

	for (uint64_t at = start_ns; (at += w->every_ns / 2 + draw(l, (unsigned)w->every_ns)) < until_ns(l);) {
		uint64_t submitted, seen, ended;

		sleep_until(at);
		submitted = now_ns();
		for (unsigned i = 0; i < w->nodes; i++)
			device_launch(&l->kernel[draw_length(l)], l->stream[0]);
		MUST(cuEventRecord(f->event, l->stream[0]));
		MUST(cuEventSynchronize(f->event));
		seen = now_ns();
		ended = device_time(&l->device, f->event);
		report_add(l->report, REPORT_REQUEST, submitted, ended, seen);
		if (seen > at)
			at = seen;
	}
}

static void prepare(struct load *l)
{
	const struct wish *w = l->wish;

	device_open(&l->device, w->length_ns, w->lengths, w->rounds_per_us, w->grid, l->report);
	for (unsigned i = 0; i < w->lengths; i++) {
		device_kernel(&l->device, i, &l->kernel[i]);
		if (w->mode == MODE_GRAPH)
			l->graph[i] = device_graph(&l->kernel[i], w->nodes);
	}
	for (unsigned i = 0; i < w->streams; i++)
		MUST(cuStreamCreate(&l->stream[i], CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < w->window; i++)
		MUST(cuEventCreate(&l->flight[i].event, CU_EVENT_BLOCKING_SYNC));
	if (w->copy_bytes) {
		MUST(cuMemAlloc(&l->copy_to, w->copy_bytes));
		MUST(cuMemAllocHost(&l->copy_from, w->copy_bytes));
		memset(l->copy_from, 1, w->copy_bytes);
	}
}

static int run(const struct wish *w, const char *report, const char *times, unsigned index)
{
	static struct load l;
	uint64_t start;

	l.wish = w;
	l.draw = index + 1;
	l.report = report_open(report, index);
	l.times = report_times_open(times);
	prepare(&l);
	atomic_store(&l.report->ready, 1);
	while (!(start = atomic_load(&l.times->start_ns)))
		sleep_until(now_ns() + 2000000);
	sleep_until(start);
	if (w->mode == MODE_REQUEST)
		request(&l, start);
	else
		saturate(&l, start);
	MUST(cuCtxSynchronize());
	atomic_store(&l.report->ready, 2);
	return 0;
}

static uint64_t parse_time(const char *text, char **end)
{
	double v = strtod(text, end);

	if (!strncmp(*end, "us", 2))
		v *= 1e3;
	else if (!strncmp(*end, "ms", 2))
		v *= 1e6;
	else
		return 0;
	*end += 2;
	return (uint64_t)v;
}

static bool parse_kernels(struct wish *w, char *text)
{
	w->lengths = w->weights = 0;
	for (char *at = text;; at++) {
		const unsigned n = w->lengths;

		if (n == DEVICE_LENGTHS || !(w->length_ns[n] = parse_time(at, &at)))
			return false;
		w->weight[n] = *at == '*' ? (unsigned)strtoul(at + 1, &at, 10) : 1;
		w->weights += w->weight[n];
		w->lengths++;
		if (*at != ',')
			return !*at && w->weights;
	}
}

static bool parse_mode(struct wish *w, const char *text)
{
	static const char *const names[] = { "async", "sync", "graph", "request" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(text, names[i])) {
			w->mode = (enum mode)i;
			w->window = i == MODE_ASYNC ? 16 : i == MODE_GRAPH ? 2 : 1;
			w->nodes = i == MODE_GRAPH ? 4 : 10;
			return true;
		}
	return false;
}

static bool parse(struct wish *w, char *word)
{
	char *v = strchr(word, '='), *end = NULL;

	if (!v)
		return false;
	*v++ = 0;
	if (!strcmp(word, "mode"))
		return parse_mode(w, v);
	if (!strcmp(word, "kernel"))
		return parse_kernels(w, v);
	if (!strcmp(word, "first"))
		return w->idle_first = !strcmp(v, "idle");
	if (!strcmp(word, "window"))
		return (w->window = (unsigned)atoi(v)) - 1 < WINDOW_MOST;
	if (!strcmp(word, "nodes"))
		return (w->nodes = (unsigned)atoi(v)) > 0;
	if (!strcmp(word, "streams"))
		return (w->streams = (unsigned)atoi(v)) - 1 < STREAMS_MOST;
	if (!strcmp(word, "processes"))
		return (w->processes = (unsigned)atoi(v)) > 0;
	if (!strcmp(word, "copy"))
		return (w->copy_bytes = strtoull(v, NULL, 10)) > 0;
	if (!strcmp(word, "every"))
		return (w->every_ns = strtoull(v, NULL, 10) * 1000000) > 0;
	if (!strcmp(word, "grid")) {
		w->grid = strcmp(v, "full") ? GRID_ONE : GRID_FULL;
		return !strcmp(v, "full") || !strcmp(v, "one");
	}
	if (!strcmp(word, "rounds"))
		return (w->rounds_per_us = strtod(v, NULL)) >= 0;
	if (!strcmp(word, "burst")) {
		w->on_ns = strtoull(v, &end, 10) * 1000000;
		w->off_ns = *end == ',' ? strtoull(end + 1, NULL, 10) * 1000000 : 0;
		return w->on_ns && w->off_ns;
	}
	return false;
}

int main(int argc, char **argv)
{
	static struct wish w = { .streams = 1, .processes = 1, .window = 16, .nodes = 4 };
	unsigned index = 0;
	int status = 0, failed = 0;

	if (argc == 2 && !strcmp(argv[1], "calibrate")) {
		printf("%.6f\n", device_calibrate());
		return 0;
	}
	if (argc < 4) {
		fprintf(stderr, "share_load: share_load REPORT TIMES kernel=LENGTH [OPTION=VALUE...]\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		char word[200];

		snprintf(word, sizeof(word), "%s", argv[i]);
		if (!parse(&w, argv[i])) {
			fprintf(stderr, "share_load: %s is not understood\n", word);
			return 2;
		}
	}
	if (!w.lengths || (w.mode == MODE_REQUEST && !w.every_ns)) {
		fprintf(stderr, "share_load: kernel= is missing, or every= for requests\n");
		return 2;
	}
	/* Each process its own context: nothing is opened before the fork. */
	for (index = 1; index < w.processes; index++)
		if (!fork())
			return run(&w, argv[1], argv[2], index);
	failed = run(&w, argv[1], argv[2], 0);
	while (wait(&status) > 0)
		failed |= status;
	return failed ? 1 : 0;
}
