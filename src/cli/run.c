/*
 * run.c: `mete run`: a program under a grant that is made for it and ends with it, or under one that exists (--grant).
 *
 * Order: what can be judged without anybody's help first (the command line, the program, mete's own parts), then meted,
 * then the program. Whatever fails before the program starts leaves nothing behind: the grant is tied to this process.
 */
#include "base/cleanup.h"
#include "base/opencl_card.h"
#include "model/device.h"
#include "verb/choose.h"
#include "verb/guarded.h"
#include "client/control.h"
#include "client/grants.h"
#include "client/place.h"
#include "client/program.h"
#include "client/requests.h"
#include "cli/remote_run.h"
#include "client/runtime_env.h"
#include "verb/say.h"
#include "verb/spill.h"
#include "verb/terms.h"
#include "cli/supervise.h"
#include "client/tier.h"
#include "verb/verb.h"
#include "verb/waiting.h"
#include "cli/wall_env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
	const struct command_line *line;
	bool verbose;
	char path[PATH_MAX]; /* of the program */
	struct place place;
	struct choice choice;
	struct control control;
	struct waiting waiting;
	struct spill spill;
	json_t *grant; /* meted's row; owned */
	struct tenant_log log;
	struct tenant_env env;
	char runtime_dir[PATH_MAX], hip_library[PATH_MAX], levelzero_library[PATH_MAX];
	char shape_library[SHAPES_MAX][PATH_MAX]; /* the software device's stand-ins */
	bool t3; /* asked for */
	bool guard;   /* asked for */
	struct guarded guarded;
	bool wall; /* its devices are behind workers: `remote` is its environment, and not `env` */
	struct remote_env remote;
	int failure; /* the exit status when the program was not started */
};

static const char *grant_name(const struct run *run)
{
	return device_text(run->grant, "name");
}

/* Without --remote nobody is asked. */
static int check_local(const struct command_line *line, struct fault *f)
{
	static const char *const remote[] = { "offer", "key", "cert", "cert-key", "ca", "plain", "ucx", "patience" };

	for (size_t i = 0; i < sizeof(remote) / sizeof(*remote); i++)
		if (option_given(line, remote[i]))
			return fault_set(f, -EINVAL, "--%s without --remote: name the server with --remote HOST",
					 remote[i]);
	return 0;
}

/* The options that say what a new grant is; they contradict --grant. */
static int check_options(struct run *run, struct fault *f)
{
	const char *name = option_value(run->line, "name"), *grant = option_value(run->line, "grant");
	int r;

	for (size_t i = 0; grant && i < run->line->given_count; i++) {
		const char *option = run->line->given[i].option->name;

		if (terms_is_share(option) || device_kind_named(option) || !strcmp(option, "name") ||
		    !strcmp(option, "place") || !strcmp(option, "wait"))
			return fault_set(f, -EINVAL,
					 "--grant %s with --%s: the grant is what it is; leave --%s away, or change it "
					 "with `mete set`",
					 grant, option, option);
	}
	r = check_local(run->line, f);
	if (r)
		return r;
	r = waiting_parse(&run->waiting, run->line, f);
	if (!r)
		r = spill_parse(&run->spill, run->line, f);
	if (r)
		return r;
	r = grant ? grant_name_check(grant, f) : name ? grant_name_check(name, f) : 0;
	if (!r && run->wall && option_given(run->line, "tier"))
		return fault_set(f, -EINVAL,
				 "--wall with --tier: behind a wall work is let through in turns (T2); leave --tier "
				 "away");
	if (!r && run->wall && run->guard)
		return fault_set(
			f, -EINVAL,
			"--wall with --guard: behind a wall the program has no device node; leave --guard away");
	if (!r && !run->wall)
		r = tier_choose(option_value(run->line, "tier"), &run->t3, f);
	return r ? r : choose_parse(&run->choice, run->line, f);
}

/* The grant that was made for this process, by a meted that ended before it could say so. */
static bool find_own(struct run *run)
{
	json_t *grants, *grant;
	struct fault f;
	size_t i;

	if (grants_get(&run->control, NULL, &grants, &f))
		return false;
	json_array_foreach (grants, i, grant)
		if (device_number(grant, "runner_pid") == getpid() && !run->grant)
			run->grant = json_incref(grant);
	json_decref(grants);
	return !!run->grant;
}

