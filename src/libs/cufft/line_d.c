/* line_d.c: line_run() in doubles. */
#include "libs/cufft/line.h"

#include <string.h>

#define T double
#define RUN line_run_d
#include "libs/cufft/line_run.h"
