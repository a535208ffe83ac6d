/* output.h: passes what kernels print to the client. The driver writes it to this process's standard output. */
#pragma once

#include "remote/worker/worker.h"

/* Creates the pipe; must be called before the sandbox is entered. Value: 0 or -errno. */
int output_open(void);
/* Sends standard output to the client of this session from now on. Value: 0 or -errno. */
int output_start(struct worker *worker);
/* Sends what has been printed so far, before anything else is sent. */
void output_flush(struct worker *worker);
