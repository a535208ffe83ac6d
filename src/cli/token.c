/* token.c: `mete token new`, `show`, `revoke`: the secret that lets the console act, and the one that reads alone. */
#include "client/control.h"
#include "client/grants.h"
#include "client/place.h"
#include "verb/say.h"
#include "verb/verb.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * No meted runs: the next one wants a token before it serves beyond loopback. meted itself makes it, where it would
 * look for it. Does not come back unless it fails.
 */
static void become_maker(const char *dir, struct fault *f)
{
	bool system = !strcmp(dir, CONTROL_SYSTEM_DIR);
	const char *const argv[] = { "meted", "--new-token", system ? "--system" : "--runtime-dir", system ? NULL : dir,
				     NULL };
	struct place place;

	place_find(&place, f);
	if (!*place.meted)
		fault_set(f, -ENOENT, "meted: not beside mete (%s) and not in PATH; install all of mete",
			  place.exe_dir);
	else if (execv(place.meted, (char *const *)(uintptr_t)argv))
		fault_set(f, -errno, "%s: %s; install all of mete", place.meted, strerror(errno));
}

static int ask(const struct command_line *line, const char *op)
{
	struct control control = CONTROL_CLOSED;
	json_t *answer = NULL;
	struct fault f;
	bool reads = option_given(line, "read");
	int r = control_ask_again(&control, CONTROL_FIND, json_pack("{s:s s:b}", "op", op, "read", reads), &answer,
				  NULL, &f);

	if ((r == CONTROL_NOBODY || r == -EHOSTDOWN) && !strcmp(op, "token_new") && !reads &&
	    !option_given(line, "json"))
		become_maker(*control.dir ? control.dir : CONTROL_SYSTEM_DIR, &f);
	if (r == CONTROL_NOBODY)
		say_error("no meted runs in %s: start it first; each has a token of its own", control.dir);
	else if (r)
		say_error("%s", f.text);
	else if (option_given(line, "json"))
		print_json("token", json_incref(json_object_get(answer, "token")));
	else if (json_object_get(answer, "token"))
		puts(json_string_value(json_object_get(answer, "token")));
	json_decref(answer);
	control_close(&control);
	return r ? EXIT_FAILED : EXIT_DONE;
}

VERB(token_new)
{
	return ask(line, "token_new");
}

VERB(token_show)
{
	return ask(line, "token_show");
}

VERB(token_revoke)
{
	return ask(line, "token_revoke");
}
