/*
 * soft_profile.c: see soft_profile.h.
 *
 * Times are those of this machine's cores: how long the software device computed, not how long the model of time says
 * that a kernel took. Memory is the number of 32-byte pieces that warps asked for, as far as the device counts them.
 */
#include "cli/soft_profile.h"

#include "client/place.h"
#include "verb/say.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAUNCH_FIELDS 12
#define FORMS_SHOWN 20u /* of a kernel, in the table; JSON has all */
#define LANES 32.0
#define PIECE_BYTES 32u

struct form {
	char *name;
	uint64_t count;
};

struct kernel {
	char *name;
	uint64_t launches, ns, warp, lane, pieces;
	struct form *form;
	size_t form_count;
};

struct profile {
	struct kernel *kernel;
	size_t count;
	uint64_t begin_ns; /* of the first launch */
	uint64_t ns;	   /* of all launches together */
};

struct launch {
	uint64_t begin_ns, ns, blocks, warp, lane, pieces;
	unsigned int threads;
	int pid, thread, device;
	char *kernel;
};

/* Parts a line at its tabs. Value: how many fields there are; the last one takes what is left. */
static size_t fields(char *line, char **ret, size_t most)
{
	size_t n = 0;

	line[strcspn(line, "\n")] = 0;
	while (n < most) {
		ret[n++] = line;
		line = n < most ? strchr(line, '\t') : NULL;
		if (!line)
			break;
		*line++ = 0;
	}
	return n;
}

static bool launch_read(char *line, struct launch *ret)
{
	char *f[LAUNCH_FIELDS];

	if (strncmp(line, "launch\t", 7) || fields(line, f, LAUNCH_FIELDS) != LAUNCH_FIELDS)
		return false;
	*ret = (struct launch){
		.begin_ns = strtoull(f[1], NULL, 10),
		.ns = strtoull(f[2], NULL, 10),
		.pid = atoi(f[3]),
		.thread = atoi(f[4]),
		.device = atoi(f[5]),
		.blocks = strtoull(f[6], NULL, 10),
		.threads = (unsigned int)strtoul(f[7], NULL, 10),
		.warp = strtoull(f[8], NULL, 10),
		.lane = strtoull(f[9], NULL, 10),
		.pieces = strtoull(f[10], NULL, 10),
		.kernel = f[11],
	};
	return true;
}

