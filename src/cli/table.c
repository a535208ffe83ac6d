/* table.c: see table.h. No memory for a cell: the cell is "?", the table stays a table. */
#include "cli/table.h"
#include "base/clean_text.h"
#include "cli/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void table_begin(struct table *t, const char *const *heads)
{
	*t = (struct table){ .heads = heads };
	while (heads[t->columns] && t->columns < TABLE_COLUMNS)
		t->columns++;
}

void table_cell(struct table *t, const char *fmt, ...)
{
	char **more = realloc(t->cells, (t->count + 1) * sizeof(*more));
	char *text = NULL;
	va_list ap;

	if (!more)
		return;
	t->cells = more;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	t->cells[t->count++] = text ? clean_text_line(text) : NULL;
}

/* Letters, not bytes: UTF-8 continuation bytes take no place. */
static int text_width(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void print_row(const struct table *t, const int *width, char *const *cells, const char *colour)
{
	fputs(colour, stdout);
	for (size_t c = 0; c < t->columns; c++) {
		const char *text = cells ? (cells[c] ? cells[c] : "?") : t->heads[c] + (*t->heads[c] == '>');
		int pad = width[c] - text_width(text);
		bool right = *t->heads[c] == '>', last = c + 1 == t->columns;

		if (last && !*text)
			pad = 0;
		printf("%*s%s%*s", right ? pad : 0, "", text, right || last ? 0 : pad, "");
		if (!last)
			fputs("  ", stdout);
	}
	puts(*colour ? "\033[0m" : "");
}

void table_end(struct table *t)
{
	int width[TABLE_COLUMNS];

	for (size_t c = 0; c < t->columns; c++) {
		width[c] = text_width(t->heads[c] + (*t->heads[c] == '>'));
		for (size_t i = c; i < t->count; i += t->columns)
			if (t->cells[i] && text_width(t->cells[i]) > width[c])
				width[c] = text_width(t->cells[i]);
	}
	print_row(t, width, NULL, colour_wanted(stdout) ? "\033[1m" : "");
	for (size_t i = 0; i + t->columns <= t->count; i += t->columns)
		print_row(t, width, t->cells + i, "");
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct table){ 0 };
}
