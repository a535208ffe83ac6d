/*
 * output.h: the width of the output, and paragraphs that are wrapped to it.
 */
#pragma once

#define OUTPUT_USUAL_COLUMNS 80

/* Columns of standard output: those of its terminal; else COLUMNS, if it is a number; else 80. */
int output_columns(void);

/* The number of columns of a text: one per character; UTF-8 continuation bytes take none. */
int output_letters(const char *text);

/* The number of bytes of its first `letters` characters. */
int output_bytes(const char *text, int letters);

/*
 * Prints words in lines of at most `columns` columns and ends the last line. Every line begins after `indent` blanks;
 * the first one is already at column `at`. A word longer than a line is not broken.
 */
void output_words(const char *text, int indent, int at, int columns);
