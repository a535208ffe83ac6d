/*
 * help.c: `mete help`, `mete VERB --help`, the manual pages (mdoc) and the completion, all from the table of verbs.
 *
 * The manual pages are made at build time by `mete help --man [VERB]`; so is the completion. What belongs to no verb
 * (exit codes, environment, files) stands here once, for help and manual.
 */
#include "model/policy.h"
#include "verb/output.h"
#include "verb/say.h"
#include "verb/verb.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MANUAL_DATE "November 20, 2026"
#define LINE_COLUMNS OUTPUT_USUAL_COLUMNS

struct term {
	const char *word; /* NULL ends a list */
	const char *text;
};

static const char purpose[] = "run programs under an exact share of a GPU's memory and time";

static const char *const overview[] = {
	"mete gives a program, with all processes that it starts, an exact share of device memory, and of the device's "
	"time where that is asked for: on a GPU of this machine, or on a software device where there is none. Programs "
	"run unchanged. meted, the daemon, keeps the "
	"account; `mete run` starts a private one when none runs.",
	"A shim in front of the driver's library enforces the share: it charges every allocation before it calls "
	"the driver, and admits work only in turns that meted gives. This limits programs that use the driver's "
	"interface as documented. It is not a security boundary against a program that deliberately bypasses the "
	"shim.",
	NULL
};

static const struct term exit_codes[] = {
	{ "0", "Done." },
	{ "1", "Failed; one line on standard error says why and what to do." },
	{ "2", "The command line was wrong." },
	{ NULL, NULL },
};

static const struct term run_exit_codes[] = {
	{ "125", "mete itself failed: a wrong command line, no grant, no daemon; the program was not started." },
	{ "126", "The program was found but cannot be executed; with --strict also: the shim cannot be loaded into "
		 "it." },
	{ "127", "The program was not found." },
	{ "other",
	  "The program's own status. When the program died of a signal, mete ends by the same signal, so that a shell "
	  "shows 128 and the signal's number." },
	{ NULL, NULL },
};

static const struct term environment[] = {
	{ "COLUMNS", "How wide tables are where the output is no terminal. Default: 80." },
	{ "CUDA_VISIBLE_DEVICES", "Which devices programs see, with its usual meaning; also the default of --device." },
	{ "METE_CONFIG", "The settings of a private daemon, a file as meted.yaml(5) has it. Default: none." },
	{ "METE_DRIVER",
	  "The driver's library that programs get (an absolute path to a libcuda.so.1), instead of the one that meted "
	  "found; METE_NVML likewise for libnvidia-ml.so.1." },
	{ "METE_KEY", "The key file of `mete run --remote` and `mete remote HOST` where none is given." },
	{ "METE_LIBDIR", "A folder with shim/ and soft/ in it, instead of the one beside mete." },
	{ "METE_REMOTE_WAIT",
	  "1: every call of a program with --remote or --wall waits for its result, to locate errors." },
	{ "METE_RUNTIME_DIR", "The daemon's folder. Default: /run/mete when a system meted listens there, else "
			      "$XDG_RUNTIME_DIR/mete, else /dev/shm/mete-UID (/tmp without /dev/shm)." },
	{ "METE_SOFT_DEVICES", "How many software devices there are (2)." },
	{ "METE_SOFT_MEMORY", "Their memory (16G), or a list with commas, one for each." },
	{ "METE_SOFT_CC", "Their compute capability (12.0)." },
	{ "METE_SOFT_DRIVER_VERSION", "The CUDA version that their driver reports (13.5)." },
	{ "METE_SOFT_CHECK", "How exactly their accesses are checked: off, strict, report." },
	{ "METE_SOFT_TIMEOUT", "Seconds that a kernel may run on them; 0 (default): no limit." },
	{ "METE_SOFT_DURATION", "How long their kernels take, by name: scale=5ms,*=1ms." },
	{ "METE_SOFT_RATE", "How long their kernels take, by warp instructions per second: 96G, or reference." },
	{ "METE_SOFT_COPY_RATE", "Bytes per second of their copy engines, such as 12G." },
	{ "METE_SOFT_SLICE, METE_SOFT_SWITCH",
	  "The time slice of a process while others wait (2ms), and the cost of a switch (75us)." },
	{ "METE_SOFT_SHARING", "How processes share one: slices (default), or together." },
	{ "METE_SOFT_TIME", "off: do not model the devices' time." },
	{ "NO_COLOR", "When set and not empty: no colours." },
	{ NULL, NULL },
};

