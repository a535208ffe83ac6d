/*
 * events.c: `mete events`: what happened on this node. An event is a line; on a terminal, a paragraph.
 */
#include "base/clean_text.h"
#include "verb/choose.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/output.h"
#include "cli/refusals.h"
#include "verb/say.h"
#include "verb/verb.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 500000000l
#define TEXT_COLUMN 30 /* behind the time and the kind */

static json_t *request(const struct command_line *line, json_int_t after)
{
	static const char *const words[] = { "tenant", "device", "kind" };
	const char *limit = option_value(line, "limit");
	json_t *r = json_pack("{s:s s:I}", "op", "events", "after", after);

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (option_given(line, words[i]))
			json_object_set_new(r, words[i], json_string(option_value(line, words[i])));
	if (limit && !after)
		json_object_set_new(r, "limit", json_integer(atoll(limit)));
	return r;
}

static const char *moment(json_int_t seconds, char text[32])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(text, 32, "%F %T", &tm))
		return "?";
	return text;
}

/* "device 0: " */
static void device_words(json_t *event, json_t *names, char *text, size_t size)
{
	const char *uuid = json_string_value(json_object_get(event, "device"));
	json_t *index = uuid ? json_object_get(names, uuid) : NULL;

	*text = 0;
	if (index)
		snprintf(text, size, "device %lld: ", (long long)json_integer_value(index));
	else if (uuid)
		snprintf(text, size, "device %s: ", uuid);
}

static void print_text(json_t *events, json_t *names)
{
	json_t *list = refusals_fold(events), *e;
	char when[32], times[64], device[96], text[768];
	size_t i;

	json_array_foreach(list, i, e)
	{
		const char *tenant = device_text(e, "tenant");

		device_words(e, names, device, sizeof(device));
		snprintf(text, sizeof(text), "%s%s%s%s%s", tenant, *tenant ? ": " : "", device, device_text(e, "text"),
			 refusals_times(e, times));
		printf("%s  %-7s  ", moment(device_number(e, "time"), when), device_text(e, "kind"));
		output_words(clean_text_line(text), TEXT_COLUMN, TEXT_COLUMN,
			     isatty(STDOUT_FILENO) ? output_columns() : INT_MAX);
	}
	json_decref(list);
}

static void print_lines(json_t *events)
{
	json_t *e;
	size_t i;

	json_array_foreach(events, i, e)
	{
		json_dumpf(e, stdout, JSON_COMPACT);
		putchar('\n');
	}
}

/* The indices of devices by UUID. */
static json_t *device_names(struct control *control)
{
	json_t *names = json_object(), *answer, *device;
	struct fault f;
	size_t i;

	if (control_ask(control, request_plain("devices"), &answer, NULL, &f))
		return names;
	json_array_foreach(json_object_get(answer, "devices"), i, device)
		json_object_set(names, device_text(device, "uuid"), json_object_get(device, "index"));
	json_decref(answer);
	return names;
}

/* Prints what comes until it is interrupted or nobody reads; a meted that is started anew is found again. */
static int follow(const struct command_line *line, struct control *control, json_t *names, json_int_t last)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	struct fault f;
	json_t *answer;
	int r;

	for (;;) {
		if (fflush(stdout))
			return EXIT_DONE;
		nanosleep(&pause, NULL);
		r = control_ask_again(control, CONTROL_FIND, request(line, last), &answer, NULL, &f);
		if (r == CONTROL_NOBODY || r == CONTROL_LOST)
			continue;
		if (r) {
			say_error("%s", f.text);
			return EXIT_FAILED;
		}
		if (device_number(answer, "last"))
			last = device_number(answer, "last");
		if (option_given(line, "json"))
			print_lines(json_object_get(answer, "events"));
		else
			print_text(json_object_get(answer, "events"), names);
		json_decref(answer);
		control_close(control); /* an idle meted that is private may end meanwhile */
	}
}

static int check_limit(const struct command_line *line)
{
	const char *limit = option_value(line, "limit");
	char *end;

	if (!limit || (*limit >= '0' && *limit <= '9' && strtol(limit, &end, 10) > 0 && !*end))
		return 0;
	say_error("--limit %s: it must be a number from 1 on", limit);
	return -1;
}

VERB(events)
{
	struct control control = CONTROL_CLOSED;
	json_t *answer, *names;
	struct fault f;
	int r = EXIT_DONE;

	if (check_limit(line))
		return EXIT_USAGE;
	if (control_ask_again(&control, CONTROL_STORED, request(line, 0), &answer, NULL, &f)) {
		say_error("%s", f.text);
		control_close(&control);
		return EXIT_FAILED;
	}
	names = option_given(line, "json") ? NULL : device_names(&control);
	if (!option_given(line, "json"))
		print_text(json_object_get(answer, "events"), names);
	else if (option_given(line, "follow"))
		print_lines(json_object_get(answer, "events"));
	else
		print_json("events", json_incref(json_object_get(answer, "events")));
	if (option_given(line, "follow"))
		r = follow(line, &control, names, device_number(answer, "last"));
	json_decref(answer);
	json_decref(names);
	control_close(&control);
	return r;
}
