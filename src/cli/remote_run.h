/* remote_run.h: `mete run --remote`: runs a program on the devices of servers. */
#pragma once

#include "verb/verb.h"

/* Value: an exit status, as verb_run(). */
int remote_run(const struct command_line *line);
