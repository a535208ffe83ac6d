/*
 * chrome.c: see chrome.h.
 *
 * The format: "Trace Event Format", the public description by its authors; ts and dur are microseconds, here with three
 * decimals. What began before the trace is cut to its beginning.
 */
#include "cli/chrome.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define ARROWS_MAX 50000u /* of more launches only those that waited get an arrow */

enum track { TRACK_TURNS, TRACK_BUSY, TRACK_WAITS, TRACKS };

struct writer {
	FILE *file;
	const struct recording *r;
	int device; /* -1: all */
	bool any;   /* a comma goes first */
	uint64_t arrows;
};

static bool shown(const struct writer *w, unsigned int device)
{
	return w->device < 0 || (unsigned int)w->device == device;
}

/* A text as JSON has it, quotes included. */
static void write_text(struct writer *w, const char *text)
{
	json_t *json = json_string(text);
	char *quoted = json ? json_dumps(json, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

	fputs(quoted ? quoted : "\"?\"", w->file);
	free(quoted);
	json_decref(json);
}

static void write_us(struct writer *w, const char *key, int64_t ns)
{
	fprintf(w->file, ",\"%s\":%s%" PRId64 ".%03d", key, ns < 0 ? "-" : "", ns < 0 ? -ns / 1000 : ns / 1000,
		(int)(ns < 0 ? -ns % 1000 : ns % 1000));
}

/* Begins an event; the caller goes on with further fields and ends it with "}". */
static void begin(struct writer *w, char kind, int64_t pid, int64_t tid, const char *name)
{
	fprintf(w->file, "%s\n{\"ph\":\"%c\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"name\":", w->any ? "," : "",
		kind, pid, tid);
	write_text(w, name);
	w->any = true;
}

/* Begins a slice; what lies before the trace is cut off. The caller writes the arguments and ends with "}}". */
static void begin_slice(struct writer *w, int64_t pid, int64_t tid, const char *name, const char *category,
			int64_t from, int64_t to)
{
	if (from < 0)
		from = 0;
	if (to < from)
		to = from;
	begin(w, 'X', pid, tid, name);
	fprintf(w->file, ",\"cat\":\"%s\"", category);
	write_us(w, "ts", from);
	write_us(w, "dur", to - from);
	fputs(",\"args\":{", w->file);
}

__attribute__((format(printf, 5, 6))) static void write_meta(struct writer *w, int64_t pid, int64_t tid,
							     const char *what, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	begin(w, 'M', pid, tid, what);
	fputs(",\"args\":{\"name\":", w->file);
	write_text(w, text);
	fputs("}}", w->file);
}

static void write_order(struct writer *w, int64_t pid, int64_t tid, const char *what, int64_t order)
{
	begin(w, 'M', pid, tid, what);
	fprintf(w->file, ",\"args\":{\"sort_index\":%" PRId64 "}}", order);
}

/* Devices: turns, busy, waiting. */

static int64_t device_pid(unsigned int device)
{
	return CHROME_DEVICE_PID + (int64_t)device;
}

static int64_t device_tid(uint32_t tenant, unsigned int engine, enum track track)
{
	return 1 + ((int64_t)tenant * RECORDING_ENGINES + engine) * TRACKS + track;
}

static const char *tenant_name(const struct writer *w, uint32_t tenant)
{
	return recording_text(w->r->tenants, tenant, "name");
}

static void write_devices(struct writer *w)
{
	json_t *device;
	size_t i;

	json_array_foreach(w->r->devices, i, device)
	{
		unsigned int number = (unsigned int)i;

		if (!shown(w, number))
			continue;
		write_meta(w, device_pid(number), 0, "process_name", "device %d: %s",
			   (int)recording_number(w->r->devices, number, "index"),
			   recording_text(w->r->devices, number, "name"));
		write_order(w, device_pid(number), 0, "process_sort_index", (int64_t)i);
	}
}

/* Names a track before its first event. `last` is the one named before. */
static int64_t name_track(struct writer *w, unsigned int device, uint32_t tenant, unsigned int engine, enum track track,
			  int64_t last)
{
	static const char *const words[] = {
		[TRACK_TURNS] = "turns", [TRACK_BUSY] = "busy", [TRACK_WAITS] = "waiting"
	};
	int64_t tid = device_tid(tenant, engine, track), key = (int64_t)device << 40 | tid;

	if (key == last)
		return key;
	write_meta(w, device_pid(device), tid, "thread_name", "%s: %s%s", tenant_name(w, tenant), engine ? "copy " : "",
		   words[track]);
	write_order(w, device_pid(device), tid, "thread_sort_index", tid);
	return key;
}

static int compare_turns(const void *a, const void *b)
{
	const struct turn_event *x = *(const struct turn_event *const *)a, *y = *(const struct turn_event *const *)b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->tenant != y->tenant)
		return x->tenant < y->tenant ? -1 : 1;
	if (x->engine != y->engine)
		return x->engine < y->engine ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool same_turns(const struct turn_event *a, const struct turn_event *b)
{
	return a->device == b->device && a->tenant == b->tenant && a->engine == b->engine;
}

static void write_turn(struct writer *w, const struct turn_event *opened, const struct turn_event *last,
		       const struct turn_event *closed, unsigned int prolonged)
{
	bool ended = closed && !closed->open;

	begin_slice(w, device_pid(opened->device), device_tid(opened->tenant, opened->engine, TRACK_TURNS),
		    tenant_name(w, opened->tenant), "turn", opened->at, ended ? closed->at : recording_length(w->r));
	fprintf(w->file, "\"reason\":\"%s\",\"ended\":\"%s\",\"lag_us\":%" PRId64, opened->reason,
		ended ? closed->reason : "with the trace", opened->lag / 1000);
	if (ended)
		fprintf(w->file, ",\"lag_after_us\":%" PRId64, closed->lag / 1000);
	if (last->until_set)
		fprintf(w->file, ",\"planned_us\":%" PRId64, (last->until - opened->at) / 1000);
	fprintf(w->file, ",\"bound_us\":%" PRId64 ",\"prolonged\":%u}}", opened->bound / 1000, prolonged);
}

static void write_lag(struct writer *w, const struct turn_event *t)
{
	char name[128];

	snprintf(name, sizeof(name), "lag of %s%s", tenant_name(w, t->tenant), t->engine ? " (copies)" : "");
	begin(w, 'C', device_pid(t->device), 0, name);
	write_us(w, "ts", t->at < 0 ? 0 : t->at);
	fprintf(w->file, ",\"args\":{\"us\":%" PRId64 "}}", t->lag / 1000);
}

static void write_turns(struct writer *w)
{
	const struct turn_event **turn = calloc(w->r->turns + 1, sizeof(*turn)), *opened = NULL, *last = NULL;
	unsigned int prolonged = 0;
	int64_t track = -1;

	if (!turn)
		return;
	for (size_t i = 0; i < w->r->turns; i++)
		turn[i] = &w->r->turn[i];
	qsort(turn, w->r->turns, sizeof(*turn), compare_turns);
	for (size_t i = 0; i < w->r->turns; i++) {
		const struct turn_event *t = turn[i];

		if (!shown(w, t->device))
			continue;
		if (opened && !same_turns(opened, t)) {
			write_turn(w, opened, last, NULL, prolonged);
			opened = NULL;
		}
		track = name_track(w, t->device, t->tenant, t->engine, TRACK_TURNS, track);
		write_lag(w, t);
		if (t->open && !opened) {
			opened = last = t;
			prolonged = 0;
		} else if (t->open) {
			last = t;
			prolonged++;
		} else if (opened) {
			write_turn(w, opened, last, t, prolonged);
			opened = NULL;
		}
	}
	if (opened)
		write_turn(w, opened, last, NULL, prolonged);
	free(turn);
}

static void write_spans(struct writer *w, struct span *take_span, size_t count, enum track track)
{
	int64_t named = -1;

	for (size_t i = 0; i < count; i++) {
		const struct span *s = &take_span[i];

		if (!shown(w, s->device))
			continue;
		named = name_track(w, s->device, s->who, s->engine, track, named);
		begin_slice(w, device_pid(s->device), device_tid(s->who, s->engine, track), tenant_name(w, s->who),
			    track == TRACK_BUSY ? "busy" : "wait", s->begin, s->end);
		fputs("}}", w->file);
	}
	free(take_span);
}

/* Clients: calls by thread, runs by stream. */

static int64_t client_pid(const struct writer *w, uint32_t client)
{
	return recording_number(w->r->clients, client, "pid");
}

static void write_clients(struct writer *w)
{
	json_t *client;
	size_t i;

	json_array_foreach(w->r->clients, i, client)
	{
		uint32_t number = (uint32_t)i;

		write_meta(w, client_pid(w, number), 0, "process_name", "%s: %s",
			   tenant_name(w, recording_tenant(w->r, number)),
			   recording_text(w->r->clients, number, "command"));
		write_order(w, client_pid(w, number), 0, "process_sort_index", 100 + (int64_t)i);
	}
}

static int by_thread(const void *a, const void *b)
{
	const struct launch *x = *(const struct launch *const *)a, *y = *(const struct launch *const *)b;

	if (x->client != y->client)
		return x->client < y->client ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->submitted < y->submitted ? -1 : x->submitted > y->submitted;
}

static int by_stream(const void *a, const void *b)
{
	const struct launch *x = *(const struct launch *const *)a, *y = *(const struct launch *const *)b;

	if (x->client != y->client)
		return x->client < y->client ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->passed < y->passed ? -1 : x->passed > y->passed;
}

static int64_t thread_tid(const struct writer *w, const struct launch *l)
{
	return l->thread ? (int64_t)l->thread : client_pid(w, l->client);
}

static void write_about(struct writer *w, const struct launch *l)
{
	fprintf(w->file, "\"device\":%d,\"stream\":\"%" PRIu64 "\",\"%s\":%" PRIu64 ",",
		(int)recording_number(w->r->devices, l->device, "index"), l->stream, l->engine ? "bytes" : "threads",
		l->amount);
	if (l->predicted)
		fprintf(w->file, "\"predicted_us\":%" PRId64 ".%03d,", l->predicted / 1000, (int)(l->predicted % 1000));
	fprintf(w->file, "\"waited_us\":%" PRId64, (l->passed - l->submitted) / 1000);
}

static bool has_arrow(const struct writer *w, const struct launch *l)
{
	return w->r->launches <= ARROWS_MAX || l->passed - l->submitted >= WAIT_NS;
}

/* The number of the arrow of a launch is its place in the recording. */
static void write_arrow(struct writer *w, char end, const struct launch *l, int64_t tid, int64_t at)
{
	if (!has_arrow(w, l))
		return;
	begin(w, end, client_pid(w, l->client), tid, "launch");
	fprintf(w->file, ",\"cat\":\"launch\",\"id\":%zu%s", (size_t)(l - w->r->launch) + 1,
		end == 'f' ? ",\"bp\":\"e\"" : "");
	write_us(w, "ts", at < 0 ? 0 : at);
	fputs("}", w->file);
}

/* A thread makes one call at a time: where a record says otherwise, the call begins when the one before has ended. */
static void write_calls(struct writer *w, const struct launch **launch, size_t count)
{
	const struct launch *last = NULL;
	int64_t free_at = 0;

	qsort(launch, count, sizeof(*launch), by_thread);
	for (size_t i = 0; i < count; i++) {
		const struct launch *l = launch[i];
		int64_t tid = thread_tid(w, l), from = l->submitted;

		if (!last || last->client != l->client || last->thread != l->thread) {
			free_at = 0;
			write_meta(w, client_pid(w, l->client), tid, "thread_name", "thread %" PRId64 ": calls", tid);
			write_order(w, client_pid(w, l->client), tid, "thread_sort_index", 1);
		}
		last = l;
		if (from < free_at)
			from = free_at;
		begin_slice(w, client_pid(w, l->client), tid, recording_name(w->r, l->name), "call", from, l->passed);
		write_about(w, l);
		fputs("}}", w->file);
		write_arrow(w, 's', l, tid, from);
		free_at = l->passed > from ? l->passed : from;
	}
}

/* The first of a client's measured intervals on an engine that ends after `at`. NULL: none. */
static const struct span *find_busy(const struct span *busy, size_t count, const struct launch *l, int64_t at)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct span *s = &busy[middle];
		bool before = s->who != l->client      ? s->who < l->client
			      : s->device != l->device ? s->device < l->device
			      : s->engine != l->engine ? s->engine < l->engine
						       : s->end <= at;

		if (before)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == count || busy[low].who != l->client || busy[low].device != l->device ||
	    busy[low].engine != l->engine)
		return NULL;
	return &busy[low];
}

