/* driver.h: the driver library with which the worker executes: the shim (which meters), or a driver itself. */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Opens the library and fills the table; missing functions return CUDA_ERROR_NOT_SUPPORTED. False: `why` gives the
 * reason.
 */
bool driver_open(const char *path, struct cuda_table *ret, char *why, size_t why_bytes);
/* Finds the shim that belongs to this worker: shim/libcuda.so.1 beside it, or in METE_LIBDIR. */
bool driver_find_shim(char *path, size_t size);