static const struct term files[] = {
	{ "control.sock", "In the daemon's folder: the control socket of meted." },
	{ "mete.db", "The grants: of the system's meted in /var/lib/mete, of a private one in its folder." },
	{ "meted.log", "In the folder of a private meted: its log. The system's meted logs to the journal." },
	{ "/etc/mete/serve.json", "What `mete serve` offers; of users other than root: ~/.config/mete/serve.json." },
	{ "/etc/mete/keys", "The keys of its clients; of users other than root: ~/.config/mete/keys." },
	{ NULL, NULL },
};

static void print_term(const char *word, const char *text, int indent)
{
	int n = printf("  %s", word);

	if (n > indent - 2) {
		putchar('\n');
		n = 0;
	}
	n += printf("%*s", indent - n, "");
	output_words(text, indent, n, LINE_COLUMNS);
}

static void print_terms(const char *title, const struct term *terms, int indent)
{
	printf("\n%s:\n", title);
	for (const struct term *t = terms; t->word; t++)
		print_term(t->word, t->text, indent);
}

static const char *option_text(const struct option_spec *o, char *text, size_t size)
{
	if (o->letter)
		snprintf(text, size, "-%c, --%s%s%s", o->letter, o->name, o->value ? " " : "",
			 o->value ? o->value : "");
	else
		snprintf(text, size, "    --%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
	return text;
}

static const char *dashes(const struct verb *v)
{
	return v->program ? " [--]" : "";
}

void help_overview(void)
{
	printf("mete: %s\n\nUsage: mete VERB [OPTIONS] ...\n\nVerbs:\n", purpose);
	for (const struct verb *v = NULL; (v = verb_next(v));)
		print_term(v->name, v->summary, 16);
	printf("\n");
	for (const char *const *p = overview; *p; p++) {
		output_words(*p, 0, 0, LINE_COLUMNS);
		printf("\n");
	}
	printf("`mete VERB --help` lists a verb's options; so do mete(1) and mete-VERB(1).\n");
	printf("On a machine that is new to you: mete doctor\n");
}

bool help_beginning(const char *word)
{
	bool any = false;

	for (const struct verb *v = NULL; (v = verb_next(v));) {
		if (!verb_begins(v, word))
			continue;
		if (!any)
			printf("Usage: mete %s VERB [OPTIONS] ...\n\nVerbs:\n", word);
		any = true;
		print_term(v->name, v->summary, 16);
	}
	if (any)
		printf("\n`mete %s VERB --help` lists a verb's options.\n", word);
	return any;
}

/* What it does stands behind the command, or before it where both do not fit into a line. */
static void print_example(const struct example *e)
{
	size_t length = strlen(e->command) + strlen(e->what) + strlen("      # ");

	if (!*e->what)
		printf("  %s\n", e->command);
	else if (length <= LINE_COLUMNS)
		printf("  %s    # %s\n", e->command, e->what);
	else
		printf("  # %s\n  %s\n", e->what, e->command);
}

void help_verb(const struct verb *v)
{
	char text[64];

	printf("Usage: mete %s [OPTIONS]%s%s%s\n\n", v->name, dashes(v), *v->operands ? " " : "", v->operands);
	for (const char *const *p = v->details; *p; p++) {
		output_words(*p, 0, 0, LINE_COLUMNS);
		printf("\n");
	}
	printf("Options:\n");
	for (const struct option_spec *o = v->options; o->name; o++)
		print_term(option_text(o, text, sizeof(text)), o->help, 24);
	print_term("-h, --help", "Print this text.", 24);
	if (v->examples) {
		printf("\nExamples:\n");
		for (const struct example *e = v->examples; e->command; e++)
			print_example(e);
	}
	print_terms("Exit status", v->program ? run_exit_codes : exit_codes, 10);
}

/* Text for roff: a backslash and a dash are written so that they stay what they are; no line begins with a dot. */
static void man_text(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text; text++) {
		if (*text == '\\') {
			fputs("\\e", stdout);
		} else if (*text == '-') {
			fputs("\\-", stdout);
		} else if (strchr(".:;", *text) && text[1] == ' ' && isalpha((unsigned char)text[2])) {
			/* A sentence ends with its line, so that the formatter sets the space after it. */
			printf("%c\n", *text++);
		} else {
			putchar(*text);
		}
	}
}

