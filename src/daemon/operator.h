/*
 * operator.h: records what an operator does from the command line, as actions from the console are recorded: in
 * audit.log in the state directory (http/audit.h), before the action and after it. An action that cannot be recorded
 * is not performed.
 *
 * An operator is root, or the user that meted runs as. What other users do with their own grants is not recorded,
 * because the log is not bounded. HTTP records its own actions (http/action.c).
 */
#pragma once

#include "daemon/ask.h"

#include <stdbool.h>
#include <stdint.h>

struct tenant;

/* Records the start of an action. *ret_id 0: nothing is to be recorded. Value: false: the request was refused. */
bool operator_begin(struct ask *ask, const char *action, const char *target, uint64_t *ret_id);

/* The same for an action on a grant of another user. */
bool operator_begin_other(struct ask *ask, const char *action, const struct tenant *t, uint64_t *ret_id);

/* Records the outcome. `error`: the reason for a failure; NULL: it was done. */
void operator_end(struct ask *ask, uint64_t id, const char *error);
