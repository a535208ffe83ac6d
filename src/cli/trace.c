/*
 * trace.c: `mete trace`: records launches and turns for a while and writes them as a file for Perfetto.
 *
 * meted records into a queue of bounded length; here it is emptied as fast as it fills. The file is written at the end,
 * beside the one that is asked for, and then takes its name: what stood there stays until there is something better. An
 * interrupt ends the recording, not the file; a second one gives up what meted still has.
 */
#include "base/clock.h"
#include "verb/choose.h"
#include "cli/chrome.h"
#include "client/grants.h"
#include "cli/recording.h"
#include "verb/say.h"
#include "verb/table.h"
#include "verb/verb.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOR_DEFAULT "10s"
#define SECONDS_MAX 3600
#define FILE_DEFAULT "mete-trace.json"
#define SHOW_NS UINT64_C(200000000)

static volatile sig_atomic_t interrupts;

static void on_interrupt(int number)
{
	(void)number;
	interrupts++;
}

struct output {
	const char *path;
	char *beside; /* what is written, before it takes the name; NULL: the file itself */
	FILE *file;
};

/* "10s", "500ms", "2m", "10". Value: 0 or -EINVAL. */
static int read_length(const char *text, double *ret_seconds, struct fault *f)
{
	char *unit;
	double number, scale = 0;

	number = strtod(text, &unit);
	if (unit != text)
		scale = !*unit || !strcmp(unit, "s") ? 1 : !strcmp(unit, "ms") ? 1e-3 : !strcmp(unit, "m") ? 60 : 0;
	if (scale == 0 || !(number * scale > 0 && number * scale <= SECONDS_MAX))
		return fault_set(f, -EINVAL, "--for %s: must be a time such as 500ms, 10s or 2m, %d s at most", text,
				 SECONDS_MAX);
	*ret_seconds = number * scale;
	return 0;
}

/* Opened before anything is recorded, so that a folder that cannot be written to costs nobody ten seconds. */
static int output_open(struct output *o, const char *path, struct fault *f)
{
	struct stat st;

	*o = (struct output){ .path = path };
	if (!strcmp(path, "-")) {
		o->file = stdout;
		return 0;
	}
	if ((stat(path, &st) || S_ISREG(st.st_mode)) && asprintf(&o->beside, "%s.new", path) < 0)
		o->beside = NULL;
	o->file = fopen(o->beside ? o->beside : path, "we");
	if (o->file)
		return 0;
	return fault_set(f, -errno, "%s: cannot be written: %s; name another with --output", path, strerror(errno));
}

/* Value: 0, or why what was written is not there. */
static int output_close(struct output *o, struct fault *f)
{
	bool bad;
	int r = 0;

	bad = fflush(o->file) || ferror(o->file);
	if (o->file != stdout)
		bad |= fclose(o->file) != 0;
	o->file = NULL;
	if (bad || (o->beside && rename(o->beside, o->path)))
		r = fault_set(f, errno ? -errno : -EIO, "%s: cannot be written: %s; free space or write elsewhere",
			      o->path, strerror(errno));
	if (r && o->beside)
		unlink(o->beside);
	free(o->beside);
	o->beside = NULL;
	return r;
}

static void output_discard(struct output *o)
{
	if (o->file && o->file != stdout)
		fclose(o->file);
	if (o->beside)
		unlink(o->beside);
	free(o->beside);
	*o = (struct output){ 0 };
}

/* Turns that were given. */
static size_t turns_of(const struct recording *r)
{
	size_t turns = 0;

	for (size_t i = 0; i < r->turns; i++)
		turns += r->turn[i].open;
	return turns;
}

/* A line on the terminal that is written over and over. */
static void show_progress(const struct recording *r, double seconds, uint64_t *shown_ns)
{
	uint64_t now = clock_now_ns();

	if (!isatty(STDERR_FILENO) || (*shown_ns && now - *shown_ns < SHOW_NS))
		return;
	*shown_ns = now;
	fprintf(stderr, "\rmete: recording: %.1f of %g s, %zu launches, %zu turns; ^C ends it  ",
		(double)((int64_t)now - r->begin_ns) / 1e9, seconds, r->launches, turns_of(r));
}

