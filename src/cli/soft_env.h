/*
 * soft_env.h: the environment in which programs find the software device and mete's runtime library, without a grant.
 */
#pragma once

#include "client/place.h"
#include "verb/verb.h"

/*
 * Sets this process's environment: LD_LIBRARY_PATH, and the METE_SOFT_ variables that options stand for. An outer
 * `mete run` is left. Value: 0 or a negative errno with a fault.
 */
int soft_env_enter(const struct place *p, const struct command_line *line, struct fault *f);
/*
 * Whether the device works as it is configured, found out by a process that starts it and says on standard error why
 * not.
 */
bool soft_env_works(const struct place *p);
