/*
 * jit.h: the options of a load or a link: log buffers, the time it took, and settings without effect here, because no
 * machine code is produced.
 */
#pragma once

#include "softdev/driver.h"

struct ptx_module;

struct jit {
	char *error_log, *info_log;
	size_t error_bytes, info_bytes;
	bool verbose; /* CU_JIT_LOG_VERBOSE: the info log gets each kernel's resources */
	uint32_t max_registers; /* CU_JIT_MAX_REGISTERS; 0: no limit */
	uint64_t begin_ns; /* CLOCK_MONOTONIC, when the options were read */
	void **error_size, **info_size, **wall_time; /* receive the number of bytes written */
};

/* Value: CUDA_ERROR_INVALID_VALUE for options that do not exist or pointers that are missing. */
CUresult jit_read(unsigned count, const CUjit_option *option, void **value, struct jit *ret);
/* Writes the error line, "" for none, and the time since jit_read(); `ptx`: the loaded module, or NULL. */
void jit_report(const struct jit *j, const char *error, const struct ptx_module *ptx);
