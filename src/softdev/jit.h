/*
 * jit.h: the options of a load: buffers for logs, and settings that mean nothing here.
 */
#pragma once

#include "softdev/driver.h"

struct jit {
	char *error_log, *info_log;
	size_t error_bytes, info_bytes;
	void **error_size, **info_size, **wall_time; /* where to say how much was written */
};

/* Value: CUDA_ERROR_INVALID_VALUE for options that do not exist or pointers that are missing. */
CUresult jit_read(unsigned count, const CUjit_option *option, void **value, struct jit *ret);
/* Hands the error line over, "" for none. */
void jit_report(const struct jit *j, const char *error, double wall_ms);
