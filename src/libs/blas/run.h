/* run.h: where kernels of the library arrive. */
#pragma once

#include "wire/soft_native.h"

/* What every kernel hands over to: finds the body, and runs it. */
void run_native(struct soft_native *n);
