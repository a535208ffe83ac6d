/*
 * move.c: `mete move NAME --device DEVICE`, or --remote HOST: a tenant behind a wall goes to another device, or to
 * another server, while its programs run.
 *
 * meted answers at once; the grant says what becomes of it, as of a suspension.
 */
#include "cli/suspend.h"
#include "client/grants.h"
#include "verb/choose.h"
#include "verb/say.h"
#include "verb/verb.h"

#include <errno.h>
#include <stdlib.h>

static int drain_of(const struct command_line *line, long *ret, struct fault *f)
{
	const char *drain = option_value(line, "drain");
	char *end;

	*ret = drain ? strtol(drain, &end, 10) : 0;
	return drain && (*end || *ret < 1 || *ret > 600)
		       ? fault_set(f, -EINVAL, "--drain %s: not a number of seconds from 1 to 600", drain)
		       : 0;
}

static int move(struct control *control, const struct command_line *line, struct fault *f)
{
	const char *name = line->args[0], *device = option_value(line, "device");
	const char *remote = option_value(line, "remote");
	json_t *request, *answer;
	json_int_t serial;
	long drain_s;

	if (!device == !remote) {
		fault_set(f, -EINVAL,
			  "move %s: say where to: with --device (`mete devices` lists them), or with --remote HOST", name);
		return EXIT_USAGE;
	}
	if (drain_of(line, &drain_s, f))
		return EXIT_USAGE;
	request = json_pack("{s:s, s:s, s:s}", "op", "grant_move", "name", name, device ? "device" : "remote",
			    device ? device : remote);
	if (drain_s)
		json_object_set_new(request, "drain_s", json_integer(drain_s));
	if (control_ask_again(control, CONTROL_STORED, request, &answer, NULL, f))
		return EXIT_FAILED;
	serial = suspend_serial(answer);
	json_decref(answer);
	return suspend_follow(control, line, "move", serial, false, f);
}

VERB(move)
{
	struct control control = CONTROL_CLOSED;
	struct fault f = { .text = "" };
	int status = move(&control, line, &f);

	control_close(&control);
	if (status)
		say_error("%s", f.text);
	return status;
}
