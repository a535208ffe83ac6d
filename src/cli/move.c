/*
 * move.c: `mete move NAME --device DEVICE`, or --remote HOST: a tenant behind a wall goes to another device, or to
 * another server, while its programs run.
 *
 * meted answers at once; the grant says what becomes of it, as of a suspension. A program of this machine has no relay
 * that leads to a server: one is started for it, and goes on when mete has ended, for as long as programs use it.
 */
#include "cli/relays.h"
#include "cli/suspend.h"
#include "client/grants.h"
#include "verb/choose.h"
#include "verb/say.h"
#include "verb/verb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct move {
	struct relays relays; /* that was started for it; none: count is 0 */
	struct targets targets;
};

static bool has_proof(const struct command_line *line)
{
	static const char *const proofs[] = { "key", "cert", "cert-key", "ca", "plain" };

	for (size_t i = 0; i < sizeof(proofs) / sizeof(*proofs); i++)
		if (option_given(line, proofs[i]))
			return true;
	return false;
}

/* The socket of a relay is its user's alone. */
static int check_user(struct control *control, const char *name, struct fault *f)
{
	json_t *grants;
	json_int_t uid;

	if (grants_get(control, name, &grants, f))
		return -ENOENT;
	uid = json_integer_value(json_object_get(json_array_get(grants, 0), "uid"));
	json_decref(grants);
	return uid == (json_int_t)getuid()
		       ? 0
		       : fault_set(f, -EPERM,
				   "move %s: its programs are of user %lld: only that user can send "
				   "them to another server, for a relay of the user's leads there",
				   name, (long long)uid);
}

/* Where to: the request's parts. 0 or a negative errno. */
static int put_server(struct move *move, struct control *control, const struct command_line *line, json_t *request,
		      struct fault *f)
{
	const char *remote = option_value(line, "remote"), *offer = option_value(line, "offer");
	char where[512];
	int r = 0;

	if (has_proof(line)) {
		r = targets_read(&move->targets, remote, line, f);
		if (!r && move->targets.count != 1)
			r = fault_set(f, -EINVAL, "--remote %s: a program goes to one server", remote);
		if (!r)
			r = check_user(control, line->args[0], f);
		if (!r)
			r = relays_start_apart(&move->relays, &move->targets, f);
		if (!r)
			json_object_set_new(request, "socket", json_string(move->relays.one[0].socket));
	}
	snprintf(where, sizeof(where), "%s%s%s", remote, offer ? "/" : "", offer ? offer : "");
	json_object_set_new(request, "remote", json_string(where));
	return r;
}

static int drain_of(const struct command_line *line, long *ret, struct fault *f)
{
	const char *drain = option_value(line, "drain");
	char *end;

	*ret = drain ? strtol(drain, &end, 10) : 0;
	return drain && (*end || *ret < 1 || *ret > 600)
		       ? fault_set(f, -EINVAL, "--drain %s: not a number of seconds from 1 to 600", drain)
		       : 0;
}

static int move_grant(struct move *move, struct control *control, const struct command_line *line, struct fault *f)
{
	const char *name = line->args[0], *device = option_value(line, "device");
	const char *remote = option_value(line, "remote");
	json_t *request, *answer;
	json_int_t serial;
	long drain_s;

	if (!device == !remote) {
		fault_set(f, -EINVAL,
			  "move %s: say where to: with --device (`mete devices` lists them), or with --remote HOST",
			  name);
		return EXIT_USAGE;
	}
	if (drain_of(line, &drain_s, f))
		return EXIT_USAGE;
	if (device && (has_proof(line) || option_given(line, "offer"))) {
		fault_set(f, -EINVAL, "move %s: --key, --cert, --plain and --offer go with --remote", name);
		return EXIT_USAGE;
	}
	request = json_pack("{s:s, s:s}", "op", "grant_move", "name", name);
	if (device)
		json_object_set_new(request, "device", json_string(device));
	else if (put_server(move, control, line, request, f)) {
		json_decref(request);
		return EXIT_FAILED;
	}
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
	struct move move = { .relays.held = -1 };
	int status = move_grant(&move, &control, line, &f);

	control_close(&control);
	if (move.relays.count && status)
		relays_end(&move.relays);
	else if (move.relays.count)
		relays_let_go(&move.relays);
	targets_deinit(&move.targets);
	if (status)
		say_error("%s", f.text);
	return status;
}
