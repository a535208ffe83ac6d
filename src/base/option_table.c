/* option_table.c: see option_table.h. */
#include "base/option_table.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define FIRST 256 /* getopt_long()'s number of the first row */

static bool has_value(const struct option_row *row)
{
	return row->kind != OPTION_FLAG && row->kind != OPTION_HELP && row->kind != OPTION_VERSION;
}

/* Its number among the words; -1: it is none. */
static int word_find(const char *const *words, const char *value)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], value))
			return i;
	return -1;
}

/* "give pass, share or refuse" */
static void say_words(const char *const *words, char *to, size_t size)
{
	size_t used = (size_t)snprintf(to, size, "give ");

	for (int i = 0; words[i] && used < size; i++)
		used += (size_t)snprintf(to + used, size - used, "%s%s",
					 !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
}

static bool take_word(const struct option_row *row, void *member, const char *value)
{
	int found = word_find(row->words, value);

	if (row->kind == OPTION_WORD)
		*(int *)member = found;
	else
		*(bool *)member = found == 1;
	return found >= 0;
}

static bool take(const struct option_row *row, void *object, const char *value)
{
	void *member = (char *)object + row->at;

	switch (row->kind) {
	case OPTION_TEXT:
		*(const char **)member = value;
		return true;
	case OPTION_PATH:
		*(const char **)member = value;
		return *value == '/';
	case OPTION_FLAG:
		*(bool *)member = true;
		return true;
	case OPTION_EITHER:
	case OPTION_WORD:
		return take_word(row, member, value);
	default:
		return row->read(object, value);
	}
}

static enum option_outcome refuse(const struct option_row *row, const char *value, char line[OPTION_LINE_BYTES])
{
	char words[128] = "give an absolute path";

	if (row->words)
		say_words(row->words, words, sizeof(words));
	snprintf(line, OPTION_LINE_BYTES, "--%s %.80s: %s", row->name, value, row->remedy ? row->remedy : words);
	return OPTIONS_WRONG;
}

static const char *program_of(char **argv)
{
	const char *slash = strrchr(argv[0], '/');

	return slash ? slash + 1 : argv[0];
}

enum option_outcome option_table_read(const struct option_row *rows, void *object, int argc, char **argv,
				      int operands_most, char line[OPTION_LINE_BYTES])
{
	struct option table[OPTION_ROWS + 1] = { { 0 } };
	const struct option_row *row;
	int option;

	for (int i = 0; rows[i].name && i < (int)OPTION_ROWS; i++)
		table[i] = (struct option){ rows[i].name, has_value(&rows[i]) ? required_argument : no_argument, NULL,
					    FIRST + i };
	*line = 0;
	optind = 0; /* anew, also after a line that was not read to its end */
	while ((option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		if (option == 'h')
			return OPTIONS_HELP;
		if (option < FIRST) {
			snprintf(line, OPTION_LINE_BYTES, "`%.80s --help` lists the options", program_of(argv));
			return OPTIONS_WRONG;
		}
		row = &rows[option - FIRST];
		if (row->kind == OPTION_HELP)
			return OPTIONS_HELP;
		if (row->kind == OPTION_VERSION)
			return OPTIONS_VERSION;
		if (!take(row, object, optarg))
			return refuse(row, optarg, line);
	}
	if (argc - optind <= operands_most)
		return OPTIONS_GOOD;
	snprintf(line, OPTION_LINE_BYTES, operands_most ? "%.80s: one word too many; `%.80s --help` lists what it takes"
							: "%.80s: %.80s takes options only; --help lists them",
		 argv[optind + operands_most], program_of(argv));
	return OPTIONS_WRONG;
}
