/*
 * option_table.h: the options of a program as a table: what each is called, what it may be, and where its value goes.
 *
 * For programs that take options alone, or a word or two besides; mete's verbs have src/verb, meted's settings are rows
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
	OPTION_FLAG,	/* bool: it is there; it has no value */
	OPTION_EITHER,	/* bool: the value is the second of two words */
	OPTION_WORD,	/* int: the number of the word */
	OPTION_READ,	/* what `read` does */
	OPTION_HELP,	/* it has no value, and ends the reading; also as -h */
	OPTION_VERSION, /* likewise */
};

struct option_row {
	const char *name; /* NULL ends the table */
	enum option_kind kind;
	size_t at; /* of the member in the object */
	const char *remedy; /* "give a time such as 90s"; of words and paths there is one already */
	const char *const *words; /* of OPTION_EITHER and OPTION_WORD; NULL ends them */
	bool (*read)(void *object, const char *value); /* value: false: it may not be that */
};

enum option_outcome { OPTIONS_GOOD, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_WRONG };

/*
 * Reads the command line into the object. At most `operands_most` words may be no options; they are argv[optind] and on
 * afterwards. `line`: with OPTIONS_WRONG what is wrong, and the remedy.
 */
enum option_outcome option_table_read(const struct option_row *rows, void *object, int argc, char **argv,
				      int operands_most, char line[OPTION_LINE_BYTES]);
