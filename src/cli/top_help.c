/* top_help.c: see top_help.h. The columns' words stand in top_heads, so that help and table cannot differ. */
#include "cli/top_help.h"
#include "cli/top_view.h"

#include <string.h>

#define WORD_COLUMNS 12
#define LEAST_COLUMNS 16

static const char *const keys[][2] = {
	{ "up, down", "select a row; so do j, k, page up, page down, home and end" },
	{ "<, >", "sort by the column before or after; so do left and right; r reverses" },
	{ "/", "show only what contains a text: name, command, policy, pid" },
	{ "c, l, w", "change the tenant's guarantee, limit (in percent) or weight" },
	{ "f", "freeze the tenant: no more turns until f thaws it" },
	{ "e", "end the tenant: its programs and its grant; asks first" },
	{ "Enter, p", "show the processes of the tenant, or of all" },
	{ "h, ?", "this text" },
	{ "q", "end" },
};

static const char *const device_words[][2] = {
	{ "MEMORY", "memory held by tenants/memory of the device" },
	{ "BUSY", "percent of the last second in which the compute engine worked for tenants" },
	{ "HISTORY", "BUSY over the last minute, the newest to the right" },
	{ "GUARANTEED", "sum of the guarantees of the device's time, in percent" },
	{ "WHO", "tenants that use it, with what each had of the last second" },
};

static char *new_line(struct top_help *help)
{
	if (help->count == TOP_HELP_LINES)
		return NULL;
	*help->line[help->count] = 0;
	return help->line[help->count++];
}

static void add_title(struct top_help *help, const char *text)
{
	char *line;

	if (help->count)
		new_line(help);
	line = new_line(help);
	if (line)
		snprintf(line, TOP_HELP_COLUMNS, "%s", text);
}

/* "  WORD        its meaning, in as many lines as it needs" */
static void add_entry(struct top_help *help, const char *word, const char *meaning)
{
	size_t width = (size_t)help->columns;
	char *line = new_line(help);

	if (!line)
		return;
	snprintf(line, TOP_HELP_COLUMNS, "  %-*s", WORD_COLUMNS - 2, word);
	while (*meaning) {
		size_t n = strcspn(meaning, " "), at = strlen(line);

		if (at > WORD_COLUMNS && at + 1 + n > width) {
			line = new_line(help);
			if (!line)
				return;
			snprintf(line, TOP_HELP_COLUMNS, "%*s", WORD_COLUMNS, "");
			at = WORD_COLUMNS;
		}
		snprintf(line + at, TOP_HELP_COLUMNS - at, "%s%.*s",
			 at > WORD_COLUMNS || at == strlen(word) + 2 ? " " : "", (int)n, meaning);
		meaning += n;
		meaning += strspn(meaning, " ");
	}
}

void top_help_make(struct top_help *help, int columns)
{
	if (columns < LEAST_COLUMNS)
		columns = LEAST_COLUMNS;
	if (columns >= (int)TOP_HELP_COLUMNS)
		columns = (int)TOP_HELP_COLUMNS - 1;
	if (help->columns == columns)
		return;
	*help = (struct top_help){ .columns = columns };
	add_title(help, "mete top: keys");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		add_entry(help, keys[i][0], keys[i][1]);
	add_title(help, "columns of devices");
	for (size_t i = 0; i < sizeof(device_words) / sizeof(*device_words); i++)
		add_entry(help, device_words[i][0], device_words[i][1]);
	add_title(help, "columns of tenants");
	for (unsigned int c = 0; c < TOP_COLUMNS; c++)
		add_entry(help, top_heads[c].name, top_heads[c].what);
}
