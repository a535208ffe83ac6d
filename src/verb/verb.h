/*
 * verb.h: the verbs of mete, as tables.
 *
 * A row of a table of verbs (cli/verbs.c, and a connector's own) is the only place that defines a verb, its options and
 * their texts: the command line parser, `mete help`, the manual pages and the completion all read it.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit codes, as documented in mete(1). */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_RUN_FAILED = 125, /* run: mete itself failed, including usage errors; lower codes are the program's */
	EXIT_RUN_NOT_EXECUTABLE = 126,
	EXIT_RUN_NOT_FOUND = 127,
};

/* The exit status of a command whose program was not found, by the value of program_find(). */
static inline int exit_of_program(int r)
{
	return r == -EACCES ? EXIT_RUN_NOT_EXECUTABLE : EXIT_RUN_NOT_FOUND;
}

/* The kind of a word, for the completion. */
enum complete {
	COMPLETE_NOTHING,
	COMPLETE_GRANT,
	COMPLETE_DEVICE,
	COMPLETE_VERB,
	COMPLETE_PROGRAM,
	COMPLETE_CHECK,
	COMPLETE_POLICY,
	COMPLETE_CLASS,
	COMPLETE_FILE,
	COMPLETE_KEY,
};

struct option_spec {
	const char *name; /* without the dashes; NULL ends a list */
	char letter; /* 0: none */
	const char *value; /* NULL: a switch */
	const char *help; /* one sentence */
	enum complete complete;
	bool repeats;
};

struct given { /* an option as given on the command line */
	const struct option_spec *option;
	const char *value;
};

struct command_line {
	const struct verb *verb;
	struct given *given;
	size_t given_count;
	char **args; /* NULL-terminated */
	int arg_count;
};

struct example {
	const char *command; /* NULL ends a list */
	const char *what;
};

struct verb {
	const char *name; /* one word, or two with a blank between them; NULL ends the table */
	const char *summary; /* a phrase: "run a program under ..." */
	const char *operands; /* as in a synopsis, "" for none */
	const char *const *details; /* paragraphs, NULL-terminated */
	const struct option_spec *options;
	const struct example *examples;
	int (*run)(const struct command_line *c);
	int min_args, max_args; /* number of operands; max -1: unlimited */
	bool program; /* the operands are a program and its arguments: options end at the first one */
	enum complete complete;
	int usage_status;
	bool raw; /* all words belong to another program, whatever their form; only --help is mete's */
};

extern const struct verb verbs[]; /* mete's own; connectors have theirs (connector.h) */

/* All verbs, mete's own and then each connector's. NULL: the first. Value: NULL after the last. */
const struct verb *verb_next(const struct verb *verb);

const struct verb *verb_find(const char *name);
/* The verb that the first words name; some verbs have two words. *ret_words: their number. NULL: none. */
const struct verb *verb_find_words(int count, char *const *words, int *ret_words);
/* True if a verb of two words begins with this one. */
bool verb_begins(const struct verb *verb, const char *word);

/*
 * Parses the words after the verb. Value: 0; 1: help was requested; -EINVAL with a message printed.
 * command_line_deinit() must follow in every case.
 */
int command_line_parse(struct command_line *c, const struct verb *verb, int argc, char **argv);
void command_line_deinit(struct command_line *c);

bool option_given(const struct command_line *c, const char *name);
const char *option_value(const struct command_line *c, const char *name); /* the last one; NULL: not given */

/*
 * Begins the definition of a verb in its file: VERB(ps) { ... }. `line`: operands and options. Value: the exit status.
 */
#define VERB(name)                                                                                                     \
	int verb_##name(const struct command_line *line);                                                              \
	int verb_##name(const struct command_line *line)

/* help.c: output generated from the table. */
void help_overview(void);
void help_verb(const struct verb *verb);
/* Prints the verbs that begin with this word. Value: false if there are none, and nothing is printed. */
bool help_beginning(const char *word);
extern const char *const help_version_line;
