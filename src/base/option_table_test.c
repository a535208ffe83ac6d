/* option_table_test.c: a program's options, by a table. */
#include "base/option_table.h"

#include "base/tap.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

struct things {
	const char *text, *path;
	bool flag, either;
	int word, number;
};

static bool read_number(void *object, const char *value)
{
	char *end;
	struct things *t = object;

	t->number = (int)strtol(value, &end, 10);
	return *value && !*end;
}

static const char *const two[] = { "one", "other", NULL }, *const three[] = { "a", "b", "c", NULL };
static const struct option_row rows[] = {
	{ "text", OPTION_TEXT, offsetof(struct things, text), NULL, NULL, NULL },
	{ "path", OPTION_PATH, offsetof(struct things, path), NULL, NULL, NULL },
	{ "flag", OPTION_FLAG, offsetof(struct things, flag), NULL, NULL, NULL },
	{ "either", OPTION_EITHER, offsetof(struct things, either), NULL, two, NULL },
	{ "word", OPTION_WORD, offsetof(struct things, word), NULL, three, NULL },
	{ "number", OPTION_READ, 0, "give a number", NULL, read_number },
	{ "help", OPTION_HELP, 0, NULL, NULL, NULL },
	{ "version", OPTION_VERSION, 0, NULL, NULL, NULL },
	{ 0 },
};

static enum option_outcome read_line(const char *words, int operands_most, struct things *ret, char *line)
{
	static char text[256], program[] = "/x/prog";
	char *argv[16] = { program };
	int argc = 1;

	*ret = (struct things){ 0 };
	snprintf(text, sizeof(text), "%s", words);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	return option_table_read(rows, ret, argc, argv, operands_most, line);
}

int main(void)
{
	static const struct {
		const char *words, *said;
	} wrong[] = {
		{ "--path x", "--path x: give an absolute path" },
		{ "--either x", "--either x: give one or other" },
		{ "--word x", "--word x: give a, b or c" },
		{ "--number 7x", "--number 7x: give a number" },
		{ "--flag x", "x: prog takes options only; --help lists them" },
		{ "--nothing", "`prog --help` lists the options" },
		{ "--text", "`prog --help` lists the options" },
		{ "--flag=x", "`prog --help` lists the options" },
	};
	struct things t;
	char line[OPTION_LINE_BYTES];

	tap_begin();
	opterr = 0;
	tap_ok(read_line("--text t --path /p --flag --either other --word c --number 7", 0, &t, line) == OPTIONS_GOOD,
	       "all of them: %s", line);
	tap_ok(!strcmp(t.text, "t") && !strcmp(t.path, "/p") && t.flag && t.either && t.word == 2 && t.number == 7,
	       "with their values");
	tap_ok(read_line("--either one", 0, &t, line) == OPTIONS_GOOD && !t.either, "the first of two words");
	tap_ok(read_line("verb --flag where", 2, &t, line) == OPTIONS_GOOD && t.flag, "words that are no options");
	tap_ok(read_line("verb where more", 2, &t, line) == OPTIONS_WRONG && strstr(line, "more: one word too many"),
	       "no more than there may be: %s", line);
	tap_ok(read_line("--flag --help --nothing", 0, &t, line) == OPTIONS_HELP, "--help ends it");
	tap_ok(read_line("-h", 0, &t, line) == OPTIONS_HELP, "-h too");
	tap_ok(read_line("--version", 0, &t, line) == OPTIONS_VERSION, "--version");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		tap_ok(read_line(wrong[i].words, 0, &t, line) == OPTIONS_WRONG && !strcmp(line, wrong[i].said),
		       "%s: %s", wrong[i].words, line);
	return tap_end();
}
