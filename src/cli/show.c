/* show.c: `mete show NAME`: everything about one grant. */
#include "base/size.h"
#include "base/clean_text.h"
#include "verb/choose.h"
#include "verb/expires.h"
#include "client/grants.h"
#include "verb/output.h"
#include "cli/refusals.h"
#include "verb/say.h"
#include "verb/table.h"
#include "cli/suspend.h"
#include "cli/tenant_of.h"
#include "verb/terms.h"
#include "verb/verb.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define EVENT_COLUMN 21 /* behind the time */
#define NOTE_INDENT 2

static void print_devices(json_t *grant)
{
	static const char *const heads[] = { ">DEVICE", ">QUOTA", ">HELD", ">PEAK", ">REFUSED", "NOTE", NULL };
	static const unsigned char ranks[] = { 0, 0, 0, 0, 0, 0 };
	char quota[SIZE_TEXT_BYTES], held[SIZE_TEXT_BYTES], peak[SIZE_TEXT_BYTES], target[SIZE_TEXT_BYTES];
	struct table t;
	json_t *device;
	size_t i;

	table_begin(&t, heads);
	table_fit(&t, ranks);
	json_array_foreach(json_object_get(grant, "devices"), i, device)
	{
		table_cell(&t, "%lld", (long long)device_number(device, "index"));
		table_cell(&t, "%s", size_format((uint64_t)device_number(device, "quota_bytes"), quota));
		table_cell(&t, "%s", size_format((uint64_t)device_number(device, "held_bytes"), held));
		table_cell(&t, "%s", size_format((uint64_t)device_number(device, "peak_bytes"), peak));
		table_cell(&t, "%lld", (long long)device_number(device, "refused"));
		if (json_is_integer(json_object_get(device, "target_bytes")))
			table_cell(&t, "shrinks to %s as memory is freed",
				   size_format((uint64_t)device_number(device, "target_bytes"), target));
		else
			table_cell(&t, "%s", "");
	}
	table_end(&t);
}

static const char *milliseconds(json_t *share, const char *key, char text[24])
{
	json_t *value = json_object_get(share, key);

	if (json_is_number(value))
		snprintf(text, 24, "%.1f ms", json_number_value(value));
	else
		snprintf(text, 24, "-");
	return text;
}

/* What is requested of the device's time, and what was measured. */
static void print_shares(json_t *devices)
{
	static const char *const heads[] = { ">DEVICE",	      "POLICY", "CLASS", ">REQUESTED",
					     ">MEASURED 1 S", ">10 S",	">60 S", NULL };
	static const unsigned char ranks[] = { 0, 0, 1, 0, 0, 0, 0 };
	static const char *const rates[] = { "share_1s", "share_10s", "share_60s", NULL };
	char text[48], figure[24];
	struct table t;
	json_t *device;
	size_t i;

	table_begin(&t, heads);
	table_fit(&t, ranks);
	json_array_foreach(devices, i, device)
	{
		table_cell(&t, "%lld", (long long)device_number(device, "index"));
		table_cell(&t, "%s%s", device_text(device, "policy"),
			   json_is_true(json_object_get(device, "held_back")) ? " (held)" : "");
		table_cell(&t, "%s",
			   json_is_true(json_object_get(device, "frozen")) ? "frozen" : device_text(device, "class"));
		table_cell(&t, "%s", terms_requested(device, text));
		for (const char *const *rate = rates; *rate; rate++)
			table_cell(&t, "%s", terms_percent(device, *rate, figure));
	}
	table_end(&t);
}

/* How it was given its turns. */
static void print_turns(json_t *devices)
{
	static const char *const heads[] = { ">DEVICE", ">WANTED", ">WAIT", ">LONGEST", ">TURNS",
					     ">LAG",	">PASSED", "TIER",  NULL };
	static const unsigned char ranks[] = { 0, 0, 0, 2, 1, 0, 1, 0 };
	char figure[24];
	struct table t;
	json_t *device;
	size_t i;

	table_begin(&t, heads);
	table_fit(&t, ranks);
	json_array_foreach(devices, i, device)
	{
		table_cell(&t, "%lld", (long long)device_number(device, "index"));
		table_cell(&t, "%s", terms_percent(device, "wanted_10s", figure));
		table_cell(&t, "%s", terms_percent(device, "wait_10s", figure));
		table_cell(&t, "%s", milliseconds(device, "longest_ms", figure));
		table_cell(&t, "%lld", (long long)device_number(device, "turns"));
		table_cell(&t, "%s", milliseconds(device, "lag_ms", figure));
		table_cell(&t, "%lld", (long long)device_number(device, "bypassed"));
		table_cell(&t, "%s", device_text(device, "tier"));
	}
	table_end(&t);
}

/* "device 0: GPU-...: what its tier cannot do" */
static void print_notes(json_t *devices)
{
	char text[512];
	json_t *device;
	size_t i;

	json_array_foreach(devices, i, device)
	{
		snprintf(text, sizeof(text), "device %lld: %s: %s", (long long)device_number(device, "index"),
			 device_text(device, "uuid"), device_text(device, "tier_note"));
		output_words(clean_text_line(text), NOTE_INDENT, 0, output_columns());
	}
}

static void print_compute(json_t *grant)
{
	json_t *devices = json_object_get(grant, "devices");

	print_shares(devices);
	putchar('\n');
	print_turns(devices);
	print_notes(devices);
}

