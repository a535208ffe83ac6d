/*
 * end.c: `mete end NAME...`: ends tenants: their programs, and then their grants.
 *
 * meted ends them; here somebody watches. Interrupted or killed, what was begun goes on.
 */
#include "base/clock.h"
#include "base/size.h"
#include "verb/choose.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/say.h"
#include "verb/verb.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 100
#define PATIENCE_S 40u /* END_KILL_S, and time for the kernel to take a killed program apart */

static const char *plural(size_t n, char text[48])
{
	snprintf(text, 48, "%zu process%s", n, n == 1 ? "" : "es");
	return text;
}

/* "train (2 processes, 1.5 GiB held)" */
static void say_tenant(FILE *out, json_t *grant)
{
	char held[SIZE_TEXT_BYTES], who[48];

	fprintf(out, "%s (%s, %s held)", device_text(grant, "name"),
		plural(json_array_size(json_object_get(grant, "processes")), who),
		size_format((uint64_t)devices_sum(grant, "held_bytes"), held));
}

/* The named grants, each once, in the order of the names. Value: 0, or as grants_get(). */
static int find(struct control *control, const struct command_line *line, json_t *ret, struct fault *f)
{
	for (int i = 0; i < line->arg_count; i++) {
		json_t *one, *known;
		bool twice = false;
		size_t at;
		int r = grants_get(control, line->args[i], &one, f);

		if (r)
			return r;
		json_array_foreach (ret, at, known)
			twice |= !strcmp(device_text(known, "name"), line->args[i]);
		if (!twice)
			json_array_append(ret, json_array_get(one, 0));
		json_decref(one);
	}
	return 0;
}

/* Value: 0; EXIT_FAILED: no; EXIT_USAGE: nobody can be asked. */
static int confirm(json_t *grants)
{
	char answer[16] = "";
	json_t *grant;
	size_t i;

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		say_error("this ends programs: say --yes where nobody can be asked");
		return EXIT_USAGE;
	}
	fputs("End ", stderr);
	json_array_foreach (grants, i, grant) {
		fputs(i ? ", " : "", stderr);
		say_tenant(stderr, grant);
	}
	fputs("? What they compute is lost. [y/N] ", stderr);
	fflush(stderr);
	if (fgets(answer, sizeof(answer), stdin)) {
		answer[strcspn(answer, "\n")] = 0;
		if (!strcasecmp(answer, "y") || !strcasecmp(answer, "yes"))
			return EXIT_DONE;
	}
	say_note("nothing was ended");
	return EXIT_FAILED;
}

static int begin(struct control *control, json_t *grant, struct fault *f)
{
	json_t *answer = NULL;
	int r = control_ask_again(control, CONTROL_STORED,
				  request_grant("grant_end", device_text(grant, "name")),
				  &answer, NULL, f);

	json_decref(answer);
	return r;
}

/* What is there of the grant now: *ret NULL when it has gone. A grant made anew under its name is another. */
static int look(struct control *control, json_t *grant, json_t **ret, struct fault *f)
{
	json_t *answer = NULL, *now;
	char code[64] = "";
	int r = control_ask_again(control, CONTROL_STORED,
				  request_grant("grants", device_text(grant, "name")), &answer,
				  code, f);

	*ret = NULL;
	if (r == CONTROL_NOBODY || (r == CONTROL_REFUSED && !strcmp(code, "unknown-grant")))
		return 0;
	if (!r) {
		now = json_array_get(json_object_get(answer, "grants"), 0);
		if (device_number(now, "id") == device_number(grant, "id"))
			*ret = json_incref(now);
	}
	json_decref(answer);
	return r;
}

/* Waits for its end; a meted that took the other's place is asked too. Value: 0, or what went wrong. */
static int await(struct control *control, json_t *grant, uint64_t end_ns, struct fault *f)
{
	for (;;) {
		json_t *now;
		char who[48];
		int r = look(control, grant, &now, f);

		if (!r && now && strcmp(device_text(now, "state"), "ending"))
			begin(control, grant, f);
		if (r || !now)
			return r;
		plural(json_array_size(json_object_get(now, "processes")), who);
		json_decref(now);
		if (clock_now_ns() > end_ns)
			return fault_set(f, CONTROL_REFUSED,
					 "grant %s: %s left after %u s, though killed: `mete ps` lists them, and they "
					 "end when the kernel lets go of them",
					 device_text(grant, "name"), who, PATIENCE_S);
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000L }, NULL);
	}
}

static json_t *ended_json(json_t *grant)
{
	return json_pack("{s:s, s:I, s:I}", "name", device_text(grant, "name"), "processes",
			 (json_int_t)json_array_size(json_object_get(grant, "processes")), "freed_bytes",
			 devices_sum(grant, "held_bytes"));
}

/* All are asked first, so that the slowest alone is waited for. Value: an exit status. */
static int end_all(struct control *control, const struct command_line *line, json_t *grants, json_t *ended)
{
	uint64_t end_ns = clock_now_ns() + PATIENCE_S * 1000000000ull;
	bool waits = !option_given(line, "no-wait");
	int status = EXIT_DONE;
	json_t *grant;
	struct fault f;
	size_t i;

	json_array_foreach (grants, i, grant)
		if (begin(control, grant, &f)) {
			say_error("%s", f.text);
			json_object_set_new(grant, "refused", json_true());
			status = EXIT_FAILED;
		}
	json_array_foreach (grants, i, grant) {
		if (json_object_get(grant, "refused"))
			continue;
		if (waits && await(control, grant, end_ns, &f)) {
			say_error("%s", f.text);
			status = EXIT_FAILED;
			continue;
		}
		json_array_append_new(ended, ended_json(grant));
		if (option_given(line, "json"))
			continue;
		say_tenant(stdout, grant);
		puts(waits ? ": ended" : ": is being ended");
		fflush(stdout);
	}
	return status;
}

VERB(end)
{
	json_t *grants = json_array(), *ended = json_array();
	struct control control = CONTROL_CLOSED;
	int status = EXIT_DONE;
	struct fault f;

	for (int i = 0; i < line->arg_count && !status; i++)
		if (grant_name_check(line->args[i], &f)) {
			say_error("%s", f.text);
			status = EXIT_USAGE;
		}
	if (!status && find(&control, line, grants, &f)) {
		say_error("%s", f.text);
		status = EXIT_FAILED;
	}
	if (!status && !option_given(line, "yes"))
		status = confirm(grants);
	if (!status) {
		status = end_all(&control, line, grants, ended);
		if (option_given(line, "json"))
			print_json("ended", json_incref(ended));
	}
	json_decref(grants);
	json_decref(ended);
	control_close(&control);
	return status;
}
