/*
 * suspend.c: see suspend.h. meted answers at once; what becomes of it is looked up in the grant until it is done, or
 * refused, or has to wait for room.
 */
#include "cli/suspend.h"

#include "base/size.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/choose.h"
#include "verb/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_US 10000

bool suspend_given(const struct command_line *line)
{
	return option_given(line, "suspend") || option_given(line, "resume");
}

static int check(const struct command_line *line, long *ret_drain_s, struct fault *f)
{
	static const char *const with[] = { "suspend", "resume", "drain", "now", "json" };
	const char *name = line->args[0], *drain = option_value(line, "drain");
	bool suspend = option_given(line, "suspend");
	char *end;

	if (suspend && option_given(line, "resume"))
		return fault_set(f, -EINVAL, "set %s: --suspend and --resume contradict each other; give one", name);
	for (size_t i = 0; i < line->given_count; i++) {
		bool known = false;

		for (size_t k = 0; k < sizeof(with) / sizeof(*with); k++)
			known |= !strcmp(line->given[i].option->name, with[k]);
		if (!known)
			return fault_set(f, -EINVAL,
					 "set %s: --%s with --%s: change the share by a `mete set` of its own", name,
					 suspend ? "suspend" : "resume", line->given[i].option->name);
	}
	if (option_given(line, suspend ? "now" : "drain"))
		return fault_set(f, -EINVAL, "set %s: --%s goes with --%s; leave it away", name,
				 suspend ? "now" : "drain", suspend ? "resume" : "suspend");
	*ret_drain_s = drain ? strtol(drain, &end, 10) : 0;
	if (drain && (*end || *ret_drain_s < 1 || *ret_drain_s > 600))
		return fault_set(f, -EINVAL, "--drain %s: not a number of seconds from 1 to 600", drain);
	return 0;
}

static const char *word(json_t *suspension, const char *key)
{
	const char *text = json_string_value(json_object_get(suspension, key));

	return text ? text : "";
}

/*
 * meted counts what it was asked from its start on. One that was upgraded or started again goes on with a suspension,
 * for it keeps that, and knows nothing of a move.
 */
static bool is_followed(json_t *grant, json_int_t *serial, bool suspend, bool moves)
{
	json_int_t now = json_integer_value(json_object_get(json_object_get(grant, "suspension"), "serial"));

	if (now < *serial && !moves && json_is_true(json_object_get(grant, "suspended")) == suspend)
		*serial = now;
	return now == *serial;
}

static void tell_other(json_t *grant, const char *name, const char *verb, json_int_t serial, struct fault *f)
{
	json_int_t now = json_integer_value(json_object_get(json_object_get(grant, "suspension"), "serial"));

	fault_set(f, 0, "%s %s: %s meanwhile; `mete show %s` says how it is", verb, name,
		  now < serial ? "meted was started again" : "it was suspended or resumed again", name);
}

/* Value: above 0: not yet; else an exit status, with the fault. */
static int judge(json_t *grant, const char *name, const char *verb, bool suspend, json_int_t *serial, struct fault *f)
{
	json_t *suspension = json_object_get(grant, "suspension");
	const char *state = suspension ? word(suspension, "state") : "none", *why = word(suspension, "why");

	/* What was never suspended says nothing of it. */
	if (!is_followed(grant, serial, suspend, !strcmp(verb, "move"))) {
		tell_other(grant, name, verb, *serial, f);
		return EXIT_FAILED;
	}
	if (!strcmp(state, "refused")) {
		fault_set(f, 0, "%s %s: not %s: %s; it goes on as before", verb, name,
			  !strcmp(verb, "move") ? "moved" : "suspended", why);
		return EXIT_FAILED;
	}
	if (!strcmp(state, suspend ? "away" : "none"))
		return EXIT_DONE;
	/* It returns without us. */
	return !suspend && !strncmp(why, "waits", 5) ? EXIT_DONE : 1000;
}

static void print(json_t *grant, const char *name, const char *remote)
{
	char away[SIZE_TEXT_BYTES], held[SIZE_TEXT_BYTES];
	const char *why = word(json_object_get(grant, "suspension"), "why");
	json_t *device;
	size_t i;

	if (remote) {
		printf("%s: its programs have gone to %s\n", name, remote);
		return;
	}
	json_array_foreach(json_object_get(grant, "devices"), i, device)
	{
		const char *residence = device_text(device, "residence");

		printf("%s: device %lld: %s, %s away, %s on the device%s%s\n", name,
		       (long long)device_number(device, "index"), *residence ? residence : "resident",
		       size_format((uint64_t)device_number(device, "away_bytes"), away),
		       size_format((uint64_t)device_number(device, "held_bytes"), held), *why ? "; " : "", why);
	}
}

bool suspend_holds(json_t *grant)
{
	return json_is_true(json_object_get(grant, "suspended")) &&
	       !strcmp(word(json_object_get(grant, "suspension"), "state"), "away");
}

size_t suspend_waiting(json_t *grant)
{
	return suspend_holds(grant) ? json_array_size(json_object_get(json_object_get(grant, "suspension"), "waiting"))
				    : 0;
}

void suspend_print_waiting(json_t *grant)
{
	json_t *pid;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(grant, "suspension"), "waiting"), i, pid)
		printf("%s %lld", i ? "," : "pid", (long long)json_integer_value(pid));
}

json_int_t suspend_serial(json_t *answer)
{
	return json_integer_value(
		json_object_get(json_object_get(json_object_get(answer, "grant"), "suspension"), "serial"));
}

int suspend_follow(struct control *control, const struct command_line *line, const char *verb, json_int_t serial,
		   bool away, struct fault *f)
{
	const char *name = line->args[0];
	json_t *grants, *grant;
	int r;

	for (;;) {
		if (grants_get(control, name, &grants, f))
			return EXIT_FAILED;
		grant = json_array_get(grants, 0);
		r = judge(grant, name, verb, away, &serial, f);
		if (r == 1000) {
			json_decref(grants);
			usleep(LOOK_US);
			continue;
		}
		if (r == EXIT_DONE && option_given(line, "json"))
			r = print_json("grant", json_incref(grant));
		else if (r == EXIT_DONE)
			print(grant, name, strcmp(verb, "move") ? NULL : option_value(line, "remote"));
		json_decref(grants);
		return r;
	}
}

int suspend_set(struct control *control, const struct command_line *line, struct fault *f)
{
	const char *name = line->args[0];
	bool suspend = option_given(line, "suspend");
	json_t *request, *answer;
	json_int_t serial;
	long drain_s = 0;

	if (check(line, &drain_s, f))
		return EXIT_USAGE;
	request = request_grant(suspend ? "grant_suspend" : "grant_resume", name);
	if (drain_s)
		json_object_set_new(request, "drain_s", json_integer(drain_s));
	if (option_given(line, "now"))
		json_object_set_new(request, "now", json_true());
	if (control_ask_again(control, CONTROL_STORED, request, &answer, NULL, f))
		return EXIT_FAILED;
	serial = suspend_serial(answer);
	json_decref(answer);
	return suspend_follow(control, line, "set", serial, suspend, f);
}
