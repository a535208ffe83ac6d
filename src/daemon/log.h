/*
 * log.h: the log for the operator, one line per message, on standard error or appended to a file. Lines have a time,
 * except in the journal, which adds its own.
 *
 * A line is one write(), so that several writers can share a file. log_of() is for what a user causes by requests,
 * log_of_programs() for what the user's programs send. Lines of one user above a few per second are counted instead of
 * written, so that nobody can fill a disk, slow meted down, or displace the lines of others. log_peer() is the same
 * for all peers whose user is unknown.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Appends to `path` from now on. Value: 0 or -errno; on an error the log stays where it was. */
int log_open(const char *path);
void log_close(void);

/* Opens the file anew under its name: it has been rotated. */
void log_reopen(void);
bool log_is_file(void);

/* How many lines somebody may still cause; zero is its beginning. */
struct log_limit {
	uint64_t since_ns; /* when the last one was added to what is left */
	unsigned int left, dropped;
};

__attribute__((format(printf, 1, 2))) void log_line(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void log_peer(const char *fmt, ...);
/* Of owners all are written; of any other user, with his subordinate ids, 40 at once and 10 a second. */
__attribute__((format(printf, 2, 3))) void log_of(uid_t uid, const char *fmt, ...);
/*
 * The same for what programs of a grant cause. An owner's may be a container of anybody's image: of his 40 lines at
 * once and 10 a second are written for each grant.
 */
__attribute__((format(printf, 3, 4))) void log_of_programs(uid_t uid, uint64_t grant, const char *fmt, ...);
/* 20 lines at once, one more every 5 seconds; how many were left out is said with the next one. */
__attribute__((format(printf, 2, 3))) void log_limited(struct log_limit *limit, const char *fmt, ...);
