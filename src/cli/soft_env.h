/*
 * soft_env.h: the environment in which programs find the software device and mete's runtime library, without a grant.
 */
#pragma once

#include "client/place.h"
#include "verb/verb.h"

/*
 * Sets this process's environment: LD_LIBRARY_PATH, LD_PRELOAD where the place has a library for it, and the METE_SOFT_
 * variables of the options. Removes the variables of an outer `mete run`. Value: 0, or a negative errno with a fault.
 */
int soft_env_enter(const struct place *p, const struct command_line *line, struct fault *f);
/* Checks whether the device works as configured: a child process starts it, and reports a failure on standard error. */
bool soft_env_works(const struct place *p);
