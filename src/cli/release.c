/* release.c: `mete release NAME`: ends a tenant's quarantine. */
#include "verb/choose.h"
#include "client/control.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/say.h"
#include "verb/verb.h"

#include <stdio.h>

static int release(struct control *control, const struct command_line *line, const char *name)
{
	json_t *answer = NULL;
	struct fault f;
	int r;

	r = control_ask_again(control, CONTROL_STORED, request_grant("grant_release", name), &answer, NULL, &f);
	if (r == CONTROL_NOBODY)
		say_error("no grant named %s: no meted runs in %s", name, control->dir);
	else if (r)
		say_error("%s", f.text);
	if (r)
		return EXIT_FAILED;
	if (option_given(line, "json"))
		print_json("grant", json_incref(json_object_get(answer, "grant")));
	else
		printf("%s: %s\n", name, device_text(json_object_get(answer, "grant"), "state"));
	json_decref(answer);
	return EXIT_DONE;
}

VERB(release)
{
	struct control control = CONTROL_CLOSED;
	int status = EXIT_DONE;
	struct fault f;

	for (int i = 0; i < line->arg_count; i++)
		if (grant_name_check(line->args[i], &f)) {
			say_error("%s", f.text);
			return EXIT_USAGE;
		}
	for (int i = 0; i < line->arg_count && status == EXIT_DONE; i++)
		status = release(&control, line, line->args[i]);
	control_close(&control);
	return status;
}
