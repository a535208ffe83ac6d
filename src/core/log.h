/*
 * log.h: lines for the operator, never for the program.
 *
 * A line is appended, in one write, to the file that METE_LOG names (METE_LOG=stderr is the only way to see it on the
 * terminal); without METE_LOG nothing is written anywhere. errno is left as it was. Any thread, no lock.
 */
#pragma once

/* Reads METE_LOG, which the program may change later; attach_init() does it. Until then a line reads it itself. */
void log_init(void);

__attribute__((format(printf, 1, 2))) void log_line(const char *fmt, ...);
