/* upgrade.c: `mete upgrade`: meted replaced by the program that is installed now, while tenants compute. */
#include "client/control.h"
#include "verb/choose.h"
#include "verb/say.h"
#include "verb/verb.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *request_of(const struct command_line *line, struct fault *f)
{
	const char *file = option_value(line, "binary");
	char path[PATH_MAX];
	json_t *request;

	if (file && !realpath(file, path)) {
		fault_set(f, -errno, "%s: %s; name the meted to upgrade to", file, strerror(errno));
		return NULL;
	}
	request = json_pack("{s:s, s:b}", "op", "upgrade", "check", option_given(line, "check"));
	if (request && file)
		json_object_set_new(request, "binary", json_string(path));
	if (!request)
		fault_set(f, -ENOMEM, "no memory");
	return request;
}

static void print_answer(json_t *answer, bool check)
{
	const char *from = device_text(answer, "from"), *to = device_text(answer, "version");
	json_t *pause = json_object_get(answer, "pause_ms");

	if (check)
		printf("meted %s can take over from meted %s (%s)\n", to, from, device_text(answer, "binary"));
	else
		printf("meted %s has taken over from meted %s: process %lld, no turns were given for %.1f ms\n", to,
		       from, (long long)device_number(answer, "pid"), json_number_value(pause));
}

VERB(upgrade)
{
	struct control control = CONTROL_CLOSED;
	json_t *answer = NULL, *request;
	struct fault f;
	int r;

	request = request_of(line, &f);
	if (!request) {
		say_error("%s", f.text);
		return EXIT_FAILED;
	}
	r = control_open(&control, CONTROL_FIND, &f);
	if (!r)
		r = control_ask(&control, json_incref(request), &answer, NULL, &f);
	json_decref(request);
	control_close(&control);
	if (r) {
		say_error("%s", f.text);
		return EXIT_FAILED;
	}
	if (option_given(line, "json")) {
		json_object_del(answer, "ok");
		json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		putchar('\n');
	} else {
		print_answer(answer, option_given(line, "check"));
	}
	json_decref(answer);
	return EXIT_DONE;
}