/* The kernel of a name, new when it is the first time. NULL: no memory. */
static struct kernel *kernel_of(struct profile *p, const char *name)
{
	struct kernel *grown;

	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->kernel[i].name, name))
			return &p->kernel[i];
	grown = realloc(p->kernel, (p->count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	p->kernel = grown;
	p->kernel[p->count] = (struct kernel){ .name = strdup(name) };
	return p->kernel[p->count].name ? &p->kernel[p->count++] : NULL;
}

static bool form_add(struct kernel *k, const char *name, uint64_t count)
{
	struct form *grown;

	for (size_t i = 0; i < k->form_count; i++)
		if (!strcmp(k->form[i].name, name)) {
			k->form[i].count += count;
			return true;
		}
	grown = realloc(k->form, (k->form_count + 1) * sizeof(*grown));
	if (!grown)
		return false;
	k->form = grown;
	k->form[k->form_count] = (struct form){ strdup(name), count };
	return k->form[k->form_count++].name != NULL;
}

static bool line_add(struct profile *p, char *line)
{
	struct launch l;
	struct kernel *k;
	char *f[4];

	if (launch_read(line, &l)) {
		k = kernel_of(p, l.kernel);
		if (!k)
			return false;
		k->launches++;
		k->ns += l.ns;
		k->warp += l.warp;
		k->lane += l.lane;
		k->pieces += l.pieces;
		p->ns += l.ns;
		if (!p->begin_ns || l.begin_ns < p->begin_ns)
			p->begin_ns = l.begin_ns;
		return true;
	}
	if (strncmp(line, "form\t", 5) || fields(line, f, 4) != 4)
		return true; /* half a line of a process that was killed */
	k = kernel_of(p, f[3]);
	return k && form_add(k, f[2], strtoull(f[1], NULL, 10));
}

static int compare_kernels(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;

	return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : strcmp(x->name, y->name);
}

static int compare_forms(const void *a, const void *b)
{
	const struct form *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

static bool profile_read(struct profile *p, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	bool good = true;

	while (good && getline(&line, &room, file) > 0)
		good = line_add(p, line);
	free(line);
	if (p->count)
		qsort(p->kernel, p->count, sizeof(*p->kernel), compare_kernels);
	for (size_t i = 0; i < p->count; i++)
		if (p->kernel[i].form_count)
			qsort(p->kernel[i].form, p->kernel[i].form_count, sizeof(struct form), compare_forms);
	return good;
}

static void profile_free(struct profile *p)
{
	for (size_t i = 0; i < p->count; i++) {
		for (size_t k = 0; k < p->kernel[i].form_count; k++)
			free(p->kernel[i].form[k].name);
		free(p->kernel[i].form);
		free(p->kernel[i].name);
	}
	free(p->kernel);
}

static double lanes_active(const struct kernel *k)
{
	return k->warp ? 100.0 * (double)k->lane / (LANES * (double)k->warp) : 0;
}

static void print_forms(const struct kernel *k)
{
	for (size_t i = 0; i < k->form_count && i < FORMS_SHOWN; i++)
		fprintf(stderr, "  %14" PRIu64 "  %s\n", k->form[i].count, k->form[i].name);
	if (k->form_count > FORMS_SHOWN)
		fprintf(stderr, "  %14s  %zu more; --json has all\n", "...", k->form_count - FORMS_SHOWN);
}

static void print_table(const struct profile *p)
{
	fprintf(stderr, "%6s %12s %10s %12s %15s %6s %12s  %s\n", "TIME", "MS", "LAUNCHES", "MS/LAUNCH", "INSTRUCTIONS",
		"LANES", "MEMORY MB", "KERNEL");
	for (size_t i = 0; i < p->count; i++) {
		const struct kernel *k = &p->kernel[i];

		fprintf(stderr, "%5.1f%% %12.3f %10" PRIu64 " %12.4f %15" PRIu64 " %5.1f%% %12.3f  ",
			p->ns ? 100.0 * (double)k->ns / (double)p->ns : 0, (double)k->ns / 1e6, k->launches,
			k->launches ? (double)k->ns / 1e6 / (double)k->launches : 0, k->lane, lanes_active(k),
			(double)k->pieces * PIECE_BYTES / 1e6);
		for (const char *c = k->name; *c; c++)
			fputc((unsigned char)*c < ' ' || *c == 127 ? '?' : *c, stderr);
		fputc('\n', stderr);
		print_forms(k);
	}
	if (!p->count)
		fprintf(stderr, "no kernel was launched on the software device\n");
}

static json_t *kernel_json(const struct kernel *k)
{
	json_t *o = json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:I}", "name", k->name, "launches",
			      (json_int_t)k->launches, "time_ns", (json_int_t)k->ns, "warp_instructions",
			      (json_int_t)k->warp, "lane_instructions", (json_int_t)k->lane, "lanes_active_pct",
			      lanes_active(k), "memory_bytes", (json_int_t)(k->pieces * PIECE_BYTES));
	json_t *forms = k->form_count ? json_array() : NULL;

	for (size_t i = 0; forms && i < k->form_count; i++)
		json_array_append_new(forms, json_pack("{s:s, s:I}", "form", k->form[i].name, "operations",
						       (json_int_t)k->form[i].count));
	if (o && forms)
		json_object_set_new(o, "forms", forms);
	return o;
}

static bool print_profile_json(const struct profile *p)
{
	json_t *kernels = json_array(), *all;
	char *text;

	for (size_t i = 0; kernels && i < p->count; i++)
		json_array_append_new(kernels, kernel_json(&p->kernel[i]));
	all = json_pack("{s:{s:I, s:o}}", "profile", "time_ns", (json_int_t)p->ns, "kernels", kernels);
	text = all ? json_dumps(all, JSON_COMPACT) : NULL;
	if (text)
		fprintf(stderr, "%s\n", text);
	free(text);
	json_decref(all);
	return text != NULL;
}

