/* program.h: what the programs of this folder share: log lines on standard error, and the handling of signals. */
#pragma once

#include "connect/kubernetes/loop.h"

#include <stdbool.h>

/* Writes "PROGRAM: ...", always as one line. */
void program_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * SIGTERM and SIGINT set *ended from the loop; SIGPIPE is ignored. Must be called before threads are created, which
 * inherit the mask. Value: 0 or -errno.
 */
int program_watch_signals(struct loop *loop, struct watch *w, bool *ended);
