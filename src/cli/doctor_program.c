/*
 * doctor_program.c: see doctor_program.h.
 *
 * A program or library is judged by its files alone; nothing of it runs. A command whose files do not say what it will
 * load (a script, an interpreter) is run once on the software device, and what it loaded is judged (observe.h).
 */
#include "cli/doctor_program.h"

#include "base/clean_text.h"
#include "cli/anatomy.h"
#include "cli/doctor.h"
#include "cli/fare.h"
#include "cli/observe.h"
#include "cli/probe.h"
#include "cli/soft_dir.h"
#include "client/program.h"
#include "verb/say.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define OBSERVE_SECONDS 120

struct report {
	struct anatomy anatomy;
	struct observation seen;
	bool observed;
	unsigned int seconds; /* at most */
	uint32_t soft_arch;
	struct place place;
	struct fault reach; /* why the shim cannot reach it; "": it can */
	struct fare fare[FARE_WAYS];
};

static uint32_t ask_soft_arch(const struct place *place)
{
	struct soft_dir dir;
	struct probe probe = { 0 };
	char path[PATH_MAX];
	struct fault f;

	if (!*place->soft_dir || !path_join(path, "%s/libcuda.so.1", place->soft_dir) || soft_dir_make(&dir, &f))
		return 0;
	probe_library(path, PROBE_DRIVER, &probe);
	soft_dir_remove(&dir);
	return probe.arch;
}

/* The shim's way into the program; not into a library. */
static void look_at_reach(struct report *r, const char *path)
{
	if (r->anatomy.file[0].library || program_inspect(path, &r->reach) == PROGRAM_REACHED ||
	    !fare_uses_cuda(&r->anatomy))
		*r->reach.text = 0;
}

static void judge(struct report *r)
{
	for (int way = 0; way < FARE_WAYS; way++) {
		struct fare *f = &r->fare[way];

		fare_judge(&r->anatomy, (enum fare_way)way, r->soft_arch, f);
		if (!*r->reach.text || f->count == FARE_REASONS)
			continue;
		f->grade = way == FARE_LOCAL ? FARE_PARTLY : FARE_FAILS;
		f->reason[f->count].grade = f->grade;
		snprintf(f->reason[f->count++].text, FARE_REASON_BYTES, "%.399s", r->reach.text);
	}
	for (size_t i = 0; i < r->seen.line_count && r->fare[FARE_SOFT].count < FARE_REASONS; i++) {
		struct fare *f = &r->fare[FARE_SOFT];

		f->grade = f->grade == FARE_WORKS ? FARE_PARTLY : f->grade;
		f->reason[f->count].grade = FARE_PARTLY;
		snprintf(f->reason[f->count++].text, FARE_REASON_BYTES, "seen: %.390s",
			 clean_text_line(r->seen.line[i]));
	}
}

/* ---- what is said ---- */

static json_t *file_json(const struct anatomy_file *f)
{
	json_t *archs = json_array(), *calls = json_array();

	for (size_t i = 0; i < f->arch_count; i++)
		json_array_append_new(archs, json_pack("{s:s, s:i, s:s, s:i}", "kind",
						       f->arch[i].machine ? "machine code" : "ptx", "arch",
						       (int)f->arch[i].arch, "only",
						       f->arch[i].exact	   ? "this"
						       : f->arch[i].family ? "family"
									   : "",
						       "count", (int)f->arch[i].count));
	for (size_t i = 0; i < f->call_count; i++)
		json_array_append_new(calls, json_string(f->calls[i]));
	return json_pack("{s:s, s:s, s:i, s:o, s:o, s:b}", "path", f->path, "runtime",
			 f->static_runtime   ? "static"
			 : f->shared_runtime ? "shared"
					     : "none",
			 "images", (int)f->images, "kernels", archs, "calls", calls, "damaged", f->damaged);
}

static json_t *fare_json(const struct fare *f)
{
	json_t *reasons = json_array();

	for (size_t i = 0; i < f->count; i++)
		json_array_append_new(reasons, json_pack("{s:s, s:s}", "grade", fare_grade_name(f->reason[i].grade),
							 "text", f->reason[i].text));
	return json_pack("{s:s, s:o}", "grade", fare_grade_name(f->grade), "reasons", reasons);
}

static int print_report_json(const struct report *r)
{
	json_t *files = json_array(), *missing = json_array(), *ways = json_object(), *all;

	for (size_t i = 0; i < r->anatomy.count; i++)
		if (!i || fare_file_uses_cuda(&r->anatomy.file[i]))
			json_array_append_new(files, file_json(&r->anatomy.file[i]));
	for (size_t i = 0; i < r->anatomy.missing_count; i++)
		json_array_append_new(missing, json_string(r->anatomy.missing[i]));
	for (int way = 0; way < FARE_WAYS; way++)
		json_object_set_new(ways, fare_way_name((enum fare_way)way), fare_json(&r->fare[way]));
	all = json_pack("{s:s, s:b, s:b, s:b, s:i, s:o, s:o, s:o}", "program", r->anatomy.file[0].path, "cuda",
			fare_uses_cuda(&r->anatomy), "observed", r->observed, "late", r->seen.late, "libraries",
			(int)(r->anatomy.count - 1), "files", files, "missing", missing, "ways", ways);
	return print_json("program", all);
}

static void print_file(const struct anatomy_file *f)
{
	char text[400];

	printf("  %s\n", f->path);
	if (f->static_runtime)
		printf("    NVIDIA's CUDA runtime is linked into it%s\n",
		       fare_static_counts(f) ? "" : "; it works without it");
	if (f->shared_runtime)
		printf("    shared CUDA runtime\n");
	if (f->images)
		printf("    %u image%s: %s\n", f->images, f->images == 1 ? "" : "s", fare_archs(f, text, sizeof(text)));
	if (f->call_count)
		printf("    %zu call%s of CUDA's interfaces\n", f->call_count, f->call_count == 1 ? "" : "s");
	if (f->damaged)
		printf("    damaged: parts of it are cut off or make no sense\n");
}

