/* run.h: the entry point of the library's kernels. */
#pragma once

#include "wire/soft_native.h"

/* Every kernel calls this: it finds the body, and runs it. */
void run_native(struct soft_native *n);
