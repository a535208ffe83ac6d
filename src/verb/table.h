/*
 * table.h: rows of text in columns that line up, for people; --json is for programs.
 *
 * Names and commands come from tenants: control characters are replaced. The last column is not padded.
 */
#pragma once

#include <stddef.h>

#define TABLE_COLUMNS 16

struct table {
	const char *const *heads; /* NULL-terminated; a head that begins with '>' marks a right-aligned column */
	size_t columns;
	char **cells; /* row by row */
	size_t count;
	const unsigned char *rank; /* see table_fit(); NULL: as wide as necessary */
	int room;		   /* number of columns of the output */
};

void table_begin(struct table *t, const char *const *heads);
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Makes the table fit the output (output.h). rank[c] orders the columns to omit if it is too narrow: rank 1 first, rank
 * 0 never. Before the columns of the highest rank are omitted, texts are truncated, the widest columns first; a
 * truncated cell ends in '+'. `rank` must live until table_end().
 */
void table_fit(struct table *t, const unsigned char *rank);

/* Prints on stdout and frees. Without a row only the heads are printed. */
void table_end(struct table *t);
