/*
 * observe.h: finds the libraries that a command loads by running it. It is used for scripts, whose files do not name
 * them.
 *
 * The command runs under `mete soft run`, on software devices of its own. ld.so logs what it loads, for every process
 * of the command (LD_DEBUG=libs, into files that LD_DEBUG_OUTPUT names; ld.so(8)). The software device logs what it
 * refused (METE_LOG). The command's own output goes to standard error.
 */
#pragma once

#include "client/fault.h"

#include <stdbool.h>
#include <stddef.h>

struct observation {
	char **library; /* paths, each once; owned */
	size_t library_count;
	char **line; /* of the log; owned */
	size_t line_count;
	bool late;  /* it was ended after `seconds` */
	int status; /* as from waitpid() */
};

/* Value: 0, or a negative errno with a fault: it could not be started. */
int observe(char *const *argv, unsigned int seconds, struct observation *ret, struct fault *f);
void observation_deinit(struct observation *o);
