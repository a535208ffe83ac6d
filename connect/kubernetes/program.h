/* program.h: what the programs of this folder have in common: their lines on standard error, and their end. */
#pragma once

#include "connect/kubernetes/loop.h"

#include <stdbool.h>

/* "PROGRAM: ...", one line, whatever the text holds. */
void program_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * SIGTERM and SIGINT set *ended from the loop; SIGPIPE is ignored. Before there are threads, which inherit the mask.
 * Value: 0 or -errno.
 */
int program_watch_signals(struct loop *loop, struct watch *w, bool *ended);
