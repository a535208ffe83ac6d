/* driver.h: the driver library that the worker executes on: the shim (which meters), or a driver itself. */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stddef.h>

/* Opens the library and fills the table; what it lacks answers CUDA_ERROR_NOT_SUPPORTED. False: `why` says it. */
bool driver_open(const char *path, struct cuda_table *ret, char *why, size_t why_bytes);
/* The shim that belongs to this worker: shim/libcuda.so.1 beside it, or in METE_LIBDIR. */
bool driver_find_shim(char *path, size_t size);
