/* modules.h: modules and libraries: their variables, and on a real driver their code, lie in device memory (measured).
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* Held while a context goes: meanwhile no library comes into it. Before the gate. */
void modules_hold(void);
void modules_release(void);
/* A context is gone, and the modules in it. Value: units that they were charged. */
uint64_t modules_forget(const void *context);
/* A context was made: libraries whose kernels the program has come into it. False: there is no room for them. */
bool modules_enter(CUcontext context);
/* In the child of fork(). */
void modules_reset(void);
