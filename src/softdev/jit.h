/*
 * jit.h: the options of a load or a link: buffers for logs, the time it took, and settings that mean nothing here,
 * because no machine code is made.
 */
#pragma once

#include "softdev/driver.h"

struct ptx_module;

struct jit {
	char *error_log, *info_log;
	size_t error_bytes, info_bytes;
	bool verbose; /* CU_JIT_LOG_VERBOSE: what each kernel takes goes to the info log */
	uint32_t max_registers; /* CU_JIT_MAX_REGISTERS; 0: no limit */
	uint64_t begin_ns; /* CLOCK_MONOTONIC, when the options were read */
	void **error_size, **info_size, **wall_time; /* where to say how much was written */
};

/* Value: CUDA_ERROR_INVALID_VALUE for options that do not exist or pointers that are missing. */
CUresult jit_read(unsigned count, const CUjit_option *option, void **value, struct jit *ret);
/* Hands the error line over, "" for none, and the time since jit_read(); `ptx`: what has been loaded, or NULL. */
void jit_report(const struct jit *j, const char *error, const struct ptx_module *ptx);
