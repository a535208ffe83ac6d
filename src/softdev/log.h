/*
 * log.h: one line at a time, to the file named in METE_LOG or, without it, to standard error.
 *
 * Lines carry the prefix "mete: ". errno is preserved. Called without any lock held.
 */
#pragma once

#include <stddef.h>

__attribute__((format(printf, 1, 2))) void log_line(const char *fmt, ...);
/* Several whole lines in one piece, prefixes included. */
void log_text(const char *text, size_t bytes);
/* A function that gets each line as well, from whatever thread wrote it; there is one. */
void log_observe(void (*observer)(const char *text, size_t bytes));