/* One complete event of the Chrome trace event format; ts and dur are microseconds. */
static void trace_launch(FILE *to, const struct launch *l, uint64_t begin_ns, bool first)
{
	json_t *name = json_string(l->kernel);
	char *quoted = name ? json_dumps(name, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

	fprintf(to,
		"%s\n{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":%s,"
		"\"args\":{\"device\":%d,\"blocks\":%" PRIu64 ",\"threads\":%u,\"warp_instructions\":%" PRIu64
		",\"lane_instructions\":%" PRIu64 ",\"memory_bytes\":%" PRIu64 "}}",
		first ? "" : ",", l->pid, l->thread, (double)(l->begin_ns - begin_ns) / 1e3, (double)l->ns / 1e3,
		quoted ? quoted : "\"?\"", l->device, l->blocks, l->threads, l->warp, l->lane, l->pieces * PIECE_BYTES);
	free(quoted);
	json_decref(name);
}

static bool write_trace(const struct soft_profile *s, const struct profile *p, FILE *lines)
{
	FILE *to = fopen(s->trace, "we");
	char *line = NULL;
	struct launch l;
	size_t room = 0;
	bool first = true, good;

	if (!to) {
		say_error("--trace %s: %s; name a file that can be written", s->trace, strerror(errno));
		return false;
	}
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", to);
	while (getline(&line, &room, lines) > 0)
		if (launch_read(line, &l)) {
			trace_launch(to, &l, p->begin_ns, first);
			first = false;
		}
	free(line);
	fputs("\n]}\n", to);
	good = !ferror(to);
	if (fclose(to) || !good) {
		say_error("--trace %s: %s; free space", s->trace, strerror(errno));
		return false;
	}
	return true;
}

static int set(const char *name, const char *value, struct fault *f)
{
	return setenv(name, value, 1)
		       ? fault_set(f, -ENOMEM, "no memory for the program's environment; end other programs")
		       : 0;
}

/* Made now, so that a path that cannot be written is refused before the program starts. */
static int trace_open(struct soft_profile *p, const char *given, struct fault *f)
{
	char here[PATH_MAX];
	int fd;

	if (!(*given == '/' ? path_join(p->trace, "%s", given)
			    : getcwd(here, sizeof(here)) && path_join(p->trace, "%s/%s", here, given)))
		return fault_set(f, -ENAMETOOLONG, "--trace %s: the path is too long", given);
	fd = open(p->trace, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return fault_set(f, -errno, "--trace %s: %s; name a file that can be written", given, strerror(errno));
	close(fd);
	return 0;
}

int soft_profile_begin(struct soft_profile *p, const struct command_line *line, struct fault *f)
{
	const char *trace = option_value(line, "trace");
	const bool forms = option_given(line, "forms");
	int fd, r;

	p->json = option_given(line, "json");
	if (!option_given(line, "profile") && !trace && !forms && !p->json)
		return 0;
	r = trace ? trace_open(p, trace, f) : 0;
	if (r)
		return r;
	strcpy(p->path, "/tmp/mete-soft-profile-XXXXXX");
	fd = mkstemp(p->path);
	if (fd < 0) {
		*p->path = 0;
		return fault_set(f, -errno, "/tmp: cannot make a file for the profile: %s; free space",
				 strerror(errno));
	}
	close(fd);
	r = set("METE_SOFT_PROFILE", p->path, f);
	return r || !forms ? r : set("METE_SOFT_PROFILE_FORMS", "1", f);
}

bool soft_profile_end(struct soft_profile *p)
{
	struct profile all = { 0 };
	bool good = true;
	FILE *lines;

	if (!*p->path)
		return true;
	lines = fopen(p->path, "re");
	unlink(p->path);
	*p->path = 0;
	if (!lines || !profile_read(&all, lines)) {
		say_error("the profile cannot be read: %s", strerror(errno));
		good = false;
	} else if (p->json) {
		good = print_profile_json(&all);
	} else {
		print_table(&all);
	}
	if (good && *p->trace) {
		rewind(lines);
		good = write_trace(p, &all, lines);
	}
	if (lines)
		fclose(lines);
	profile_free(&all);
	return good;
}
