/* suspend.h: `mete set NAME --suspend` and `--resume`: a tenant's memory leaves its device, and returns. */
#pragma once

#include "client/control.h"
#include "verb/verb.h"

/* The options are there. */
bool suspend_given(const struct command_line *line);
/* Value: an exit status; a fault is set unless it is 0. */
int suspend_set(struct control *control, const struct command_line *line, struct fault *f);