/* Takes the reference to the request. Not simply asked again when meted dies over it: there must be one grant. */
static int ask_grant(struct run *run, json_t *request, struct fault *f)
{
	json_t *answer;
	char code[64];
	int r = CONTROL_LOST;

	for (int tries = 0; r == CONTROL_LOST && tries < 6; tries++) {
		if (run->control.fd < 0)
			r = control_open(&run->control, CONTROL_START, f);
		else
			r = 0;
		if (!r)
			r = control_ask(&run->control, json_incref(request), &answer, code, f);
		if (waiting_again(&run->waiting, request, r, code, f)) {
			tries = -1;
			r = CONTROL_LOST;
			continue;
		}
		if (r != CONTROL_LOST)
			break;
		control_close(&run->control);
		usleep(20000u << tries);
		if (find_own(run))
			break;
	}
	json_decref(request);
	if (run->grant)
		return 0;
	if (r)
		return r;
	run->grant = json_incref(json_object_get(answer, "grant"));
	json_decref(answer);
	return 0;
}

static int make_grant(struct run *run, struct fault *f)
{
	json_t *answer, *request;
	int r;

	r = control_ask_again(&run->control, CONTROL_START,
			      request_devices_of(choose_awaits(&run->choice, run->line)), &answer, NULL, f);
	if (r)
		return r;
	run->choice.takes_any = true;
	r = choose_devices(&run->choice, run->line, answer, f);
	if (r)
		return r;
	request = request_create(&(struct request_create){ .name = option_value(run->line, "name"),
							   .driver = run->choice.driver,
							   .placement = run->choice.placement,
							   .devices = choose_request(&run->choice),
							   .overcommit = option_given(run->line, "overcommit"),
							   .wall = run->wall,
							   .runner_pid = getpid() });
	if (request)
		spill_request(&run->spill, request);
	waiting_request(&run->waiting, request);
	return ask_grant(run, request, f);
}

static int find_grant(struct run *run, struct fault *f)
{
	json_t *grants;
	int r;

	r = grants_get(&run->control, option_value(run->line, "grant"), &grants, f);
	if (r)
		return r;
	run->grant = json_incref(json_array_get(grants, 0));
	json_decref(grants);
	return 0;
}

/* What the program gets instead of the shim. */
static int set_remote(struct run *run, struct fault *f)
{
	const char *forced = getenv("METE_SOCKET") ? NULL : getenv("METE_DRIVER");
	int r;

	if (forced && *forced)
		return fault_set(f, -EINVAL,
				 "METE_DRIVER=%s with --wall: the worker has the driver that meted found; unset it",
				 forced);
	r = wall_env_fill(&run->remote, &run->place, run->grant, run->control.dir, run->runtime_dir, f);
	run->remote.log = run->log.path;
	return r;
}

/* NVIDIA's kernel module, or what stands for it in WSL. */
static bool machine_has_cuda(void)
{
	return !access("/sys/module/nvidia", F_OK) || !access("/dev/nvidiactl", F_OK) || !access("/dev/dxg", F_OK);
}

/*
 * HIP on the grant's devices: AMD's, of which the program has its own library; or the software device's, which stands
 * beside its libcuda.so.1. METE_HIP_DRIVER names another.
 */
static void set_hip(struct run *run, const char *kind)
{
	const char *forced = getenv("METE_SOCKET") ? NULL : getenv("METE_HIP_DRIVER");
	const char *slash = strrchr(run->env.libcuda, '/');

	if (forced && *forced) {
		run->env.hip = true;
		run->env.libhip = forced;
		return;
	}
	run->env.hip = !strcmp(kind, "hip");
	if (strcmp(kind, "soft") || !slash ||
	    !path_join(run->hip_library, "%.*s/hip/libmete-soft-hip.so", (int)(slash - run->env.libcuda),
		       run->env.libcuda) ||
	    access(run->hip_library, R_OK))
		return;
	run->env.hip = true;
	run->env.libhip = run->hip_library;
}

