/* output.h: what kernels print, on its way to the client. The driver writes it to this process's standard output. */
#pragma once

#include "remote/worker/worker.h"

/* Makes the pipe: before the sandbox is entered. 0 or -errno. */
int output_open(void);
/* Standard output goes to the client of this session from now on. 0 or -errno. */
int output_start(struct worker *worker);
/* What has been printed so far is sent before anything else is. */
void output_flush(struct worker *worker);