/*
 * Where a launch ran: not before it passed the gate, not before the one before it in its stream had ended, and within
 * the busy interval that it passed into, for such an interval lasts until nothing of the process is in flight. What has
 * no prediction ran alone: until the interval's end.
 */
static void find_run(const struct recording *r, const struct launch *l, const struct span *busy, size_t count,
		     int64_t *from, int64_t *to)
{
	const struct span *s = find_busy(busy, count, l, l->passed);
	int64_t most = s ? s->end : recording_length(r), least = *from;

	*from = l->passed > least ? l->passed : least;
	if (s && s->begin > *from)
		*from = s->begin;
	if (*from > most)
		*from = most > least ? most : least;
	*to = l->predicted ? *from + l->predicted : s ? s->end : *from;
	if (*to > most)
		*to = most;
	if (*to < *from)
		*to = *from;
}

static void write_runs(struct writer *w, const struct launch **launch, size_t count)
{
	const struct launch *last = NULL;
	size_t spans;
	struct span *busy = recording_busy(w->r, false, &spans);
	int64_t tid = CHROME_STREAM_TID - 1, from = 0, to = 0;

	qsort(launch, count, sizeof(*launch), by_stream);
	for (size_t i = 0; i < count; i++) {
		const struct launch *l = launch[i];

		from = to;
		if (!last || last->client != l->client || last->stream != l->stream) {
			from = 0;
			tid++;
			write_meta(w, client_pid(w, l->client), tid, "thread_name",
				   "stream %" PRIu64 ": runs, as predicted", l->stream);
			write_order(w, client_pid(w, l->client), tid, "thread_sort_index", 2);
		}
		last = l;
		find_run(w->r, l, busy, spans, &from, &to);
		begin_slice(w, client_pid(w, l->client), tid, recording_name(w->r, l->name), "run", from, to);
		write_about(w, l);
		fputs("}}", w->file);
		write_arrow(w, 'f', l, tid, from);
	}
	free(busy);
}

