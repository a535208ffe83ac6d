/* jit.c: see jit.h. */
#include "softdev/jit.h"

#include "base/clock.h"
#include "softdev/ptx/ptx.h"

#include <stdio.h>
#include <string.h>

CUresult jit_read(unsigned count, const CUjit_option *option, void **value, struct jit *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->begin_ns = clock_now_ns();
	if (count && (!option || !value))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++) {
		switch (option[i]) {
		case CU_JIT_ERROR_LOG_BUFFER:
			ret->error_log = value[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			ret->error_bytes = (unsigned)(uintptr_t)value[i];
			ret->error_size = &value[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER:
			ret->info_log = value[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			ret->info_bytes = (unsigned)(uintptr_t)value[i];
			ret->info_size = &value[i];
			break;
		case CU_JIT_LOG_VERBOSE:
			ret->verbose = value[i];
			break;
		case CU_JIT_MAX_REGISTERS:
			ret->max_registers = (uint32_t)(uintptr_t)value[i];
			break;
		case CU_JIT_WALL_TIME:
			ret->wall_time = &value[i];
			break;
		default:
			if ((unsigned)option[i] >= CU_JIT_NUM_OPTIONS)
				return CUDA_ERROR_INVALID_VALUE;
			break; /* how code is generated: there is none */
		}
	}
	return CUDA_SUCCESS;
}

static void jit_fill(char *log, size_t bytes, void **size, const char *text)
{
	size_t n = strlen(text);

	if (!log || !bytes)
		return;
	if (n > bytes - 1)
		n = bytes - 1;
	memcpy(log, text, n);
	log[n] = 0;
	if (size)
		*size = (void *)(uintptr_t)(n ? n + 1 : 0);
}

/* A line per kernel. */
static void info_write(const struct ptx_module *ptx, char *to, size_t room)
{
	size_t at = 0;

	for (size_t i = 0; i < ptx_module_kernel_count(ptx) && at < room; i++) {
		const struct ptx_kernel *k = ptx_module_kernel_at(ptx, i);
		int n = snprintf(to + at, room - at,
				 "kernel %s: %u registers, %u bytes shared, %u bytes local, %u bytes of parameters\n",
				 k->name, k->registers, k->shared_bytes, k->local_bytes, k->param_bytes);

		at += n > 0 ? (size_t)n : room;
	}
}

void jit_report(const struct jit *j, const char *error, const struct ptx_module *ptx)
{
	float wall = (float)((double)(clock_now_ns() - j->begin_ns) / 1e6);

	jit_fill(j->error_log, j->error_bytes, j->error_size, error);
	if (j->verbose && ptx && j->info_log && j->info_bytes) {
		j->info_log[0] = 0;
		info_write(ptx, j->info_log, j->info_bytes);
		if (j->info_size)
			*j->info_size = (void *)(strlen(j->info_log) + 1);
	} else {
		jit_fill(j->info_log, j->info_bytes, j->info_size, "");
	}
	if (j->wall_time)
		memcpy(j->wall_time, &wall, sizeof(wall));
}
