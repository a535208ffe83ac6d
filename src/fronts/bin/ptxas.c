/*
 * ptxas.c: an assembler for the software device, under the name by which Triton, XLA and others start one.
 *
 * PTX is the machine code of the software device. The text is checked by the device's own engine, with the messages and
 * the exit status that programs know from an assembler, and written to the output as it is, with a first line that says
 * who made it and a NUL at its end: what loads it may not know its size.
 *
 * `--version` has the form that programs look for ("release 13.0, V13.0.0"): which PTX they may write. With
 * METE_PTXAS_RELEASE=12.8 it says another release, for programs that want an assembler of their own time.
 */
#include "base/cleanup.h"
#include "fronts/checker.h"
#include "softdev/image/write.h"
#include "wire/soft_capability.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FILE_MOST (INT64_C(1) << 31)

static const char head[] = "// PTX in the place of machine code, by mete for its software device\n";

enum verdict { ASSEMBLED = 0, FATAL = 1, REFUSED = 255 };

struct job {
	const char *input, *output, *target;
	unsigned max_registers; /* 0: no limit */
	bool verbose, compile_only;
};

/* Options with a value; everything else that begins with "-" is about how machine code is made, of which there is none.
 */
static const char *const with_value[] = {
	"--output-file",
	"-o",
	"--gpu-name",
	"-arch",
	"--maxrregcount",
	"-maxrregcount",
	"--opt-level",
	"-O",
	"--machine",
	"-m",
	"--def-load-cache",
	"-dlcm",
	"--def-store-cache",
	"-dscm",
	"--input-as-string",
	"-ias",
	"--entry",
	"-e",
	"--options-file",
	"-optf",
	"--split-compile",
	"-split-compile",
	"--device-function-maxrregcount",
	"-func-maxrregcount",
	"--override-directive-values",
	"--fmad",
	"-fmad",
	"--maxntid",
	"-maxntid",
	"--minnctapersm",
	"-minnctapersm",
	"--allow-expensive-optimizations",
	"-allow-expensive-optimizations",
	"--cloning",
	"-cloning",
	"--force-load-cache",
	"-flcm",
	"--force-store-cache",
	"-fscm",
	"--position-independent-code",
	"-pic",
	"--compiler-stats",
	"--compiler-stats-file",
	"--tool-name",
	"--key",
};

static int fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int fatal(const char *fmt, ...)
{
	va_list ap;

	fputs("ptxas fatal   : ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return FATAL;
}

/* The engine's library lies in the folder above this program's. Value: false: not there, and said. */
static bool find_checker(struct checker *ret)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	for (int up = 0; n > 0 && up < 2; up++) {
		path[n] = 0;
		while (n > 0 && path[n] != '/')
			n--;
		path[n] = 0;
	}
	if (n > 0 && checker_open(ret, path))
		return true;
	fatal("libmete-ptx.so is not in the folder above this program; install all of mete");
	return false;
}

/* PTX 9.N came with the toolkit 13.N. */
static int show_version(void)
{
	const char *set = getenv("METE_PTXAS_RELEASE");
	struct checker checker;
	char release[32];

	if (!find_checker(&checker))
		return FATAL;
	if (set && *set)
		snprintf(release, sizeof(release), "%s", set);
	else
		snprintf(release, sizeof(release), "13.%u", checker.version() - 90);
	printf("ptxas: PTX assembler of mete, for its software device\n"
	       "It checks PTX and makes no machine code. It reads what the assembler of this release reads:\n"
	       "Cuda compilation tools, release %s, V%s.0\n",
	       release, release);
	return 0;
}

static int show_help(void)
{
	puts("Usage: ptxas [options] FILE\n"
	     "Checks a PTX file for mete's software device, and writes it as that device loads it.\n\n"
	     "  -o, --output-file FILE   where it goes (elf.o)\n"
	     "  -arch, --gpu-name NAME   the target, such as sm_90 (sm_75)\n"
	     "  -v, --verbose            a line per kernel\n"
	     "  -c, --compile-only       names that the file does not define may be left open\n"
	     "  -V, --version            which PTX it reads; METE_PTXAS_RELEASE sets another release\n\n"
	     "Options about machine code are read and mean nothing here.");
	return 0;
}

/* Does the argument name this option? Its value is in it (--gpu-name=sm_90, -arch=sm_90) or NULL. */
static bool names(const char *argument, const char *option, const char **ret_value)
{
	size_t n = strlen(option);

	if (strncmp(argument, option, n) || (argument[n] && argument[n] != '='))
		return false;
	*ret_value = argument[n] ? argument + n + 1 : NULL;
	return true;
}

static bool takes_value(const char *argument, const char **ret_value)
{
	for (size_t i = 0; i < sizeof(with_value) / sizeof(*with_value); i++)
		if (names(argument, with_value[i], ret_value))
			return true;
	return false;
}

static bool is_either(const char *argument, const char *a, const char *b)
{
	const char *ignored;

	return names(argument, a, &ignored) || names(argument, b, &ignored);
}