/*
 * Level Zero on the grant's devices: Intel's, of which the loader knows the driver; or the stand-in beside the software
 * device's libcuda.so.1. METE_LEVELZERO_DRIVER names another, and so does the loader's own variable.
 */
static void set_levelzero(struct run *run, const char *kind)
{
	const char *forced = getenv("METE_SOCKET") ? NULL : getenv("METE_LEVELZERO_DRIVER");
	const char *own = getenv("METE_SOCKET") || strcmp(kind, "levelzero") ? NULL : getenv("ZE_ENABLE_ALT_DRIVERS");
	const char *slash = strrchr(run->env.libcuda, '/');

	/* The user's own, in place of what the loader knows; a list of several is no driver. */
	if ((!forced || !*forced) && own && *own == '/' && !strchr(own, ','))
		forced = own;
	run->env.levelzero = !strcmp(kind, "levelzero") || (forced && *forced);
	if (forced && *forced)
		run->env.libze = forced;
	if (run->env.levelzero || strcmp(kind, "soft") || !slash ||
	    !path_join(run->levelzero_library, "%.*s/levelzero/libmete-soft-levelzero.so",
		       (int)(slash - run->env.libcuda), run->env.libcuda) ||
	    access(run->levelzero_library, R_OK))
		return;
	run->env.levelzero = true;
	run->env.libze = run->levelzero_library;
}

/* The software device's stand-in for a library: beside its libcuda.so.1. */
static bool find_stand_in(struct run *run, const struct shape_row *row, char path[PATH_MAX])
{
	const char *slash = strrchr(run->env.libcuda, '/');

	return slash && !row->own_names &&
	       path_join(path, "%.*s/shaped/libmete-soft-%s.so", (int)(slash - run->env.libcuda), run->env.libcuda,
			 row->name) &&
	       !access(path, R_OK);
}

/*
 * A library that is CUDA or HIP under other names, on a device of its vendor's: the one that meted found, or that the
 * user named. On the software device: all stand-ins that there are.
 */
static void set_shapes(struct run *run, const char *kind, const char *library)
{
	struct tenant_shape *to = run->env.shape;

	for (size_t i = 0; i < shape_row_count; i++) {
		const struct shape_row *row = &shape_rows[i];
		const char *forced = getenv("METE_SOCKET") || row->own_names ? NULL : getenv(row->setting);

		if (forced && *forced)
			*to++ = (struct tenant_shape){ row, forced, false };
		else if (!strcmp(kind, row->name))
			*to++ = (struct tenant_shape){ row, library, !row->own_names };
		else if (!strcmp(kind, "soft") && find_stand_in(run, row, run->shape_library[i]))
			*to++ = (struct tenant_shape){ row, run->shape_library[i], false };
	}
}

/* The device has CUDA, under CUDA's names. */
static bool kind_has_cuda(const char *kind)
{
	return device_kind_has_cuda(device_kind_named(kind));
}

/* A driver that the user named goes before the one that meted chose; an outer mete run's does not count. */
static int set_env(struct run *run, struct fault *f)
{
	json_t *driver = json_object_get(run->grant, "driver");
	const char *forced = getenv("METE_SOCKET") ? NULL : getenv("METE_DRIVER");
	const char *kind = device_text(driver, "kind");
	bool own = forced && *forced, no_cuda = !kind_has_cuda(kind);

	if (own && access(forced, R_OK))
		return fault_set(f, -ENOENT, "METE_DRIVER=%s: %s; unset it, or name a driver's libcuda.so.1", forced,
				 strerror(errno));
	run->env = (struct tenant_env){
		.shim_dir = run->place.shim_dir,
		.socket = device_text(run->grant, "socket"),
		.libcuda = own ? forced : no_cuda ? "" : device_text(driver, "libcuda"),
		.no_cuda = no_cuda && !own && !machine_has_cuda(),
		.libnvml = own ? getenv("METE_NVML") : device_text(driver, "nvml"),
		.log = run->log.path,
		.spill = json_is_true(json_object_get(run->grant, "spill")),
		.strict = option_given(run->line, "strict"),
	};
	if (run->env.libnvml && !*run->env.libnvml)
		run->env.libnvml = NULL;
	set_hip(run, kind);
	set_levelzero(run, kind);
	set_shapes(run, kind, device_text(driver, "libcuda"));
	run->env.kind = kind;
	run->env.grant = run->grant;
	if (!own && !strcmp(kind, "soft") && runtime_env_dir(run->runtime_dir, run->env.shim_dir))
		run->env.runtime_dir = run->runtime_dir;
	if (!*run->env.socket || (!no_cuda && !*run->env.libcuda))
		return fault_set(f, -EPROTO,
				 "meted's answer names no socket or no driver for grant %s; restart it with this "
				 "version",
				 grant_name(run));
	return 0;
}

