/*
 * remote_run.c: see remote_run.h. No meted is needed here: the grants are the servers'. Order as in run.c: what can be
 * judged alone first, then the servers are asked, then the program starts.
 */
#include "cli/remote_run.h"
#include "model/device.h"
#include "client/place.h"
#include "client/program.h"
#include "cli/relays.h"
#include "client/remote_env.h"
#include "verb/say.h"
#include "verb/terms.h"
#include "cli/supervise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct remote_run {
	const struct command_line *line;
	char path[PATH_MAX]; /* of the program */
	struct place place;
	struct targets targets;
	struct relays relays;
	struct tenant_log log;
	struct remote_env env;
	int failure; /* the exit status when the program was not started */
};

/* The options that say what a grant of this machine is. */
static int check_options(const struct command_line *line, struct fault *f)
{
	static const char *const local[] = { "name", "grant", "tier", "wall", "guard" };

	for (size_t i = 0; i < line->given_count; i++) {
		const char *name = line->given[i].option->name;
		bool is_local = terms_is_share(name) || device_kind_named(name);

		for (size_t k = 0; k < sizeof(local) / sizeof(*local); k++)
			is_local |= !strcmp(name, local[k]);
		if (is_local)
			return fault_set(
				f, -EINVAL,
				"--%s with --remote: the share is what the server offers; leave it away, or name "
				"an --offer",
				name);
	}
	return 0;
}

static int prepare(struct remote_run *run, struct fault *f)
{
	int r;

	r = check_options(run->line, f);
	if (!r)
		r = targets_read(&run->targets, option_value(run->line, "remote"), run->line, f);
	if (r)
		return r;
	r = supervise_find(run->line, run->path, &run->failure, f);
	if (r)
		return r;
	r = place_find_remote(&run->place, f);
	if (!r)
		r = relays_start(&run->relays, &run->targets, f);
	if (!r)
		r = tenant_env_detour(run->place.remote_dir, run->relays.dir, f);
	if (!r && *run->place.runtime_dir)
		r = tenant_env_detour(run->place.runtime_dir, run->relays.dir, f);
	if (!r)
		r = tenant_log_open(&run->log, run->relays.dir, f);
	run->env = (struct remote_env){
		.client_dir = run->place.remote_dir,
		.sockets = run->relays.sockets,
		.log = run->log.path,
		.runtime_dir = *run->place.runtime_dir ? run->place.runtime_dir : NULL,
		.soft = run->relays.soft,
	};
	return r;
}

static void say_start(const struct remote_run *run)
{
	static const char *const trusts[] = { "without encryption", "by key", "by certificate" };
	char name[320];

	for (size_t i = 0; i < run->targets.count; i++) {
		const struct relay_target *t = &run->targets.target[i];

		say_note("server %s, %s%s%s%s", target_name(t, name), trusts[t->trust],
			 t->trust == RELAY_KEY ? " " : "", t->trust == RELAY_KEY ? t->key.name : "",
			 t->ucx ? ", by UCX" : "");
	}
}

static int run_program(struct remote_run *run, struct fault *f, int *ret_status)
{
	struct control none = CONTROL_CLOSED;
	struct fault note;
	struct supervision s = {
		.argv = run->line->args,
		.path = run->path,
		.remote = &run->env,
		.control = &none,
		.log = &run->log,
		.warning = program_warning(run->path, "the server's devices", &note),
		.verbose = option_given(run->line, "verbose"),
	};
	int r;

	if (s.verbose)
		say_start(run);
	r = supervise(&s, ret_status, f);
	tenant_log_show(&run->log, true);
	run->failure = supervise_failure(r, run->failure);
	return r;
}

int remote_run(const struct command_line *line)
{
	struct remote_run run = { .line = line, .log.fd = -1, .failure = EXIT_RUN_FAILED };
	struct fault f = { .text = "" };
	int status = 0, r;

	r = prepare(&run, &f);
	if (!r)
		r = run_program(&run, &f, &status);
	tenant_log_close(&run.log);
	relays_end(&run.relays);
	targets_deinit(&run.targets);
	if (!r)
		return end_like(status);
	say_error("%s", f.text);
	return run.failure;
}
