/* line_f.c: line_run() in floats. */
#include "libs/cufft/line.h"

#include <string.h>

#define T float
#define RUN line_run_f
#include "libs/cufft/line_run.h"
