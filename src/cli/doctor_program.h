/* doctor_program.h: `mete doctor --program FILE` and `mete doctor -- COMMAND`. */
#pragma once

#include "verb/verb.h"

int doctor_program(const struct command_line *line);
