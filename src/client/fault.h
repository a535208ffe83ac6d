/*
 * fault.h: one line that describes a failure.
 *
 * The function that detects an error first writes the line: the thing, the value, the remedy. Callers pass it up
 * unchanged. "mete: " is put in front when it is printed.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct fault {
	char text[1024];
};

/* Writes the line. Returns r, so that a caller can return it at once. */
int fault_set(struct fault *f, int r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
