/*
 * option_table.h: the options of a program as a table: the name of each, its kind, and the member that gets its value.
 *
 * It is for programs with options and at most a few operands. mete's verbs use src/verb, and meted's settings are rows
 * of src/daemon/settings.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define OPTION_LINE_BYTES 256u
#define OPTION_ROWS 48u

enum option_kind {
	OPTION_TEXT,	/* const char * */
	OPTION_PATH,	/* the same, an absolute path */
	OPTION_FLAG,	/* bool: set if the option is given; it has no value */
	OPTION_EITHER,	/* bool: true if the value is the second of two words */
	OPTION_WORD,	/* int: the index of the word */
	OPTION_READ,	/* the function `read` stores the value */
	OPTION_HELP,	/* no value; ends the reading; -h is the same */
	OPTION_VERSION, /* likewise */
};

struct option_row {
	const char *name; /* NULL ends the table */
	enum option_kind kind;
	size_t at; /* offset of the member in the object */
	const char *remedy; /* "give a time such as 90s"; not needed for words and paths */
	const char *const *words; /* for OPTION_EITHER and OPTION_WORD, ended by NULL */
	bool (*read)(void *object, const char *value); /* false: the value is not valid */
};

enum option_outcome { OPTIONS_GOOD, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_WRONG };

/*
 * Reads the command line into the object. At most `operands_most` words may be operands; afterwards they begin at
 * argv[optind]. `line`: with OPTIONS_WRONG the fault and its remedy.
 */
enum option_outcome option_table_read(const struct option_row *rows, void *object, int argc, char **argv,
				      int operands_most, char line[OPTION_LINE_BYTES]);