/* Tier T3 where it can be; else a line why not, and T2. */
static void set_tier(struct run *run)
{
	char doubt[200] = "";

	if (!run->t3)
		return;
	if (!strcmp(device_text(json_object_get(run->grant, "driver"), "kind"), "soft"))
		snprintf(doubt, sizeof(doubt), "it needs NVIDIA's driver, and this is the software device");
	else if (!tier_installed(run->env.shim_dir))
		snprintf(doubt, sizeof(doubt), "%s is not in %s; install all of mete", TIER_LIBRARY, run->env.shim_dir);
	else
		tier_doubt(doubt, sizeof(doubt));
	run->env.t3 = !*doubt;
	if (*doubt)
		say_warning("tier T3 was asked for, T2 stays in force: %s", doubt);
}

/* The program would see none of its devices. */
static void warn_hidden(struct run *run)
{
	json_t *share;
	size_t i;

	if (opencl_card_is_misnamed())
		say_warning("METE_OPENCL_CARD=%s: it is no GPU-UUID and names no card; write one as `mete devices` "
			    "shows it",
			    getenv("METE_OPENCL_CARD"));
	json_array_foreach(json_object_get(run->grant, "devices"), i, share)
	{
		const char *uuid = device_text(share, "uuid");
		json_t *device = device_listed(run->choice.list, run->choice.driver, uuid, strlen(uuid));
		bool set;

		if (device && !visible_shows(run->choice.list, run->choice.driver, device, &set))
			say_warning(
				"CUDA_VISIBLE_DEVICES=%s: hides device %lld of this grant from the program; unset it",
				getenv("CUDA_VISIBLE_DEVICES"), (long long)device_number(device, "index"));
	}
}

static void say_start(struct run *run)
{
	char quota[SIZE_TEXT_BYTES], total[SIZE_TEXT_BYTES];
	json_t *device;
	size_t i;

	say_note("grant %s from meted (process %d%s) in %s", grant_name(run), (int)run->control.daemon_pid,
		 run->control.started ? ", started for this command" : "", run->control.dir);
	say_note("driver %s%s%s",
		 run->wall || !*run->env.libcuda ? device_text(json_object_get(run->grant, "driver"), "libcuda")
						: run->env.libcuda,
		 run->wall ? ", in a worker behind a wall" : "",
		 strcmp(device_text(json_object_get(run->grant, "driver"), "kind"), "soft") ? ""
		 : option_given(run->line, "soft") ? " (the software device, as asked)"
						   : " (the software device)");
	if (run->choice.driver && !strcmp(run->choice.driver, "soft") && !option_given(run->line, "soft"))
		say_note("no NVIDIA driver with a device was found; `mete doctor` says more");
	json_array_foreach (json_object_get(run->grant, "devices"), i, device)
		say_note("device %lld (%s): %s of %s", (long long)device_number(device, "index"),
			 *device_text(device, "name") ? device_text(device, "name") : device_text(device, "uuid"),
			 size_format((uint64_t)device_number(device, "quota_bytes"), quota),
			 size_format((uint64_t)device_number(device, "total_bytes"), total));
}