/* Value: 0, or FATAL with its message said. */
static int read_arguments(struct job *j, char **arguments)
{
	for (char **a = arguments; *a; a++) {
		const char *value = NULL, *name = *a;

		if (**a != '-') {
			if (j->input)
				return fatal("Two input files, '%s' and '%s'; give one", j->input, *a);
			j->input = *a;
			continue;
		}
		j->verbose = j->verbose || is_either(*a, "-v", "--verbose");
		j->compile_only = j->compile_only || is_either(*a, "-c", "--compile-only");
		if (!takes_value(*a, &value))
			continue;
		if (!value && !(value = *++a))
			return fatal("'%s': expected a value", name);
		if (is_either(name, "-o", "--output-file"))
			j->output = value;
		else if (is_either(name, "-arch", "--gpu-name"))
			j->target = value;
		else if (is_either(name, "-maxrregcount", "--maxrregcount"))
			j->max_registers = (unsigned)strtoul(value, NULL, 10);
	}
	return j->input ? 0 : fatal("No input file specified; use option --help for more information");
}

/* A whole file with a NUL after it. NULL: said. */
static char *read_text(const char *path, size_t *ret_bytes)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MOST) {
		fatal("Could not open input file '%s'", path);
		return NULL;
	}
	text = calloc(1, (size_t)st.st_size + 1);
	for (ssize_t at = 0; text && at < st.st_size; at += n) {
		n = read(fd, text + at, (size_t)(st.st_size - at));
		if (n <= 0) {
			fatal("Could not read input file '%s'", path);
			return NULL;
		}
	}
	if (!text) {
		fatal("Memory allocation failure");
		return NULL;
	}
	*ret_bytes = strlen(text);
	return steal_ptr(text);
}

static int write_output(const struct job *j, const char *text, size_t bytes)
{
	_cleanup_fclose_ FILE *f = fopen(j->output, "we");

	if (!f || fwrite(head, 1, sizeof(head) - 1, f) != sizeof(head) - 1 || fwrite(text, 1, bytes, f) != bytes ||
	    (j->max_registers && fprintf(f, IMAGE_REGISTERS_PRAGMA, j->max_registers) < 0) || fputc(0, f) || fflush(f))
		return fatal("Could not write output file '%s'", j->output);
	return 0;
}

static void report_kernel(void *ctx, const char *name, unsigned registers, unsigned shared_bytes, unsigned local_bytes,
			  unsigned param_bytes, unsigned const_bytes)
{
	const struct job *j = ctx;
	const unsigned most = j->max_registers;

	fprintf(stderr,
		"ptxas info    : Compiling entry function '%s' for '%s'\n"
		"ptxas info    : Function properties for %s\n"
		"    %u bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
		"ptxas info    : Used %u registers, %u bytes smem, %u bytes cmem[0], %u bytes cmem[2]\n",
		name, j->target, name, local_bytes, most && most < registers ? most : registers, shared_bytes,
		param_bytes, const_bytes);
}

/* "line 12, kernel foo: unknown instruction" as an assembler writes it. */
static void report_error(const struct job *j, const char *log)
{
	unsigned line = 0;
	int rest = 0;

	if (sscanf(log, "line %u%n", &line, &rest) == 1 && rest)
		fprintf(stderr, "ptxas %s, line %u; error   : %s\n", j->input, line,
			log + rest + strspn(log + rest, ",: "));
	else
		fprintf(stderr, "ptxas error   : %s\n", log);
	fatal("Ptx assembly aborted due to errors");
}

static int assemble(struct job *j)
{
	struct checker checker;
	_cleanup_free_ char *text = NULL;
	struct linker_text one = { .name = j->input };
	char log[1024] = "";
	char *end;
	unsigned long arch;
	int r;

	if (strncmp(j->target, "sm_", 3) || !(arch = strtoul(j->target + 3, &end, 10)) || end[strspn(end, "af")] ||
	    !soft_capability_can_be((uint32_t)arch) || !soft_target_known((uint32_t)arch))
		return fatal("Value '%s' is not defined for option 'gpu-name'", j->target);
	text = find_checker(&checker) ? read_text(j->input, &one.bytes) : NULL;
	if (!text)
		return FATAL;
	one.text = text;
	r = checker.check(&one, 1, (uint32_t)arch, log, sizeof(log), j->verbose ? report_kernel : NULL, j);
	if (r && !(r == LINKER_UNRESOLVED && j->compile_only)) {
		report_error(j, log);
		return REFUSED;
	}
	return write_output(j, text, one.bytes);
}

int main(int argc, char **argv)
{
	struct job j = { .output = "elf.o", .target = "sm_75" };
	int r;

	for (int i = 1; i < argc; i++)
		if (is_either(argv[i], "-V", "--version"))
			return show_version();
		else if (is_either(argv[i], "-h", "--help"))
			return show_help();
	r = read_arguments(&j, argv + 1);
	return r ? r : assemble(&j);
}