static void end_progress(uint64_t shown_ns)
{
	if (shown_ns)
		fputs("\r\033[K", stderr);
}

static int start(struct control *control, const struct command_line *line, double seconds, json_int_t *ret_id,
		 struct recording *r, struct fault *f)
{
	json_t *names = json_array(), *answer;
	json_int_t left_out;
	int k;

	for (int i = 0; i < line->arg_count; i++)
		json_array_append_new(names, json_string(line->args[i]));
	k = control_ask_again(control, CONTROL_STORED,
			      json_pack("{s:s, s:o, s:f}", "op", "trace_start", "grants", names, "seconds", seconds),
			      &answer, NULL, f);
	if (k)
		return k;
	*ret_id = json_integer_value(json_object_get(answer, "trace"));
	left_out = json_integer_value(json_object_get(answer, "left_out"));
	if (left_out)
		say_note("%lld grant%s of others %s left out", (long long)left_out, left_out == 1 ? "" : "s",
			 left_out == 1 ? "is" : "are");
	k = !recording_init(r, json_integer_value(json_object_get(answer, "begin_ns")));
	json_decref(answer);
	return k ? fault_set(f, -ENOMEM, "no memory for a trace; end other programs") : 0;
}

/* Reads until meted has no more. Value: as control_ask(); what was read until then is kept. */
static int record(struct control *control, json_int_t id, double seconds, struct recording *r, struct fault *f)
{
	static const struct timespec pause = { .tv_nsec = 20000000 };
	uint64_t shown_ns = 0;
	bool stopped = false;
	json_t *answer;
	int k = 0;

	while (!r->done && !k && !(interrupts > 1)) {
		if (interrupts && !stopped) {
			k = control_ask(control, json_pack("{s:s, s:I}", "op", "trace_stop", "trace", id), &answer,
					NULL, f);
			if (k)
				break;
			json_decref(answer);
			stopped = true;
		}
		k = control_ask(control, json_pack("{s:s, s:I}", "op", "trace_read", "trace", id), &answer, NULL, f);
		if (k)
			break;
		if (!recording_take(r, answer) && !r->done)
			nanosleep(&pause, NULL);
		json_decref(answer);
		show_progress(r, seconds, &shown_ns);
	}
	end_progress(shown_ns);
	if (!r->done) /* it was cut off: as far as meted got */
		r->end_ns = (int64_t)clock_now_ns();
	return k;
}

static int64_t spans_of(const struct span *span, size_t count, uint32_t tenant)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (span[i].who == tenant && span[i].engine == 0)
			sum += span[i].end - (span[i].begin < 0 ? 0 : span[i].begin);
	return sum;
}

static void count_of(const struct recording *r, uint32_t tenant, size_t *launches, size_t *turns)
{
	*launches = *turns = 0;
	for (size_t i = 0; i < r->launches; i++)
		*launches += recording_tenant(r, r->launch[i].client) == tenant;
	for (size_t i = 0; i < r->turns; i++)
		*turns += r->turn[i].tenant == tenant && r->turn[i].open;
}

static void print_tenants(const struct recording *r)
{
	static const char *const heads[] = { "NAME", ">LAUNCHES", ">TURNS", ">BUSY", ">WAITING", NULL };
	double length = (double)recording_length(r) / 100;
	size_t busy_count, wait_count, launches, turns;
	struct span *busy = recording_busy(r, true, &busy_count), *wait = recording_waits(r, &wait_count);
	struct table t;

	table_begin(&t, heads);
	for (uint32_t i = 0; i < json_array_size(r->tenants); i++) {
		count_of(r, i, &launches, &turns);
		table_cell(&t, "%s", recording_text(r->tenants, i, "name"));
		table_cell(&t, "%zu", launches);
		table_cell(&t, "%zu", turns);
		table_cell(&t, "%.1f%%", length > 0 ? (double)spans_of(busy, busy_count, i) / length : 0);
		table_cell(&t, "%.1f%%", length > 0 ? (double)spans_of(wait, wait_count, i) / length : 0);
	}
	table_end(&t);
	free(busy);
	free(wait);
}

