/*
 * log.h: the log for the operator, one line per message, on standard error or appended to a file. Lines have a time,
 * except in the journal, which adds its own.
 *
 * A line is one write(), so that several writers can share a file. log_of() is for what a user causes by requests,
 * log_of_programs() for what the user's programs send. Lines of one user above a few per second are counted instead of
 * written, so that nobody can fill a disk, slow meted down, or displace the lines of others. log_peer() is the same
 * for what peers cause whose user is unknown: lines about one subject displace none about another.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Appends to `path` from now on. Value: 0 or -errno; on an error the log continues at its previous place. */
int log_open(const char *path);
void log_close(void);

/* Opens the file again under its name, after a rotation. */
void log_reopen(void);
bool log_is_file(void);

/* The number of lines that a source may still write; all zero: the initial state. */
struct log_limit {
	uint64_t since_ns; /* when `left` was last refilled */
	unsigned int left, dropped;
};

__attribute__((format(printf, 1, 2))) void log_line(const char *fmt, ...);
enum log_subject { LOG_HTTP, LOG_FAULTS, LOG_PAGES, LOG_CGROUPS, LOG_SUBJECTS };
/* Writes 20 lines a second about each subject. */
__attribute__((format(printf, 2, 3))) void log_peer(enum log_subject subject, const char *fmt, ...);
/* Writes all lines of owners. Of any other user, with their subordinate ids: 40 lines at once and 10 per second. */
__attribute__((format(printf, 2, 3))) void log_of(uid_t uid, const char *fmt, ...);
/*
 * The same for lines that programs of a grant cause. A program of an owner's grant may be a container of anybody's
 * image: for owners, the limit of 40 lines at once and 10 per second applies to each grant.
 */
__attribute__((format(printf, 3, 4))) void log_of_programs(uid_t uid, uint64_t grant, const char *fmt, ...);
/* Writes 20 lines at once and one more every 5 seconds; the next line states how many were omitted. */
__attribute__((format(printf, 2, 3))) void log_limited(struct log_limit *limit, const char *fmt, ...);