static void man_line(const char *text)
{
	man_text(text);
	putchar('\n');
}

/* As an argument of a macro, where quotes group words and names of macros would be called. */
static void man_argument(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			fputs("\"\"", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
	}
	putchar('"');
}

static void man_terms(const char *section, const struct term *terms)
{
	printf(".Sh %s\n.Bl -tag -width Ds\n", section);
	for (const struct term *t = terms; t->word; t++) {
		printf(".It ");
		man_argument(t->word);
		putchar('\n');
		man_line(t->text);
	}
	printf(".El\n");
}

static void man_head(const char *name, const char *summary)
{
	printf(".\\\" Made by `mete help --man`; the words stand in src/cli/help.c and the tables of verbs.\n");
	printf(".Dd %s\n.Dt ", MANUAL_DATE);
	for (const char *p = name; *p; p++)
		putchar(toupper((unsigned char)*p));
	printf(" 1\n.Os mete\n.Sh NAME\n.Nm %s\n.Nd %s\n", name, summary);
}

static void man_paragraphs(const char *const *paragraphs)
{
	printf(".Sh DESCRIPTION\n");
	for (const char *const *p = paragraphs; *p; p++) {
		if (p != paragraphs)
			printf(".Pp\n");
		man_line(*p);
	}
}

static void man_options(const struct verb *v)
{
	printf(".Sh OPTIONS\n.Bl -tag -width Ds\n");
	for (const struct option_spec *o = v->options; o->name; o++) {
		printf(".It ");
		if (o->letter)
			printf("Fl %c , ", o->letter);
		printf("Fl \\-%s", o->name);
		if (o->value)
			printf(" Ar %s", o->value);
		putchar('\n');
		man_line(o->help);
	}
	printf(".It Fl h , Fl \\-help\nPrint the options.\n.El\n");
}

/* "mete-soft-run" */
static const char *man_name(const struct verb *v, char name[64])
{
	snprintf(name, 64, "mete-%s", v->name);
	for (char *p = name; *p; p++)
		if (*p == ' ')
			*p = '-';
	return name;
}

static void man_verb(const struct verb *v)
{
	char name[64];

	man_head(man_name(v, name), v->summary);
	printf(".Sh SYNOPSIS\n.Nm mete %s\n.Op Ar OPTIONS\n", v->name);
	if (v->program)
		printf(".Op Fl \\-\n");
	if (*v->operands) {
		printf(".Ar ");
		man_argument(v->operands);
		putchar('\n');
	}
	man_paragraphs(v->details);
	man_options(v);
	man_terms("EXIT STATUS", v->program ? run_exit_codes : exit_codes);
	if (v->examples) {
		printf(".Sh EXAMPLES\n.Bl -tag -width Ds\n");
		for (const struct example *e = v->examples; e->command; e++) {
			printf(".It Li ");
			man_argument(e->command);
			putchar('\n');
			if (*e->what)
				man_line(e->what);
		}
		printf(".El\n");
	}
	printf(".Sh SEE ALSO\n.Xr mete 1\n");
}

/* In alphabetical order, as manuals have it. */
static void man_references(void)
{
	const struct verb *last = NULL;
	char name[64];

	for (;;) {
		const struct verb *next = NULL;

		for (const struct verb *v = NULL; (v = verb_next(v));)
			if ((!last || strcmp(v->name, last->name) > 0) && (!next || strcmp(v->name, next->name) < 0))
				next = v;
		if (!next)
			break;
		printf("%s.Xr %s 1", last ? " ,\n" : "", man_name(next, name));
		last = next;
	}
	putchar('\n');
}

