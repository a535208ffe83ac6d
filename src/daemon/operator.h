/*
 * operator.h: what an operator does from the command line is written down, like what is done from the console:
 * audit.log in the state directory (http/audit.h), before it is done and when it is. What cannot be written down is not
 * done.
 *
 * An operator is root, or who meted runs as. A user's own acts, about what is theirs, are not written down: the log has
 * no bound. HTTP writes its own (http/action.c).
 */
#pragma once

#include "daemon/ask.h"

#include <stdbool.h>
#include <stdint.h>

struct tenant;

/* *ret_id 0: nothing is to be written down. Value: false when the request was refused. */
bool operator_begin(struct ask *ask, const char *action, const char *target, uint64_t *ret_id);

/* The same about a grant, when it is somebody else's. */
bool operator_begin_other(struct ask *ask, const char *action, const struct tenant *t, uint64_t *ret_id);

/* `error`: why it was not done; NULL: it was. */
void operator_end(struct ask *ask, uint64_t id, const char *error);
