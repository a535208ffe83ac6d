/*
 * module.h: modules, libraries, functions and kernels.
 *
 * A module is one PTX engine module with its variables in one device's memory. A library is an image without a context; it
 * becomes a module in each context that uses it. A function belongs to a module, a kernel to a library.
 */
#pragma once

#include "softdev/context.h"

/* All modules of the context, with their memory. */
void module_free_all(struct context *c);
