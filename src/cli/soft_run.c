/*
 * soft_run.c: `mete soft run`: a program on software devices of its own, without a grant and without meted.
 *
 * mete stays beside the program as `mete run` does, to remove the devices at the end and, with --error-exitcode, to say
 * by its own status whether the checker reported anything.
 */
#include "cli/env_note.h"
#include "client/place.h"
#include "client/program.h"
#include "verb/say.h"
#include "cli/soft_dir.h"
#include "cli/soft_env.h"
#include "cli/soft_profile.h"
#include "cli/supervise.h"
#include "verb/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct soft_run {
	const struct command_line *line;
	char path[PATH_MAX]; /* of the program */
	struct place place;
	struct soft_dir dir;
	struct soft_profile profile;
	char report[PATH_MAX]; /* "": none */
	bool report_own;       /* the file is ours to remove */
	off_t report_before;
	int error_exitcode; /* 0: the program's status counts alone */
	int failure;
};

/* A time-out of its own, --check report: what --report and --error-exitcode stand on. */
static int check_options(struct soft_run *run, struct fault *f)
{
	const char *code = option_value(run->line, "error-exitcode"), *check = option_value(run->line, "check");
	const char *environment = getenv("METE_SOFT_CHECK");
	bool wants = code || option_given(run->line, "report");
	char *end;
	long n = 0;

	if (code) {
		n = strtol(code, &end, 10);
		if (*end || !*code || n < 1 || n > 255)
			return fault_set(f, -EINVAL, "--error-exitcode %s: give a whole number from 1 to 255", code);
	}
	run->error_exitcode = (int)n;
	if (!wants)
		return 0;
	if (check && strncmp(check, "report", 6))
		return fault_set(f, -EINVAL, "--%s with --check %s: only --check report makes reports",
				 code ? "error-exitcode" : "report", check);
	if (!check && (!environment || strncmp(environment, "report", 6)) && setenv("METE_SOFT_CHECK", "report", 1))
		return fault_set(f, -ENOMEM, "no memory for the program's environment; end other programs");
	return 0;
}

static off_t report_size(const struct soft_run *run)
{
	struct stat st;

	return *run->report && !stat(run->report, &st) ? st.st_size : 0;
}

/* The file of reports, by a path that holds wherever the program goes. */
static int set_report(struct soft_run *run, struct fault *f)
{
	const char *given = option_value(run->line, "report"), *set = getenv("METE_SOFT_REPORT");
	char here[PATH_MAX];
	bool fits = true;
	int fd;

	if (!given && set && *set)
		given = set;
	if (!given && !run->error_exitcode)
		return 0;
	if (given && *given == '/')
		fits = path_join(run->report, "%s", given);
	else if (given)
		fits = getcwd(here, sizeof(here)) && path_join(run->report, "%s/%s", here, given);
	else
		fits = path_join(run->report, "/tmp/mete-soft-report-XXXXXX");
	if (!fits)
		return fault_set(f, -ENAMETOOLONG, "--report %s: the path is too long", given ? given : "");
	if (!given) {
		fd = mkstemp(run->report);
		if (fd < 0)
			return fault_set(f, -errno, "/tmp: cannot make a file for reports: %s; name one with --report",
					 strerror(errno));
		close(fd);
		run->report_own = true;
	}
	if (given) {
		fd = open(run->report, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return fault_set(f, -errno, "--report %s: %s; name a file that can be written", given,
					 strerror(errno));
		close(fd);
	}
	run->report_before = report_size(run);
	return setenv("METE_SOFT_REPORT", run->report, 1)
		       ? fault_set(f, -ENOMEM, "no memory for the program's environment; end other programs")
		       : 0;
}

static int prepare(struct soft_run *run, struct fault *f)
{
	char **before = option_given(run->line, "verbose") ? env_copy() : NULL;
	int r;

	r = check_options(run, f);
	if (r)
		return r;
	r = supervise_find(run->line, run->path, &run->failure, f);
	if (r)
		return r;
	r = place_find_soft(&run->place, f);
	if (!r)
		r = soft_dir_make(&run->dir, f);
	if (!r)
		r = soft_env_enter(&run->place, run->line, f);
	if (!r)
		r = set_report(run, f);
	if (!r)
		r = soft_profile_begin(&run->profile, run->line, f);
	env_note(before);
	if (!r && !soft_env_works(&run->place))
		r = fault_set(f, -EINVAL, "the software device cannot be started as it is configured");
	return r;
}

static int run_program(struct soft_run *run, struct fault *f, int *ret_status)
{
	struct control none = CONTROL_CLOSED;
	struct fault note;
	struct tenant_log no_log = { .fd = -1 };
	struct supervision s = {
		.argv = run->line->args,
		.path = run->path,
		.control = &none,
		.log = &no_log,
		.together = true,
		.warning = program_warning(run->path, "the software device", &note),
	};
	int r = supervise(&s, ret_status, f);

	run->failure = supervise_failure(r, run->failure);
	return r;
}

VERB(soft_run)
{
	struct soft_run run = { .line = line, .failure = EXIT_RUN_FAILED };
	bool reported;
	struct fault f;
	int status = 0, r;

	r = prepare(&run, &f);
	if (!r)
		r = run_program(&run, &f, &status);
	reported = report_size(&run) > run.report_before;
	if (run.report_own)
		unlink(run.report);
	soft_dir_remove(&run.dir);
	if (r) {
		if (*run.profile.path)
			unlink(run.profile.path);
		say_error("%s", f.text);
		return run.failure;
	}
	soft_profile_end(&run.profile);
	if (run.error_exitcode && reported && WIFEXITED(status))
		return run.error_exitcode;
	return end_like(status);
}