static void write_launches(struct writer *w)
{
	const struct launch **launch = calloc(w->r->launches + 1, sizeof(*launch));
	size_t count = 0;

	if (!launch)
		return;
	/* What came while the last lines were on their way is of the time behind the trace. */
	for (size_t i = 0; i < w->r->launches; i++)
		if (shown(w, w->r->launch[i].device) && w->r->launch[i].passed <= recording_length(w->r))
			launch[count++] = &w->r->launch[i];
	write_calls(w, launch, count);
	write_runs(w, launch, count);
	free(launch);
}

static void write_losses(struct writer *w)
{
	char text[160];

	if (!w->r->overwritten && !w->r->full)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " records lost", w->r->overwritten + w->r->full);
	begin(w, 'i', CHROME_DEVICE_PID, 0, text);
	fputs(",\"s\":\"g\"", w->file);
	write_us(w, "ts", recording_length(w->r));
	fputs("}", w->file);
}

void chrome_write(FILE *file, const struct recording *r, int device)
{
	struct writer w = { .file = file, .r = r, .device = device };
	json_t *about;
	size_t busy, waits;
	struct span *span;

	fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":", file);
	about = json_pack("{s:s s:f s:I s:I s:O}", "recorded by", "mete trace", "seconds",
			  (double)recording_length(r) / 1e9, "records overwritten", (json_int_t)r->overwritten,
			  "records without room", (json_int_t)r->full, "notes", r->notes);
	json_dumpf(about, file, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(about);
	fputs(",\"traceEvents\":[", file);
	write_devices(&w);
	write_clients(&w);
	write_turns(&w);
	span = recording_busy(r, true, &busy);
	write_spans(&w, span, busy, TRACK_BUSY);
	span = recording_waits(r, &waits);
	write_spans(&w, span, waits, TRACK_WAITS);
	write_launches(&w);
	write_losses(&w);
	fputs("\n]}\n", file);
}
