/*
 * fault.h: one line that says what went wrong, and the printing of such lines.
 *
 * Whoever meets an error first writes the line: what, which value, the remedy; "mete: " is put in front when it is
 * printed. Callers pass it up unchanged. Texts from outside (names, lines of a tenant's log) are printed without
 * their control characters, so that no program can send escape sequences to the operator's terminal through mete.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct fault {
	char text[1024];
};

/* Writes the line. Value: r, so that it can be returned at once. */
int fault_set(struct fault *f, int r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* "mete: TEXT" on stderr. The prefix is coloured on a terminal unless NO_COLOR is set. */
void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Colours are allowed on this stream: a terminal that is not "dumb", and NO_COLOR unset or empty. */
bool colour_wanted(FILE *stream);
