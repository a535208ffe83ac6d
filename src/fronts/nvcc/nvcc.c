/*
 * nvcc.c: before the toolkit's nvcc, for programs that have it make machine code while they run (pycuda).
 *
 * With --cubin, nvcc is asked for PTX of the same target, and that is written where the machine code would be, with a
 * first line that says so. --version has a line more, so that programs that keep what was compiled (pycuda) do not mix
 * both. Every other command goes to the toolkit's nvcc as it is. mete puts this folder in PATH only where there is an
 * nvcc in PATH.
 */
#include "base/cleanup.h"

#include "softdev/image/write.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FILE_MOST (INT64_C(1) << 31)

static const char head[] = "// PTX in the place of machine code, by mete for its software device\n";

enum { NOT_FOUND = 127, FAILED = 1 };

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The next nvcc in PATH that is not this one. */
static bool find_next(char ret[PATH_MAX])
{
	const char *list = getenv("PATH");
	size_t length;

	for (const char *p = list ? list : ""; *p; p += length + (p[length] != 0)) {
		length = strcspn(p, ":");
		if (length && snprintf(ret, PATH_MAX, "%.*s/nvcc", (int)length, p) < PATH_MAX && !access(ret, X_OK) &&
		    !same_file(ret, "/proc/self/exe"))
			return true;
	}
	return false;
}

/* "arch=compute_90,code=sm_90" with each sm_ a compute_; allocated. */
static char *virtual_target(const char *value)
{
	char *to = malloc(strlen(value) * 4 + 1), *p = to;

	while (to && *value) {
		if (!strncmp(value, "sm_", 3)) {
			p = stpcpy(p, "compute_");
			value += 3;
		} else {
			*p++ = *value++;
		}
	}
	if (to)
		*p = 0;
	return to;
}

static bool one_of(const char *argument, const char *const *name, size_t count, size_t *ret_bytes)
{
	for (size_t i = 0; i < count; i++) {
		*ret_bytes = strlen(name[i]);
		if (!strncmp(argument, name[i], *ret_bytes) && (!argument[*ret_bytes] || argument[*ret_bytes] == '='))
			return true;
	}
	return false;
}

#define ONE_OF(argument, list, ret) one_of(argument, list, sizeof(list) / sizeof(*(list)), ret)

static const char *const cubin_options[] = { "--cubin", "-cubin" };
static const char *const target_options[] = { "--gpu-architecture", "-arch",   "--gpu-code", "-code",
					      "--generate-code",    "-gencode" };
static const char *const output_options[] = { "--output-file", "-o" };
static const char *const register_options[] = { "--maxrregcount", "-maxrregcount" };
static const char *const dry_options[] = { "--dryrun", "-dryrun", "--help", "-h" };
static const char *const version_options[] = { "--version", "-V" };

struct command {
	char **arguments;	     /* of the toolkit's nvcc */
	char *output;		     /* NULL: nothing is made */
	unsigned long max_registers; /* 0: no limit */
};

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), k = strlen(suffix);

	return n > k && !strcmp(name + n - k, suffix);
}

/* "kernel.cubin" of "folder/kernel.cu"; allocated. */
static char *default_output(const char *input)
{
	const char *base = strrchr(input, '/') ? strrchr(input, '/') + 1 : input, *dot = strrchr(base, '.');
	char *name = NULL;

	return asprintf(&name, "%.*s.cubin", (int)(dot ? dot - base : (long)strlen(base)), base) < 0 ? NULL : name;
}

/* Value: false: not a command that makes machine code, or no memory. */
static bool translate(int argc, char **argv, struct command *ret)
{
	struct command c = { .arguments = calloc((size_t)argc + 3, sizeof(char *)) };
	const char *input = NULL;
	bool cubin = false, value_is_target = false;
	size_t n = 0, bytes;

	for (int i = 0; c.arguments && i < argc; i++) {
		char *a = argv[i];

		if (ONE_OF(a, dry_options, &bytes))
			return false;
		if (ONE_OF(a, cubin_options, &bytes)) {
			cubin = true;
			a = (char *)(uintptr_t) "--ptx";
		} else if (value_is_target || (ONE_OF(a, target_options, &bytes) && a[bytes] == '=')) {
			a = virtual_target(a);
			value_is_target = false;
		} else if (ONE_OF(a, target_options, &bytes)) {
			value_is_target = true;
		} else if (ONE_OF(a, output_options, &bytes)) {
			c.output = a[bytes] ? a + bytes + 1 : argv[i + 1];
		} else if (ONE_OF(a, register_options, &bytes) && (a[bytes] || argv[i + 1])) {
			c.max_registers = strtoul(a[bytes] ? a + bytes + 1 : argv[i + 1], NULL, 10);
		} else if (i && *a != '-' && (has_suffix(a, ".cu") || has_suffix(a, ".ptx"))) {
			input = a;
		}
		c.arguments[n++] = a;
	}
	if (!c.arguments || !cubin || (!c.output && !input))
		return false;
	if (!c.output) {
		c.output = default_output(input);
		c.arguments[n++] = (char *)(uintptr_t) "-o";
		c.arguments[n++] = c.output;
	}
	*ret = c;
	return c.output;
}

/* What was made gets its first line, and a NUL at its end: who loads it may not know its size. */
static int name_output(const struct command *c)
{
	_cleanup_fclose_ FILE *f = fopen(c->output, "r+e");
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t bytes;

	if (!f || fstat(fileno(f), &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MOST)
		return FAILED;
	bytes = (size_t)st.st_size;
	text = calloc(1, bytes + 1);
	if (!text || fread(text, 1, bytes, f) != bytes)
		return FAILED;
	rewind(f);
	return fwrite(head, 1, sizeof(head) - 1, f) == sizeof(head) - 1 && fwrite(text, 1, bytes, f) == bytes &&
			       (!c->max_registers ||
				fprintf(f, IMAGE_REGISTERS_PRAGMA, (unsigned)c->max_registers) > 0) &&
			       !fputc(0, f) && !fflush(f)
		       ? 0
		       : FAILED;
}

static int run(const char *path, char **arguments)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		execv(path, arguments);
		_exit(NOT_FOUND);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

int main(int argc, char **argv)
{
	struct command c;
	char path[PATH_MAX];
	size_t bytes;
	int r;

	if (!find_next(path)) {
		fprintf(stderr, "nvcc: no nvcc of a toolkit in PATH; install one, or put it there\n");
		return NOT_FOUND;
	}
	if (argc == 2 && ONE_OF(argv[1], version_options, &bytes)) {
		argv[0] = path;
		r = run(path, argv);
		puts("With --cubin it makes PTX: mete's software device");
		return r;
	}
	if (!translate(argc, argv, &c)) {
		argv[0] = path;
		execv(path, argv);
		fprintf(stderr, "nvcc: %s: %s\n", path, strerror(errno));
		return NOT_FOUND;
	}
	c.arguments[0] = path;
	r = run(path, c.arguments);
	return r ? r : name_output(&c);
}
