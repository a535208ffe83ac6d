/*
 * audit.h: the record of actions over HTTP with the token: audit.log in the state directory, one JSON object per line.
 * The file is only appended to, and is written through to the disk.
 *
 * An action is recorded before it is performed, {"id","time","who","action","target","request"}, and again when its
 * outcome is known, {"id","time","outcome"}. An action that cannot be recorded is not performed. The file is opened
 * for each line, so that it can be moved away at any time. It contains no token.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIT_FILE "audit.log"

struct daemon;

struct audit_entry {
	const char *who; /* "token, 127.0.0.1:4711" */
	const char *action; /* "resize" */
	const char *target; /* a grant's name or a device's UUID */
	json_t *request; /* NULL: the action has no parameters */
};

/*
 * Value: 0 with the entry's id, or -errno with the line for the user; -EMSGSIZE: the request is too long to be
 * recorded.
 */
int audit_begin(const char *state_dir, const struct audit_entry *entry, uint64_t *ret_id, char *error,
		size_t error_size);
/* Records the outcome: "done", or the line of the refusal. A failure is reported in the log. */
void audit_end(const char *state_dir, uint64_t id, const char *outcome);

/*
 * The last `limit` actions as a list, oldest first, each with its outcome (null: not known). Of a long file only the
 * end is read. NULL: `error` gives the reason.
 */
json_t *audit_last(const char *state_dir, unsigned int limit, char *error, size_t error_size);
