/*
 * cordon.c: `mete cordon`, `mete uncordon`, `mete drain`: taking a device out of service and bringing it back.
 *
 * meted drains; here somebody watches. Interrupted, the drain ends and the cordon stays; killed, the drain goes on.
 */
#include "verb/choose.h"
#include "verb/duration.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/say.h"
#include "verb/verb.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_MS 200

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

/* Asks for the device that the command line names; takes the reference to the request. */
static int ask(struct control *control, json_t *request, json_t **ret, struct fault *f)
{
	json_t *answer;
	int r = control_ask_again(control, CONTROL_START, request, &answer, NULL, f);

	if (r)
		return r;
	*ret = json_incref(json_object_get(answer, "device"));
	json_decref(answer);
	return 0;
}

/* The UUID of the device that the command line names. */
static int find(struct control *control, const struct command_line *line, char uuid[64], struct fault *f)
{
	json_t *answer, *device;
	int r = control_ask_again(control, CONTROL_START, request_plain("devices"), &answer, NULL, f);

	if (r)
		return r;
	r = device_named(json_object_get(answer, "devices"), line->args[0], option_given(line, "soft"), &device, f);
	if (!r)
		snprintf(uuid, 64, "%s", device_text(device, "uuid"));
	json_decref(answer);
	return r;
}

static json_t *request_for(const char *op, const char *uuid, const struct command_line *line)
{
	json_t *request = request_device(op, uuid);

	if (option_given(line, "reason"))
		json_object_set_new(request, "reason", json_string(option_value(line, "reason")));
	return request;
}

static int tell(const struct command_line *line, json_t *device, const char *more)
{
	const char *reason = device_text(device, "reason"), *who = device_text(device, "who");

	if (option_given(line, "json"))
		return print_json("device", json_incref(device));
	printf("device %lld: %s%s%s%s%s%s%s\n", (long long)device_number(device, "index"), device_text(device, "state"),
	       *reason ? ": " : "", reason, *who ? " (by " : "", who, *who ? ")" : "", more);
	return EXIT_DONE;
}

static int simple(const struct command_line *line, const char *op)
{
	struct control control = CONTROL_CLOSED;
	struct fault f = { .text = "" };
	json_t *device = NULL;
	char uuid[64];
	int r;

	r = find(&control, line, uuid, &f);
	if (!r)
		r = ask(&control, request_for(op, uuid, line), &device, &f);
	control_close(&control);
	if (r)
		say_error("%s", f.text);
	else
		tell(line, device, "");
	json_decref(device);
	return r ? EXIT_FAILED : EXIT_DONE;
}

VERB(cordon)
{
	return simple(line, "device_cordon");
}

VERB(uncordon)
{
	return simple(line, "device_uncordon");
}

/* "train-1 (2 processes), b (1 process; it stays: its work did not end in time)" */
static const char *who(json_t *device, char *text, size_t size)
{
	json_t *tenant;
	size_t i, used = 0;

	*text = 0;
	json_array_foreach(json_object_get(device, "tenants"), i, tenant)
	{
		long long n = (long long)device_number(tenant, "processes");
		const char *stays = device_text(tenant, "stays");

		if (used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s (%lld process%s%s%s)", i ? ", " : "",
						 device_text(tenant, "name"), n, n == 1 ? "" : "es",
						 *stays ? "; it stays: " : "", stays);
	}
	return text;
}

static void progress(const struct command_line *line, json_t *device, char before[1024])
{
	char now[1024];

	if (option_given(line, "json") || strcmp(device_text(device, "state"), "draining"))
		return;
	who(device, now, sizeof(now));
	if (!strcmp(now, before))
		return;
	if (*now)
		printf("device %lld: draining: waiting for %s\n", (long long)device_number(device, "index"), now);
	fflush(stdout);
	strcpy(before, now);
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000L }, NULL);
}

/* Interrupted: the drain ends, the cordon stays. */
static int give_up(struct control *control, const struct command_line *line, const char *uuid)
{
	json_t *device = NULL;
	struct fault f;

	if (ask(control, request_device("device_cordon", uuid), &device, &f)) {
		say_error("interrupted, and meted could not be told: %s", f.text);
		return EXIT_FAILED;
	}
	say_warning("interrupted: device %lld stays cordoned; `mete uncordon %s:%lld` brings it back",
		    (long long)device_number(device, "index"), device_text(device, "driver"),
		    (long long)device_number(device, "index"));
	if (option_given(line, "json"))
		print_json("device", json_incref(device));
	json_decref(device);
	return EXIT_FAILED;
}

static int drain_ended(const struct command_line *line, json_t *device)
{
	bool drained = json_is_true(json_object_get(device, "drained"));
	char left[1024];

	tell(line, device, drained ? " (drained: no program runs on it)" : "");
	if (drained)
		return EXIT_DONE;
	if (strcmp(device_text(device, "state"), "cordoned"))
		say_error("device %lld: somebody else has ended the drain: it is %s now",
			  (long long)device_number(device, "index"), device_text(device, "state"));
	else
		say_error("device %lld stays cordoned and is not empty: %s; wait longer (--grace), or end them (--end)",
			  (long long)device_number(device, "index"), who(device, left, sizeof(left)));
	return EXIT_FAILED;
}

static int watch(struct control *control, const struct command_line *line, const char *uuid, json_t *take_device,
		 struct fault *f)
{
	struct sigaction action = { .sa_handler = on_interrupt };
	json_t *device = take_device;
	char before[1024] = "-";
	int status = EXIT_FAILED;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	while (device && !interrupted && !strcmp(device_text(device, "state"), "draining")) {
		progress(line, device, before);
		nap();
		json_decref(device);
		device = NULL;
		if (ask(control, request_device("device_health", uuid), &device, f) && !interrupted)
			say_error("%s", f->text);
	}
	if (interrupted)
		status = give_up(control, line, uuid);
	else if (device)
		status = drain_ended(line, device);
	json_decref(device);
	return status;
}

VERB(drain)
{
	struct control control = CONTROL_CLOSED;
	struct fault f = { .text = "" };
	json_t *device = NULL, *request;
	long grace_s = 300;
	int r, status;
	char uuid[64];

	if (option_given(line, "grace") && !duration_parse(option_value(line, "grace"), 604800, &grace_s)) {
		say_error("--grace %s: give a time such as 90s, 5m or 1h, at most 7d", option_value(line, "grace"));
		return EXIT_USAGE;
	}
	r = find(&control, line, uuid, &f);
	if (!r) {
		request = request_for("device_drain", uuid, line);
		json_object_set_new(request, "grace_s", json_integer(grace_s));
		json_object_set_new(request, "end", json_boolean(option_given(line, "end")));
		r = ask(&control, request, &device, &f);
	}
	if (r)
		say_error("%s", f.text);
	status = r ? EXIT_FAILED : watch(&control, line, uuid, device, &f);
	control_close(&control);
	return status;
}
