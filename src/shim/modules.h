/* modules.h: modules and libraries: their variables, and on a real driver their code, lie in device memory (measured).
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* A context is gone, and the modules in it. Value: units that they were charged. */
uint64_t modules_forget(const void *context);
/* A context was made: libraries whose kernels the program has come into it. False: there is no room for them. */
bool modules_enter(CUcontext context);
/* In the child of fork(). */
void modules_reset(void);