static void print_processes(json_t *grant)
{
	static const char *const heads[] = { ">PID",  ">DEVICE",	">HELD",   ">CREDIT",
					     ">PEAK", ">MEASURED 10 S", "COMMAND", NULL };
	static const unsigned char ranks[] = { 0, 0, 0, 2, 1, 0, 0 };
	char measured[16], held[SIZE_TEXT_BYTES], credit[SIZE_TEXT_BYTES], peak[SIZE_TEXT_BYTES];
	json_t *processes = json_object_get(grant, "processes"), *process, *device;
	struct table t;
	size_t i, j;

	if (!json_array_size(processes)) {
		puts("no process is attached");
		return;
	}
	table_begin(&t, heads);
	table_fit(&t, ranks);
	json_array_foreach(processes, i, process) json_array_foreach(json_object_get(process, "devices"), j, device)
	{
		table_cell(&t, "%lld", (long long)device_number(process, "pid"));
		table_cell(&t, "%lld", (long long)device_number(device, "index"));
		table_cell(&t, "%s", size_format((uint64_t)device_number(device, "held_bytes"), held));
		table_cell(&t, "%s", size_format((uint64_t)device_number(device, "credit_bytes"), credit));
		table_cell(&t, "%s", size_format((uint64_t)device_number(device, "peak_bytes"), peak));
		table_cell(&t, "%s", terms_percent(device, "share_10s", measured));
		table_cell(&t, "%s%s", device_text(process, "command"),
			   json_is_false(json_object_get(process, "attached")) ? " (not connected)" : "");
	}
	table_end(&t);
}

static void time_text(json_t *value, char *text, size_t size)
{
	time_t seconds = (time_t)json_integer_value(value);
	struct tm tm;

	if (json_is_string(value))
		snprintf(text, size, "%s", json_string_value(value));
	else if (!seconds || !localtime_r(&seconds, &tm) || !strftime(text, size, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(text, size, "-");
	clean_text_line(text);
}

static void print_events(json_t *grant)
{
	json_t *events = refusals_fold(json_object_get(grant, "events")), *event;
	char when[64], text[512], times[64];
	size_t i;

	if (json_array_size(events))
		puts("\nEVENTS");
	json_array_foreach(events, i, event)
	{
		time_text(json_object_get(event, "time"), when, sizeof(when));
		snprintf(text, sizeof(text), "%s%s",
			 json_is_string(event) ? json_string_value(event) : device_text(event, "text"),
			 refusals_times(event, times));
		printf("%s  ", when);
		output_words(clean_text_line(text), EVENT_COLUMN, EVENT_COLUMN, output_columns());
	}
	json_decref(events);
}

/* That its programs wait, and until when. */
static void print_state(json_t *grant)
{
	printf("STATE    %s", device_text(grant, "state"));
	if (suspend_holds(grant))
		printf(", suspended: its programs wait for `mete set %s --resume`", device_text(grant, "name"));
	putchar('\n');
	if (!suspend_waiting(grant))
		return;
	printf("WAITING  ");
	suspend_print_waiting(grant);
	putchar('\n');
}

static void print_grant(json_t *grant)
{
	json_t *driver = json_object_get(grant, "driver");
	json_int_t runner = device_number(grant, "runner_pid");
	char when[64], expires[96], who[TENANT_OF_BYTES];

	time_text(json_object_get(grant, "created"), when, sizeof(when));
	printf("NAME     %s\n", device_text(grant, "name"));
	printf("USER     %s\n", tenant_of_user(grant, who));
	if (strcmp(tenant_of_container(grant, who), "-"))
		printf("IN       container %s\n", who);
	print_state(grant);
	printf("DRIVER   %s\n", json_is_string(driver) ? json_string_value(driver) : device_text(driver, "libcuda"));
	printf("SOCKET   %s\n", device_text(grant, "socket"));
	printf("CREATED  %s\n", when);
	if (json_is_true(json_object_get(grant, "quarantined")))
		printf("FAULTS   %lld: quarantined for %lld s more; `mete release %s` ends it\n",
		       (long long)device_number(grant, "faults"), (long long)device_number(grant, "quarantined_for_s"),
		       device_text(grant, "name"));
	else
		printf("FAULTS   %lld\n", (long long)device_number(grant, "faults"));
	if (device_number(grant, "unknown_calls"))
		printf("UNKNOWN  %lld calls that this release does not know: see EVENTS\n",
		       (long long)device_number(grant, "unknown_calls"));
	if (runner > 0)
		printf("ENDS     with process %lld\n\n", (long long)runner);
	else if (*expires_text(grant, expires))
		printf("ENDS     %s\n\n", expires + strlen("ends "));
	else
		printf("ENDS     with mete delete %s\n\n", device_text(grant, "name"));
	print_devices(grant);
	putchar('\n');
	print_compute(grant);
	putchar('\n');
	print_processes(grant);
	print_events(grant);
}

VERB(show)
{
	struct control control = CONTROL_CLOSED;
	struct fault f;
	json_t *grants;
	int r;

	r = grant_name_check(line->args[0], &f);
	if (r) {
		say_error("%s", f.text);
		return EXIT_USAGE;
	}
	r = grants_get(&control, line->args[0], &grants, &f);
	control_close(&control);
	if (r) {
		say_error("%s", f.text);
		return EXIT_FAILED;
	}
	if (option_given(line, "json"))
		r = print_json("grant", json_incref(json_array_get(grants, 0)));
	else
		print_grant(json_array_get(grants, 0));
	json_decref(grants);
	return r ? EXIT_FAILED : EXIT_DONE;
}
