/* variables.h: the variables of modules whose session leaves, or continues here (remote/move.h). */
#pragma once

#include "remote/worker/worker.h"

/* CALL_MOVE_VARIABLES */
int variables_list(struct work *work);
/* CALL_MOVE_VARIABLE, CALL_MOVE_VARIABLE_IN */
int variables_out(struct work *work);
int variables_in(struct work *work);
/* CALL_MOVE_VARIABLE_AT */
int variables_at(struct work *work);