static void print_longest(const struct recording *r)
{
	const struct launch *longest = NULL, *waited = NULL;

	for (size_t i = 0; i < r->launches; i++) {
		const struct launch *l = &r->launch[i];

		if (l->predicted && (!longest || l->predicted > longest->predicted))
			longest = l;
		if (!waited || l->passed - l->submitted > waited->passed - waited->submitted)
			waited = l;
	}
	if (longest)
		printf("longest launch: %s of %s, %.3f ms as predicted\n", recording_name(r, longest->name),
		       recording_text(r->tenants, recording_tenant(r, longest->client), "name"),
		       (double)longest->predicted / 1e6);
	if (waited && waited->passed - waited->submitted >= WAIT_NS)
		printf("longest wait: %s of %s, %.3f ms at the gate\n", recording_name(r, waited->name),
		       recording_text(r->tenants, recording_tenant(r, waited->client), "name"),
		       (double)(waited->passed - waited->submitted) / 1e6);
}

static void print_losses(const struct recording *r)
{
	json_t *text;
	size_t i;

	json_array_foreach(r->notes, i, text) say_warning("%s", json_string_value(text));
	if (r->overwritten)
		say_warning("%" PRIu64
			    " launches were overwritten before meted read them; the machine is too busy, or the "
			    "trace too wide: name fewer grants",
			    r->overwritten);
	if (r->full)
		say_warning("%" PRIu64 " records found no room in meted before they were read here", r->full);
	if (r->nonsense)
		say_warning("%" PRIu64 " lines of meted made no sense; use a meted of this version", r->nonsense);
	if (r->no_memory)
		say_warning("not all fits into memory here; record for a shorter time");
}

static void print_summary(const struct recording *r, const char *path)
{
	if (strcmp(path, "-")) {
		printf("%s: %.1f s, %zu launches, %zu turns\n", path, (double)recording_length(r) / 1e9, r->launches,
		       turns_of(r));
		if (json_array_size(r->tenants))
			print_tenants(r);
		print_longest(r);
		puts("Open it in Perfetto (ui.perfetto.dev, \"Open trace file\") or chrome://tracing.");
	}
	fflush(stdout);
	print_losses(r);
}

/* The device's number in the recording; -1: all. */
static int choose_device(const struct recording *r, const char *word, int *ret, struct fault *f)
{
	json_t *device;
	int k;

	*ret = -1;
	if (!word)
		return 0;
	k = device_named(r->devices, word, false, &device, f);
	if (k == -ENODEV)
		return fault_set(f, -ENODEV,
				 "--device %s: no traced grant is on such a device; `mete top` shows who is where",
				 word);
	*ret = k ? -1 : (int)device_number(device, "id");
	return k;
}

static int trace(struct control *control, const struct command_line *line, double seconds, struct output *out,
		 struct fault *f)
{
	struct recording r = { 0 };
	struct fault late;
	json_int_t id;
	int k, device, cut;

	k = start(control, line, seconds, &id, &r, f);
	if (!k && !isatty(STDERR_FILENO))
		say_note("recording for %g s; an interrupt ends it", seconds);
	cut = k ? 0 : record(control, id, seconds, &r, &late);
	if (!k)
		k = choose_device(&r, option_value(line, "device"), &device, f);
	if (!k) {
		chrome_write(out->file, &r, device);
		k = output_close(out, f);
	}
	if (!k)
		print_summary(&r, out->path);
	if (!k && cut) {
		*f = late;
		k = cut;
	}
	recording_deinit(&r);
	return k;
}

VERB(trace)
{
	const char *length = option_value(line, "for"), *path = option_value(line, "output");
	struct sigaction action = { .sa_handler = on_interrupt };
	struct control control = CONTROL_CLOSED;
	struct output out;
	struct fault f;
	double seconds = 0;
	int k;

	k = read_length(length ? length : FOR_DEFAULT, &seconds, &f);
	for (int i = 0; !k && i < line->arg_count; i++)
		k = grant_name_check(line->args[i], &f);
	if (k) {
		say_error("%s", f.text);
		return EXIT_USAGE;
	}
	k = output_open(&out, path ? path : FILE_DEFAULT, &f);
	if (!k) {
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		k = trace(&control, line, seconds, &out, &f);
	}
	output_discard(&out);
	control_close(&control);
	if (!k)
		return EXIT_DONE;
	say_error("%s", f.text);
	return EXIT_FAILED;
}
