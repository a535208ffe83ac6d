/*
 * output.h: how wide the output is, and paragraphs that keep to it.
 */
#pragma once

#define OUTPUT_USUAL_COLUMNS 80

/* Columns of standard output: those of its terminal; else COLUMNS, where it is a number; else 80. */
int output_columns(void);

/* Columns that a text takes: its letters, of which each takes one; the bytes that go on with one in UTF-8 take none. */
int output_letters(const char *text);

/* Bytes of its first `letters` letters. */
int output_bytes(const char *text, int letters);

/*
 * Prints words in lines of at most `columns` columns and ends the last line. Every line begins after `indent` blanks;
 * the first one is already at column `at`. A word that is longer than a line is not broken.
 */
void output_words(const char *text, int indent, int at, int columns);
