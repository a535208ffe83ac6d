/* jit.c: see jit.h. */
#include "remote/worker/jit.h"

#include <errno.h>
#include <stdlib.h>

static int log_of(CUjit_option option)
{
	return option == CU_JIT_INFO_LOG_BUFFER ? 0 : option == CU_JIT_ERROR_LOG_BUFFER ? 1 : -1;
}

/* Those whose value is an address of the client, and not a log's. */
static bool is_address(CUjit_option option)
{
	return option == CU_JIT_GLOBAL_SYMBOL_NAMES || option == CU_JIT_GLOBAL_SYMBOL_ADDRESSES ||
	       option == CU_JIT_REFERENCED_KERNEL_NAMES || option == CU_JIT_REFERENCED_VARIABLE_NAMES;
}

static int read_options(struct work *work, struct jit *j, uint32_t count)
{
	for (; j->options < count; j->options++) {
		struct code_option o;
		int log;

		remote_get(&work->in, &o, sizeof(o));
		if (work->in.bad || is_address((CUjit_option)o.option))
			return -EPROTO;
		log = log_of((CUjit_option)o.option);
		j->option[j->options] = (CUjit_option)o.option;
		j->value[j->options] = (void *)(uintptr_t)o.value;
		if (log < 0)
			continue;
		if (o.value > CODE_LOG_MOST || j->log[log])
			return -EPROTO;
		j->log[log] = calloc(1, o.value + 1);
		if (!j->log[log])
			return -EMSGSIZE;
		j->value[j->options] = j->log[log];
		j->log_size[log] = (unsigned int)o.value;
	}
	return 0;
}

/* The driver writes no more into a log than its buffer holds, whatever the client said its size were. */
static bool sizes_agree(const struct jit *j)
{
	for (unsigned int i = 0; i < j->options; i++) {
		uintptr_t value = (uintptr_t)j->value[i];

		if (j->option[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES && value > (j->log[0] ? j->log_size[0] : 0))
			return false;
		if (j->option[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES && value > (j->log[1] ? j->log_size[1] : 0))
			return false;
	}
	return true;
}

int jit_read(struct work *work, struct jit *j, uint32_t count)
{
	int r = count > CODE_OPTIONS_MOST ? -EPROTO : read_options(work, j, count);

	return r || sizes_agree(j) ? r : -EPROTO;
}

uint32_t jit_logs(const struct jit *j)
{
	return (j->log[0] ? 1u : 0) | (j->log[1] ? 2u : 0);
}

void jit_write(struct work *work, const struct jit *j)
{
	for (unsigned int i = 0; i < j->options; i++) {
		uint64_t value = log_of(j->option[i]) < 0 ? (uint64_t)(uintptr_t)j->value[i] : 0;

		remote_put(&work->out, &value, sizeof(value));
	}
	for (unsigned int i = 0; i < 2; i++)
		if (j->log[i])
			remote_put_string(&work->out, j->log[i]);
}

void jit_deinit(struct jit *j)
{
	free(j->log[0]);
	free(j->log[1]);
}
