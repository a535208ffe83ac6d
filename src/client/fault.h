/*
 * fault.h: one line that says what went wrong.
 *
 * Whoever meets an error first writes the line: what, which value, the remedy; "mete: " is put in front when it is
 * printed. Callers pass it up unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct fault {
	char text[1024];
};

/* Writes the line. Value: r, so that it can be returned at once. */
int fault_set(struct fault *f, int r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
