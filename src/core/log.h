/*
 * log.h: log lines for the operator, never for the program.
 *
 * A line is appended, in one write, to the file that METE_LOG names. METE_LOG=stderr prints it on the terminal. Without
 * METE_LOG nothing is written. errno is preserved. Any thread may call; no lock is taken.
 */
#pragma once

/*
 * Reads METE_LOG, which the program may change later; attach_init() calls it. A line that is logged before reads
 * METE_LOG itself.
 */
void log_init(void);

__attribute__((format(printf, 1, 2))) void log_line(const char *fmt, ...);