static void man_overview(void)
{
	char name[64];

	man_head("mete", purpose);
	printf(".Sh SYNOPSIS\n.Nm mete\n.Ar VERB\n.Op Ar OPTIONS\n.Op Ar ...\n");
	man_paragraphs(overview);
	printf(".Sh VERBS\n.Bl -tag -width Ds\n");
	for (const struct verb *v = NULL; (v = verb_next(v));) {
		printf(".It Cm %s\n", v->name);
		man_text(v->summary);
		printf(";\n.Xr %s 1\n", man_name(v, name));
	}
	printf(".El\n");
	man_terms("ENVIRONMENT", environment);
	man_terms("FILES", files);
	man_terms("EXIT STATUS", exit_codes);
	printf(".Pp\nOf\n.Nm mete run\nand\n.Nm mete soft run :\n.Bl -tag -width Ds\n");
	for (const struct term *t = run_exit_codes; t->word; t++) {
		printf(".It ");
		man_argument(t->word);
		putchar('\n');
		man_line(t->text);
	}
	printf(".El\n.Sh SEE ALSO\n");
	man_references();
}

static void add_word(char *words, size_t size, const char *word)
{
	size_t used = strlen(words);

	snprintf(words + used, size - used, "%s%s", used ? " " : "", word);
}

/* The names of all policies, or of all classes. */
static const char *names_of(enum complete c)
{
	static char words[256];

	*words = 0;
	for (int i = 0; c == COMPLETE_POLICY && i < POLICIES; i++)
		add_word(words, sizeof(words), policy_name((enum policy)i));
	for (int i = 0; c == COMPLETE_CLASS && i < ARBITER_CLASSES; i++)
		add_word(words, sizeof(words), policy_class_name((enum arbiter_class)i));
	return words;
}

/* The words after options with a value: what completes them. */
static const char *completion_of(enum complete c)
{
	switch (c) {
	case COMPLETE_GRANT:
		return "$(mete ps -q 2>/dev/null)";
	case COMPLETE_DEVICE:
		return "0 1 2 3 4 5 6 7 all";
	case COMPLETE_VERB:
		return "$verbs";
	case COMPLETE_CHECK:
		return "off strict report report,leaks";
	case COMPLETE_POLICY:
	case COMPLETE_CLASS:
		return names_of(c);
	case COMPLETE_KEY:
		return "$(mete key list --json 2>/dev/null | sed -n 's/.*\"name\": \"\\(.*\\)\".*/\\1/p')";
	default:
		return "";
	}
}

static void completion_verb(const struct verb *v)
{
	printf("\t\"%s\")\n\t\toptions=\"", v->name);
	for (const struct option_spec *o = v->options; o->name; o++)
		printf("--%s ", o->name);
	printf("--help\"\n\t\toperands=\"%s\"\n", completion_of(v->complete));
	printf("\t\tcase $prev in\n");
	for (const struct option_spec *o = v->options; o->name; o++) {
		if (!o->value)
			continue;
		printf("\t\t--%s", o->name);
		if (o->letter)
			printf(" | -%c", o->letter);
		printf(") COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")); return ;;\n", completion_of(o->complete));
	}
	printf("\t\tesac\n\t\t;;\n");
}

/* The first word of the program is the first that is no option and no option's value. */
static void completion_program(const struct verb *v)
{
	printf("\t\tlocal i\n\t\tfor ((i = first; i < COMP_CWORD; i++)); do\n\t\t\tcase ${COMP_WORDS[i]} in\n");
	printf("\t\t\t--) _mete_program $((i + 1)); return ;;\n\t\t\t");
	for (const struct option_spec *o = v->options; o->name; o++)
		if (o->value && o->letter)
			printf("--%s | -%c | ", o->name, o->letter);
		else if (o->value)
			printf("--%s | ", o->name);
	printf("=) ((i++)) ;;\n\t\t\t-*) ;;\n\t\t\t*) _mete_program $i; return ;;\n\t\t\tesac\n\t\tdone\n");
}

