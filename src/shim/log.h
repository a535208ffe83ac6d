/*
 * log.h: lines for the operator, never for the program.
 *
 * A line is appended, in one write, to the file that METE_LOG names (METE_LOG=stderr is the only way to see it on the
 * terminal); without METE_LOG nothing is written anywhere. errno is left as it was. Any thread, no lock.
 */
#pragma once

__attribute__((format(printf, 1, 2))) void log_line(const char *fmt, ...);
