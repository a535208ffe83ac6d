/*
 * top.c: `mete top`: devices and tenants, what they asked for and what they get, as it changes.
 *
 * On a terminal a full screen (top_screen.c); else, and with --once, a table; with --json a document a line for every
 * interval. The drivers are asked rarely, meted every interval.
 */
#include "base/clock.h"
#include "verb/say.h"
#include "verb/table.h"
#include "cli/top_screen.h"
#include "cli/top_view.h"
#include "verb/verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Value: 0 or -EINVAL. */
static int read_number(const struct command_line *line, const char *option, double least, double most, double *value,
		       struct fault *f)
{
	const char *text = option_value(line, option);
	char *end;
	double number;

	if (!text)
		return 0;
	errno = 0;
	number = strtod(text, &end);
	if (end == text || *end || errno || !(number >= least && number <= most))
		return fault_set(f, -EINVAL, "--%s %s: must be a number from %g to %g", option, text, least, most);
	*value = number;
	return 0;
}

static void print_devices(const struct top_view *view, bool wide)
{
	static const char *const heads[] = { "DEV", "NAME", ">MEMORY", ">GUARANTEED", ">BUSY", "WHO", NULL };
	static const unsigned char ranks[] = { 0, 0, 0, 1, 0, 0 };
	struct table t;

	table_begin(&t, heads);
	if (!wide)
		table_fit(&t, ranks);
	for (size_t i = 0; i < view->device_count; i++) {
		const struct top_device *d = &view->device[i];

		table_cell(&t, "%s", d->index);
		table_cell(&t, "%s", d->name);
		table_cell(&t, "%s", d->memory);
		table_cell(&t, "%s", d->guaranteed);
		table_cell(&t, "%s", d->busy);
		table_cell(&t, "%s", d->who);
	}
	table_end(&t);
}

/* A table has no history: it is one reading. */
static void print_tenants(const struct top_view *view, bool wide)
{
	char head[TOP_COLUMNS][16];
	const char *heads[TOP_COLUMNS + 1] = { NULL };
	unsigned char ranks[TOP_COLUMNS];
	enum top_column column[TOP_COLUMNS];
	unsigned int count = 0;
	struct table t;

	for (unsigned int c = 0; c < TOP_COLUMNS; c++) {
		if (c == TOP_HISTORY)
			continue;
		snprintf(head[c], sizeof(head[c]), "%s%s", top_heads[c].number ? ">" : "", top_heads[c].name);
		heads[count] = head[c];
		ranks[count] = top_heads[c].dropped;
		column[count++] = c;
	}
	table_begin(&t, heads);
	if (!wide)
		table_fit(&t, ranks);
	for (size_t i = 0; i < view->row_count; i++)
		for (unsigned int c = 0; c < count; c++)
			table_cell(&t, "%s", view->row[i].text[column[c]]);
	table_end(&t);
}

static void print_document(const struct top_view *view)
{
	struct timespec now;
	json_t *document;

	clock_gettime(CLOCK_REALTIME, &now);
	document = json_pack("{s:f, s:O, s:O}", "time", (double)now.tv_sec + (double)now.tv_nsec / 1e9, "devices",
			     view->devices, "grants", view->grants);
	json_dumpf(document, stdout, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
	putchar('\n');
	json_decref(document);
}

static void sleep_until(uint64_t ns)
{
	struct timespec until = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Prints `count` tables or documents; 0: until it is ended. */
static int print_all(struct top_view *view, struct control *control, const struct top_pace *pace,
		     const struct command_line *line, struct fault *f)
{
	static const struct top_choice all = { .by = TOP_NAME };
	bool json = option_given(line, "json"), wide = option_given(line, "wide");
	uint64_t next_ns = clock_now_ns(), asked_ns = 0;
	int r;

	for (unsigned long n = 0; !pace->count || n < pace->count; n++) {
		bool machine = !n || clock_now_ns() - asked_ns > TOP_MACHINE_NS;

		if (n)
			sleep_until(next_ns);
		if (machine)
			asked_ns = clock_now_ns();
		r = top_fetch(view, control, machine, f);
		if (r)
			return r;
		if (json) {
			print_document(view);
		} else {
			top_arrange(view, &all);
			print_devices(view, wide);
			putchar('\n');
			print_tenants(view, wide);
		}
		if (fflush(stdout))
			return 0; /* main() sees it */
		next_ns += pace->interval_ns;
	}
	return 0;
}

static bool screen_wanted(const struct command_line *line)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && !option_given(line, "once") &&
	       !option_given(line, "json") && term && *term && strcmp(term, "dumb");
}

VERB(top)
{
	struct control control = CONTROL_CLOSED;
	struct top_view view = TOP_VIEW_NONE;
	bool json = option_given(line, "json"), screen = screen_wanted(line);
	double seconds = 1, count = json || screen ? 0 : 1;
	struct top_pace pace;
	struct fault f;
	int r;

	if (read_number(line, "delay", 0.1, 3600, &seconds, &f) || read_number(line, "count", 1, 1e9, &count, &f)) {
		say_error("%s", f.text);
		return EXIT_USAGE;
	}
	pace.interval_ns = (uint64_t)(seconds * 1e9);
	pace.count = option_given(line, "once") ? 1 : (unsigned long)count;
	r = screen ? top_screen(&view, &control, &pace, &f) : print_all(&view, &control, &pace, line, &f);
	top_view_free(&view);
	control_close(&control);
	if (!r)
		return EXIT_DONE;
	say_error("%s", f.text);
	return EXIT_FAILED;
}