/* The first words of all verbs, each once; or the second words of those that begin with `first`. */
static void completion_words(const char *first)
{
	const char *blank = "";

	for (const struct verb *v = NULL; (v = verb_next(v));) {
		int n = (int)strcspn(v->name, " ");
		bool known = false;

		if (first) {
			if (verb_begins(v, first)) {
				printf("%s%s", blank, v->name + strlen(first) + 1);
				blank = " ";
			}
			continue;
		}
		for (const struct verb *w = NULL; (w = verb_next(w)) != v;)
			known |= !strncmp(w->name, v->name, (size_t)n + 1);
		if (known)
			continue;
		printf("%s%.*s", blank, n, v->name);
		blank = " ";
	}
}

/* Verbs of two words. */
static void completion_pairs(void)
{
	const char *last = "";
	char first[64];

	for (const struct verb *v = NULL; (v = verb_next(v));) {
		snprintf(first, sizeof(first), "%.*s", (int)strcspn(v->name, " "), v->name);
		if (!strchr(v->name, ' ') || !strncmp(last, first, strlen(first)))
			continue;
		last = v->name;
		printf("\tif [[ $verb == %s ]]; then\n\t\tif ((COMP_CWORD == 2)); then\n"
		       "\t\t\tCOMPREPLY=($(compgen -W \"",
		       first);
		completion_words(first);
		printf("\" -- \"$cur\"))\n\t\t\treturn\n\t\tfi\n"
		       "\t\tverb=\"$verb ${COMP_WORDS[2]}\" first=3\n\tfi\n");
	}
}

static void completion(void)
{
	printf("# Completion of mete for bash. Made by `mete help --completion`; the words stand in "
	       "src/cli/verbs.c and connect/*/verbs.c.\n\n");
	printf("_mete_program()\n{\n\tif declare -F _command_offset >/dev/null; then\n\t\t_command_offset \"$1\"\n"
	       "\telif ((COMP_CWORD == $1)); then\n\t\tCOMPREPLY=($(compgen -c -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
	       "\telse\n\t\tCOMPREPLY=($(compgen -f -- \"${COMP_WORDS[COMP_CWORD]}\"))\n\tfi\n}\n\n");
	printf("_mete()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options operands\n"
	       "\tlocal verbs=\"");
	completion_words(NULL);
	printf("\" verb=${COMP_WORDS[1]} first=2\n\n\tCOMPREPLY=()\n\tif ((COMP_CWORD == 1)); then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$verbs --help --version\" -- \"$cur\"))\n\t\treturn\n\tfi\n");
	completion_pairs();
	printf("\tcase $verb in\n");
	for (const struct verb *v = NULL; (v = verb_next(v));)
		if (v->program) {
			printf("\t\"%s\")\n", v->name);
			completion_program(v);
			printf("\t\t;;\n");
		}
	printf("\tesac\n\tcase $verb in\n");
	for (const struct verb *v = NULL; (v = verb_next(v));)
		completion_verb(v);
	printf("\tesac\n\tif [[ $cur == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	       "\telif [[ $verb == run || $verb == \"soft run\" ]]; then\n\t\t_mete_program $COMP_CWORD\n"
	       "\telse\n\t\tCOMPREPLY=($(compgen -W \"$operands\" -- \"$cur\"))\n\tfi\n}\n\ncomplete -F _mete mete\n");
}

VERB(help)
{
	int words = 0;
	const struct verb *v = line->arg_count ? verb_find_words(line->arg_count, line->args, &words) : NULL;

	if (line->arg_count == 1 && !v && !option_given(line, "completion") && !option_given(line, "man") &&
	    help_beginning(line->args[0]))
		return EXIT_DONE;
	if (line->arg_count && (!v || words != line->arg_count)) {
		say_error("unknown verb %s; `mete help` lists what there is", line->args[0]);
		return EXIT_USAGE;
	}
	if (option_given(line, "completion"))
		completion();
	else if (option_given(line, "man") && v)
		man_verb(v);
	else if (option_given(line, "man"))
		man_overview();
	else if (v)
		help_verb(v);
	else
		help_overview();
	return EXIT_DONE;
}