static void print_report(const struct report *r)
{
	static const char *const names[] = { "on a GPU here (mete run)", "on the software device (mete run --soft)",
					     "behind a wall, on a GPU (mete run --wall)",
					     "on another machine's GPU (mete run --remote)" };

	printf("%s: %zu librar%s\n", r->anatomy.file[0].path, r->anatomy.count - 1,
	       r->anatomy.count == 2 ? "y" : "ies");
	if (r->observed && r->seen.late)
		printf("  run on the software device, to see what it loads; ended after %u s, so more may come later\n",
		       r->seconds);
	else if (r->observed)
		printf("  run once on the software device, to see what it loads%s\n",
		       WIFEXITED(r->seen.status) && !WEXITSTATUS(r->seen.status)
			       ? ""
			       : "; it failed, so it may not have come as far as it would");
	for (size_t i = 0; i < r->anatomy.count; i++)
		if (fare_file_uses_cuda(&r->anatomy.file[i]) || r->anatomy.file[i].damaged)
			print_file(&r->anatomy.file[i]);
	if (!fare_uses_cuda(&r->anatomy))
		printf("  nothing in it uses CUDA%s\n", r->observed ? "" : "; what it opens while it runs is not seen");
	for (int way = 0; way < FARE_WAYS; way++) {
		const struct fare *f = &r->fare[way];

		printf("%s: %s\n", names[way], fare_grade_name(f->grade));
		for (size_t i = 0; i < f->count; i++)
			printf("  - %s\n", f->reason[i].text);
	}
}

/* ---- what is asked ---- */

/* What mete itself puts into programs: all of it lies beside the shim's folder. */
static bool is_own(const struct place *p, const char *path)
{
	const char *slash = strrchr(p->shim_dir, '/');
	char real[PATH_MAX];

	if (!realpath(path, real))
		return true;
	return slash && !strncmp(real, p->shim_dir, (size_t)(slash + 1 - p->shim_dir));
}

/* Value: 0; a negative errno with a fault. */
static int read_command(struct report *r, const struct command_line *line, struct fault *f)
{
	char path[PATH_MAX];
	struct fault none;
	int e = program_find(line->args[0], path, f);

	if (!e)
		e = anatomy_read(&r->anatomy, path, f);
	if (e)
		return e;
	look_at_reach(r, path);
	if (fare_uses_cuda(&r->anatomy))
		return 0;
	if (program_inspect(path, &none) == PROGRAM_PRIVILEGED)
		return fault_set(
			f, -EACCES,
			"%s: it gains privileges when it starts, so what it loads cannot be seen; name what it "
			"starts",
			path);
	e = observe(line->args, r->seconds, &r->seen, f);
	r->observed = !e;
	for (size_t i = 0; !e && i < r->seen.library_count; i++)
		if (!is_own(&r->place, r->seen.library[i]))
			anatomy_add(&r->anatomy, r->seen.library[i], &none);
	return e;
}

static int read_file(struct report *r, const char *path, struct fault *f)
{
	int e = anatomy_read(&r->anatomy, path, f);

	if (e)
		return e;
	if (!r->anatomy.file[0].elf)
		return fault_set(f, -ENOEXEC,
				 "%s: no program or library of this kind of machine; for a script write `mete "
				 "doctor -- %s`",
				 path, path);
	if (r->anatomy.file[0].damaged)
		return fault_set(f, -ENOEXEC, "%s: damaged: parts of it are cut off or make no sense; get it anew",
				 path);
	look_at_reach(r, path);
	return 0;
}

static unsigned int read_seconds(const struct command_line *line)
{
	const char *text = option_value(line, "seconds");
	unsigned long n = OBSERVE_SECONDS;
	char *end;

	if (!text)
		return (unsigned int)n;
	n = strtoul(text, &end, 10);
	return *end || *text < '0' || *text > '9' || n > 86400 ? 0 : (unsigned int)n;
}

int doctor_program(const struct command_line *line)
{
	const char *path = option_value(line, "program");
	struct report *r = calloc(1, sizeof(*r));
	struct fault f = { .text = "" };
	int e, status = EXIT_DONE;

	if (!r)
		return EXIT_FAILED;
	place_find(&r->place, &f);
	r->seconds = read_seconds(line);
	if (!r->seconds)
		e = fault_set(&f, -EDOM, "--seconds %s: give a whole number from 1 to 86400",
			      option_value(line, "seconds"));
	else if (path && line->arg_count)
		e = fault_set(&f, -EDOM, "--program %s and a command: give one of them", path);
	else
		e = path ? read_file(r, path, &f) : read_command(r, line, &f);
	if (e) {
		say_error("%s", f.text);
		status = e == -EDOM ? EXIT_USAGE : EXIT_FAILED;
	} else {
		r->soft_arch = ask_soft_arch(&r->place);
		judge(r);
		if (option_given(line, "json"))
			print_report_json(r);
		else
			print_report(r);
		status = r->fare[FARE_LOCAL].grade == FARE_FAILS && r->fare[FARE_SOFT].grade == FARE_FAILS &&
					 r->fare[FARE_REMOTE].grade == FARE_FAILS
				 ? EXIT_FAILED
				 : EXIT_DONE;
	}
	anatomy_deinit(&r->anatomy);
	observation_deinit(&r->seen);
	free(r);
	return status;
}
