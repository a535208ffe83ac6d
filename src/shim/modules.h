/*
 * modules.h: modules and libraries: their variables, and on a real driver their code, are in device memory (measured).
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* Held while a context ends: meanwhile no library is loaded into it. Before the gate. */
void modules_hold(void);
void modules_release(void);
/* A context has ended, and its modules with it. Value: the units charged for them. */
uint64_t modules_forget(const void *context);
/*
 * A context was created: libraries whose kernels the program has are loaded into it. False: there is no room for them.
 */
bool modules_enter(CUcontext context);
/* The grant's device of a module. False: it is a library's, or not known. */
bool modules_device(CUmodule module, unsigned int *ret_device);
/* In the child of fork(). */
void modules_reset(void);
