/*
 * log.h: one line at a time, to the file named in METE_LOG or, without it, to standard error.
 *
 * Lines carry the prefix "mete: ". errno is preserved. Called without any lock held.
 */
#pragma once

__attribute__((format(printf, 1, 2))) void log_line(const char *fmt, ...);