static void say_end(struct run *run)
{
	char peak[SIZE_TEXT_BYTES], quota[SIZE_TEXT_BYTES];
	json_t *grants = NULL, *grant, *device;
	struct fault f;
	size_t i;

	if (run->log.repeated)
		say_note("%u more of the lines above, the same again", run->log.repeated);
	if (grants_get(&run->control, grant_name(run), &grants, &f)) {
		say_note("what the program used is not known: %s", f.text);
		return;
	}
	grant = json_array_get(grants, 0);
	if (!json_integer_value(json_object_get(grant, "attached_total")) && !devices_sum(grant, "peak_bytes")) {
		say_note("the program used no GPU");
	} else {
		json_array_foreach (json_object_get(grant, "devices"), i, device)
			say_note("device %lld: peak %s of %s, allocations refused: %lld",
				 (long long)device_number(device, "index"),
				 size_format((uint64_t)device_number(device, "peak_bytes"), peak),
				 size_format((uint64_t)device_number(device, "quota_bytes"), quota),
				 (long long)device_number(device, "refused"));
	}
	json_decref(grants);
}

/* By the guard, where --guard or the node's rule wants that. */
static int hold(struct run *run, struct fault *f)
{
	enum guarding_wish wish = guarded_wish(run->grant, run->guard, run->wall);
	int r;

	if (wish == GUARDING_NONE)
		return 0;
	r = guarded_begin(&run->place, run->grant, option_given(run->line, "grant"), getpid(), NULL, &run->guarded, f);
	if (r)
		r = guarded_unheld(wish, run->guard, r, run->guarded.note, f);
	if (!r && *run->guarded.note)
		say_note("%s", run->guarded.note);
	return r;
}

static int prepare(struct run *run, struct fault *f)
{
	int r;

	r = check_options(run, f);
	if (r)
		return r;
	r = supervise_find(run->line, run->path, &run->failure, f);
	if (r)
		return r;
	r = run->wall ? place_find_remote(&run->place, f) : place_find(&run->place, f);
	if (!r)
		r = option_given(run->line, "grant") ? find_grant(run, f) : make_grant(run, f);
	if (!r)
		r = tenant_env_detour(run->place.shim_dir, run->control.dir, f);
	if (!r)
		r = tenant_log_open(&run->log, run->control.dir, f);
	if (!r)
		r = run->wall ? set_remote(run, f) : set_env(run, f);
	if (!r)
		r = hold(run, f);
	if (r)
		return r;
	set_tier(run);
	if (run->choice.list)
		warn_hidden(run);
	return 0;
}

static int run_program(struct run *run, struct fault *f, int *ret_status)
{
	struct supervision s = {
		.argv = run->line->args,
		.path = run->path,
		.env = run->wall ? NULL : &run->env,
		.remote = run->wall ? &run->remote : NULL,
		.control = &run->control,
		.log = &run->log,
		.guarded = run->guarded.front ? &run->guarded : NULL,
		.verbose = run->verbose,
	};
	enum program_kind kind;
	struct fault note;
	int r;

	if (run->verbose)
		say_start(run);
	kind = program_inspect(run->path, &note);
	if (kind != PROGRAM_REACHED && kind != PROGRAM_UNKNOWN)
		s.warning = note.text;
	r = supervise(&s, ret_status, f);
	tenant_log_show(&run->log, true);
	if (!r && run->verbose)
		say_end(run);
	run->failure = supervise_failure(r, run->failure);
	return r;
}

VERB(run)
{
	struct run run = {
		.line = line,
		.verbose = option_given(line, "verbose"),
		.wall = option_given(line, "wall"),
		.guard = option_given(line, "guard"),
		.guarded = GUARDED_NONE,
		.control = CONTROL_CLOSED,
		.log.fd = -1,
		.failure = EXIT_RUN_FAILED,
	};
	struct fault f;
	int status = 0, r;

	if (option_given(line, "remote"))
		return remote_run(line);
	r = prepare(&run, &f);
	if (!r)
		r = run_program(&run, &f, &status);
	guarded_end(&run.place, run.grant, &run.guarded);
	tenant_log_close(&run.log);
	control_close(&run.control);
	json_decref(run.grant);
	choose_deinit(&run.choice);
	if (!r)
		return end_like(status);
	say_error("%s", f.text);
	return run.failure;
}
