/*
 * limits.c: see limits.h.
 *
 * The numbers: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (static shared memory of a
 * block 48 KiB, constant memory 64 KiB); PTX ISA, "Kernel Function Parameters" (4352 bytes, from PTX 8.1 on 32764).
 */
#include "softdev/ptx/limits.h"

#define CONST_BYTES_MOST (64u << 10)
#define SHARED_BYTES_MOST (48u << 10)
#define PARAM_BYTES_MOST 32764u
#define PARAM_BYTES_MOST_OLD 4352u
#define PARAM_VERSION 81u /* PTX 8.1 */

uint32_t limits_param_bytes(uint32_t version)
{
	return version < PARAM_VERSION ? PARAM_BYTES_MOST_OLD : PARAM_BYTES_MOST;
}

int limits_check_params(const struct body *b, uint64_t bytes, const char *kernel, struct complaint *complaint)
{
	const uint32_t most = limits_param_bytes(b->version);

	if (bytes <= most)
		return 0;
	if (most < PARAM_BYTES_MOST && bytes <= PARAM_BYTES_MOST)
		complain(complaint, PTX_INVALID, b->symbol->line, kernel,
			 "%llu bytes of parameters, at most %u are allowed before PTX 8.1: write .version 8.1",
			 (unsigned long long)bytes, most);
	else
		complain(complaint, PTX_INVALID, b->symbol->line, kernel,
			 "%llu bytes of parameters, at most %u are allowed: pass a pointer", (unsigned long long)bytes,
			 most);
	return PTX_INVALID;
}

int limits_check_shared(const struct body *b, uint32_t bytes, const char *kernel, struct complaint *complaint)
{
	if (bytes <= SHARED_BYTES_MOST)
		return 0;
	complain(complaint, PTX_INVALID, b->symbol->line, kernel,
		 "%u bytes of static shared memory, at most %u are allowed: take more at the launch (.extern .shared)",
		 bytes, SHARED_BYTES_MOST);
	return PTX_INVALID;
}

int limits_check_const(const struct ptx_module *m, struct complaint *complaint)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < ptx_module_variable_count(m); i++) {
		const struct ptx_variable *v = ptx_module_variable_at(m, i);
		const uint64_t align = v->align ? v->align : 1;

		if (v->space == PTX_CONST)
			bytes = (bytes + align - 1) / align * align + v->bytes;
	}
	if (bytes <= CONST_BYTES_MOST)
		return 0;
	complain(complaint, PTX_INVALID, 0, NULL,
		 "%llu bytes of constant memory, at most %u are allowed: move tables to .global",
		 (unsigned long long)bytes, CONST_BYTES_MOST);
	return PTX_INVALID;
}
