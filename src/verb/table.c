/* table.c: see table.h. No memory for a cell: the cell is "?", the table stays a table. */
#include "verb/table.h"
#include "base/clean_text.h"
#include "verb/output.h"
#include "verb/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2	      /* blanks between columns */
#define LEAST_WIDTH 8 /* to which a column of text is cut */

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

void table_fit(struct table *t, const unsigned char *rank)
{
	t->rank = rank;
	t->room = output_columns();
}

static void print_cell(const char *text, int width, bool right, bool last)
{
	int all = output_letters(text), pad = width - all;

	if (pad < 0) {
		printf("%.*s+", output_bytes(text, width - 1), text);
		pad = 0;
	} else {
		printf("%*s%s", right ? pad : 0, "", text);
	}
	if (!last)
		printf("%*s", (right ? 0 : pad) + GAP, "");
}

static void print_row(const struct table *t, const int *width, char *const *cells, const char *colour)
{
	size_t last = t->columns;

	while (last && width[last - 1] < 0)
		last--;
	fputs(colour, stdout);
	for (size_t c = 0; c < last; c++) {
		const char *text = cells ? (cells[c] ? cells[c] : "?") : t->heads[c] + (*t->heads[c] == '>');

		if (width[c] >= 0)
			print_cell(text, width[c], *t->heads[c] == '>', c + 1 == last);
	}
	puts(*colour ? "\033[0m" : "");
}

static int sum_of(const struct table *t, const int *width)
{
	int sum = -GAP;

	for (size_t c = 0; c < t->columns; c++)
		sum += width[c] < 0 ? 0 : width[c] + GAP;
	return sum;
}

/* The widest column of text that can be made narrower; NULL: there is none. */
static int *find_widest(const struct table *t, int *width)
{
	int *widest = NULL;

	for (size_t c = 0; c < t->columns; c++)
		if (*t->heads[c] != '>' && width[c] > LEAST_WIDTH && (!widest || width[c] >= *widest))
			widest = &width[c];
	return widest;
}

/* Leaves out columns of ranks `from` to `to` while there is not enough room. */
static void drop(const struct table *t, int *width, unsigned int from, unsigned int to)
{
	for (unsigned int rank = from; rank <= to && sum_of(t, width) > t->room; rank++)
		for (size_t c = 0; c < t->columns; c++)
			if (t->rank[c] == rank)
				width[c] = -1;
}

static void cut(const struct table *t, int *width)
{
	int *widest;

	while (sum_of(t, width) > t->room && (widest = find_widest(t, width)))
		(*widest)--;
}

/* -1: left out. Texts are cut before the column of the highest rank goes, which matters more than a name's end. */
static void fit_widths(const struct table *t, int *width)
{
	unsigned int highest = 0;

	for (size_t c = 0; c < t->columns; c++)
		if (t->rank[c] > highest)
			highest = t->rank[c];
	drop(t, width, 1, highest ? highest - 1 : 0);
	cut(t, width);
	drop(t, width, highest, highest);
}

void table_end(struct table *t)
{
	int width[TABLE_COLUMNS];

	for (size_t c = 0; c < t->columns; c++) {
		width[c] = output_letters(t->heads[c] + (*t->heads[c] == '>'));
		for (size_t i = c; i < t->count; i += t->columns)
			if (t->cells[i] && output_letters(t->cells[i]) > width[c])
				width[c] = output_letters(t->cells[i]);
	}
	if (t->rank)
		fit_widths(t, width);
	print_row(t, width, NULL, colour_wanted(stdout) ? "\033[1m" : "");
	for (size_t i = 0; i + t->columns <= t->count; i += t->columns)
		print_row(t, width, t->cells + i, "");
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct table){ 0 };
}
